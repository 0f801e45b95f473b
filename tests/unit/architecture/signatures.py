"""A method as the documents write it: conceptual types, `?` for what may be left out, `->` for the result."""

import ast

from tests.unit.architecture.source import FunctionNode

CONCEPTS = {
    "str": "text",
    "int": "number",
    "float": "number",
    "bool": "yes/no",
    "datetime": "time",
    "object": "data",
}
SEVERAL = {"tuple", "list", "Sequence", "Iterable", "Iterator", "Generator"}


def write_signature(qualified: str, method: FunctionNode) -> str:
    """Return `Class.method(name: Type, name?: Type) -> Type`."""
    arguments = ", ".join(_write_argument(*each) for each in _list_arguments(method))
    result = _write_type(method.returns)
    return f"{qualified}({arguments})" + (f" -> {result}" if result != "nothing" else "")


def _list_arguments(method: FunctionNode) -> list[tuple[ast.arg, bool]]:
    placed = [*method.args.posonlyargs, *method.args.args]
    optional = [False] * (len(placed) - len(method.args.defaults)) + [True] * len(method.args.defaults)
    named = [
        (arg, default is not None)
        for arg, default in zip(method.args.kwonlyargs, method.args.kw_defaults, strict=True)
    ]
    return [
        (arg, left_out)
        for arg, left_out in [*zip(placed, optional, strict=True), *named]
        if arg.arg not in ("self", "cls")
    ]


def _write_argument(arg: ast.arg, optional: bool) -> str:  # a pair from the list above
    return f"{arg.arg}{'?' if optional else ''}: {_write_type(arg.annotation)}"


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
        case ast.Subscript(value=ast.Name(id=name), slice=inner) if name in SEVERAL:
            return _write_several(inner)
    return ast.unparse(node)


def _write_several(inner: ast.expr) -> str:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if len(parts) == 1 or ast.unparse(parts[1]) in ("...", "None"):
        return f"{_write_type(parts[0])}[]"
    return "(" + ", ".join(_write_type(part) for part in parts) + ")"
