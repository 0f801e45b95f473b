"""Lambda refuses a function whose code and layers exceed 250 MB unzipped; synth says so first."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

LIMIT_BYTES = 250 * 1024 * 1024


class FunctionTooLarge(Exception):
    """A function's code and layers exceed what Lambda unpacks."""


def check(assembly: str) -> None:
    """Measure every function of a cloud assembly.

    Raises:
        FunctionTooLarge: names the function, its size and each part's.
    """
    for name, parts in measure(assembly).items():
        total = sum(parts.values())
        if total > LIMIT_BYTES:
            shown = ", ".join(f"{part} {size / 2**20:.1f}" for part, size in parts.items())
            raise FunctionTooLarge(
                f"{name} is {total / 2**20:.1f} MB unzipped, Lambda allows {LIMIT_BYTES // 2**20}: {shown}. "
                "Name what no function imports in layers/*/unneeded.txt."
            )


def measure(assembly: str) -> dict[str, dict[str, int]]:
    """Bytes of each function's parts, by logical id."""
    sizes: dict[str, dict[str, int]] = {}
    for path in sorted(Path(assembly).glob("*.template.json")):
        resources = json.loads(path.read_text(encoding="utf-8")).get("Resources", {})
        for name, resource in resources.items():
            if resource["Type"] == "AWS::Lambda::Function":
                sizes[name] = dict(_parts(name, resource, resources, Path(assembly)))
    return sizes


def _parts(
    name: str, function: Mapping[str, Any], resources: Mapping[str, Any], assembly: Path
) -> Iterator[tuple[str, int]]:
    yield name, _bytes(function, assembly)
    for layer in function["Properties"].get("Layers", []):
        if isinstance(layer, Mapping) and layer.get("Ref") in resources:
            yield layer["Ref"], _bytes(resources[layer["Ref"]], assembly)


def _bytes(resource: Mapping[str, Any], assembly: Path) -> int:
    asset = resource.get("Metadata", {}).get("aws:asset:path")
    folder = assembly / asset if asset else None
    if folder is None or not folder.is_dir():
        return 0
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
