"""The public services' signatures for the documents, in conceptual types."""

import ast
from collections.abc import Iterator
from pathlib import Path

from local.places import ROOT

PACKAGE = ROOT / "layers/shared/python/equerry"
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
CONCEPTS = {
    "str": "text",
    "int": "number",
    "float": "number",
    "bool": "yes/no",
    "datetime": "time",
    "object": "data",
}
SEVERAL = {"tuple", "list", "Sequence", "Iterable", "Iterator", "Generator"}
CONTRACTS = ("engine/tool.py", "engine/run_loop.py", "channel/publisher.py")
_HEAD = """\
# Signatures

The public services, and the contracts they stand on, each with the file it lives in. Types are conceptual:
`text`, `number`, `yes/no`, `time` and `data` stand for plain values, a capital for a type of ours, `[]` for
several in order. A `?` after an argument says that it may be left out, one after a type that there may be
nothing; `->` gives the result. What raises, and when, is in the docstrings.

This page is written by `make types`; an edit here is undone by the next run.
"""


def write_signatures() -> str:
    """Return the whole of `docs/signatures.md`."""
    contracts = [PACKAGE / path for path in CONTRACTS]
    services = sorted((PACKAGE / "services").glob("*.py"))
    sections = [_section(path, cls) for path in (*services, *contracts) for cls in _list_classes(path)]
    return "\n".join([_HEAD, *(section for section in sections if section)])


def write_signature(qualified: str, method: FunctionNode) -> str:
    """Return `Class.method(name: Type, name?: Type) -> Type`."""
    arguments = ", ".join(
        f"{arg.arg}{'?' if optional else ''}: {_write_type(arg.annotation)}"
        for arg, optional in _list_arguments(method)
    )
    result = _write_type(method.returns)
    if any(ast.unparse(mark) == "contextmanager" for mark in method.decorator_list):
        result = f"{result.removesuffix('[]')} for the length of a block"
    return f"{qualified}({arguments})" + (f" -> {result}" if result != "nothing" else "")


def _list_classes(path: Path) -> Iterator[ast.ClassDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return (node for node in tree.body if isinstance(node, ast.ClassDef))


def _section(path: Path, cls: ast.ClassDef) -> str | None:
    """Return a class's table; None for one that carries data, or is private, or has nothing to call."""
    methods = [node for node in cls.body if isinstance(node, FunctionNode) and node.name[0] != "_"]
    in_services = path.parent.name == "services"
    if not methods or cls.name[0] == "_" or (in_services and not cls.name.endswith("Service")):
        return None
    file = path.relative_to(PACKAGE.parent).as_posix()
    rows = [f"| `{write_signature(f'{cls.name}.{method.name}', method)}` | `{file}` |" for method in methods]
    purpose = (ast.get_docstring(cls) or "").partition("\n\n")[0].replace("\n", " ")
    return "\n".join([f"## {cls.name}", "", purpose, "", "| Signature | File |", "|---|---|", *rows, ""])


def _list_arguments(method: FunctionNode) -> list[tuple[ast.arg, bool]]:
    """Return the arguments, each with whether it may be left out."""
    placed = [*method.args.posonlyargs, *method.args.args]
    required = len(placed) - len(method.args.defaults)
    named = zip(method.args.kwonlyargs, (each is not None for each in method.args.kw_defaults), strict=True)
    every = [*((arg, place >= required) for place, arg in enumerate(placed)), *named]
    return [(arg, optional) for arg, optional in every if arg.arg not in ("self", "cls")]


def _write_type(node: ast.expr | None) -> str:
    match node:
        case None | ast.Constant(value=None):
            return "nothing"
        case ast.Constant(value=str() as text):
            return _write_type(ast.parse(text, mode="eval").body)
        case ast.Name(id=name):
            return CONCEPTS.get(name, name)
        case ast.BinOp(left=left, right=ast.Constant(value=None)):
            return f"{_write_type(left)}?"
        case ast.BinOp(left=left, right=right):
            return f"{_write_type(left)} or {_write_type(right)}"
        case ast.Subscript(value=ast.Name(id=name), slice=inner):
            return _write_generic(name, inner.elts if isinstance(inner, ast.Tuple) else [inner])
    return ast.unparse(node)


def _write_generic(name: str, parts: list[ast.expr]) -> str:
    written = [_write_type(part) for part in parts]
    if name in ("Mapping", "dict"):
        return f"{written[1]} by {written[0]}"
    if name in SEVERAL and (len(parts) == 1 or written[1] in ("...", "Ellipsis", "nothing")):
        return f"{written[0]}[]"
    if name in SEVERAL:
        return f"({', '.join(written)})"
    if name == "Callable":
        return "a function"
    return f"{name} of {', '.join(written)}"
