"""`python -m local.codegen`: write the generated files again; with `--check`, say which have drifted."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from local.codegen.diagram import write_diagram
from local.codegen.signatures import write_signatures
from local.codegen.typescript import write_vocabulary
from local.places import ROOT


def _write_contract() -> str:
    # Here, not above: the types must not wait for the whole application to import.
    from local.codegen.contract import write_contract

    return write_contract()


def _write_limits() -> str:
    from local.codegen.limits import write_limits

    return write_limits()


def _write_token_vectors() -> str:
    from local.codegen.token_vectors import write_token_vectors

    return write_token_vectors()


GENERATED: Mapping[str, tuple[str, Callable[[], str]]] = {
    "types": ("client/src/core/envelopes.ts", write_vocabulary),
    "signatures": ("docs/signatures.md", write_signatures),
    "diagram": ("docs/turn.svg", write_diagram),
    "limits": ("docs/limits.md", _write_limits),
    "tokens": ("docs/token-vectors.json", _write_token_vectors),
    "openapi": ("docs/openapi.json", _write_contract),
}
"""Name on the command line: the file, and what writes its text."""


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """Write, or compare, the named files (all by default); 1 if one that is compared has drifted."""
    parser = argparse.ArgumentParser(prog="python -m local.codegen", description=__doc__)
    parser.add_argument(
        "files", nargs="*", choices=[[], *GENERATED], default=[], metavar="types|signatures|openapi"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file has drifted")
    asked = parser.parse_args(arguments)
    drifted = False
    for name in asked.files or GENERATED:
        path, write = GENERATED[name]
        drifted |= _compare(root / path, write()) if asked.check else _write(root / path, write())
    return int(drifted)


def _write(path: Path, text: str) -> bool:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return False


def _compare(path: Path, text: str) -> bool:
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return False
    sys.stderr.write(f"{path.name} is not what the code declares: make types\n")
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
