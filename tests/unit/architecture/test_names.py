"""Names keep to the tables in docs/names.md, and the tables to the names."""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import pytest

from tests.unit.architecture.documents import read_names, read_table
from tests.unit.architecture.source import (
    Class,
    FunctionNode,
    Module,
    classes_of,
    list_classes,
    list_layers,
    list_modules,
    list_public_functions,
    modules_of,
    split_words,
)

KINDS = ("entity", "value", "record", "message", "result")
OUTWARD = ("ports", "services", "surfaces", "runtime")
WORKING_PARTS = {
    "services": r".*Service",
    "admin": r".*Screen",
    "surfaces": r".*(Routes|Services)",
    "adapters": r".*(Adapter|Connections)",
    "packs": r".*(Tool|Finder)",
    "runtime": r".*(App|Parts)",
    "engine": r"RunLoop",
}
"""Frozen dataclasses that hold ports and other parts rather than data, by layer."""


def read_suffixes() -> dict[str, set[str]]:
    rows = read_table("names.md", "Suffixes")
    return {read_names(row["Suffix"])[0]: set(read_names(row["Layers"])) for row in rows}


def find_misplaced(name: str, layer: str) -> str | None:
    """Return the suffix by which a class belongs into another layer."""
    words = re.findall(r"[A-Z][a-z0-9]*|[A-Z]+(?![a-z])", name)
    layers = read_suffixes().get(words[-1]) if words else None
    return words[-1] if layers and layer not in layers else None


def list_all_classes() -> Iterator[Class]:
    return (found for module in list_modules() for found in list_classes(module) if found.name[0] != "_")


def returns_several(written: str) -> bool:
    return written.startswith(
        ("tuple[", "list[", "Iterator[", "Iterable[", "Mapping[", "dict[", "frozenset[", "Sequence[")
    )


def is_optional(written: str) -> bool:
    return re.search(r"(^|\| )None($| \|)", written) is not None


RULES: dict[str, Callable[[str], bool]] = {
    "find": lambda written: is_optional(written) or returns_several(written),
    "fetch": lambda written: written != "None" and not is_optional(written),
    "list": returns_several,
    "build": lambda written: written != "None",
    "parse": lambda written: written != "None" and not is_optional(written),
    "derive": lambda written: written != "None" and not is_optional(written),
    "publish": lambda written: written in ("None", "bool"),
    "require": lambda written: written == "None",
    "is": lambda written: written == "bool",
    "has": lambda written: written == "bool",
}


def find_broken_promise(
    function: FunctionNode, aliases: Mapping[str, str] = MappingProxyType({})
) -> str | None:
    """Return the prefix whose promise a function's result breaks; a route's answer is its own kind."""
    prefix = function.name.partition("_")[0]
    written = ast.unparse(function.returns) if function.returns else "None"
    written = aliases.get(written, written)
    if prefix not in RULES or written == "HttpAnswer" or RULES[prefix](written):
        return None
    return prefix


def read_aliases(module: Module) -> dict[str, str]:
    """Return what a module's own names for types stand for."""
    assigned = (node for node in module.tree.body if isinstance(node, ast.Assign))
    return {ast.unparse(node.targets[0]): ast.unparse(node.value) for node in assigned}


def list_kinds(cls: Class) -> list[str]:
    return [mark for mark in cls.marks if mark in KINDS]


def is_dataclass(cls: Class) -> bool:
    return "dataclass" in cls.marks or "NamedTuple" in cls.bases


def is_frozen(cls: Class) -> bool:
    return "NamedTuple" in cls.bases or any(
        "frozen=True" in ast.unparse(mark) for mark in cls.node.decorator_list
    )


def find_kind_fault(cls: Class) -> str | None:
    kinds = list_kinds(cls)
    if len(kinds) > 1:
        return f"carries {kinds}"
    if kinds:
        return None if is_frozen(cls) else "is handed around and can be changed"
    works = re.fullmatch(WORKING_PARTS.get(cls.module.layer, "(?!)"), cls.name)
    return None if works or not is_frozen(cls) else "carries no kind"


@pytest.mark.req("F-NAME-01")
@pytest.mark.parametrize("layer", sorted(list_layers()))
def test_a_suffix_tells_the_layer(layer: str) -> None:
    misplaced = {cls.name: find_misplaced(cls.name, layer) for cls in classes_of(layer)}

    assert {name: suffix for name, suffix in misplaced.items() if suffix} == {}


@pytest.mark.req("F-NAME-01")
@pytest.mark.parametrize(
    ("planted", "layer"),
    [
        ("TurnService", "domain"),
        ("S3Adapter", "services"),
        ("ModelPort", "engine"),
        ("TurnAnswer", "services"),
    ],
)
def test_a_planted_class_in_the_wrong_layer_is_found(planted: str, layer: str) -> None:
    assert find_misplaced(planted, layer)


@pytest.mark.req("F-NAME-01")
def test_a_layer_s_classes_have_its_suffix() -> None:
    ports = [cls.name for cls in classes_of("ports") if cls.is_protocol]
    services = [
        cls.name
        for cls in classes_of("services")
        if is_dataclass(cls) and is_frozen(cls) and not list_kinds(cls)
    ]

    assert [name for name in ports if not name.endswith("Port")] == []
    assert [name for name in services if not name.endswith("Service")] == []


@pytest.mark.req("F-NAME-01")
def test_an_adapter_s_name_ends_with_the_need_it_serves() -> None:
    needs = tuple(cls.name.removesuffix("Port") + "Adapter" for cls in classes_of("ports") if cls.is_protocol)
    adapters = [cls.name for cls in classes_of("adapters") if cls.name.endswith("Adapter")]

    assert [name for name in adapters if not name.endswith(needs) or name in needs] == []


def test_every_documented_suffix_points_at_layers_that_exist() -> None:
    assert all(layers <= list_layers() for layers in read_suffixes().values())


@pytest.mark.req("F-NAME-03")
@pytest.mark.parametrize("module", list_modules(), ids=lambda module: module.name)
def test_a_prefix_keeps_its_promise(module: Module) -> None:
    aliases = read_aliases(module)
    functions = list_public_functions(module)
    broken = {name: find_broken_promise(function, aliases) for name, function in functions}

    assert {name: prefix for name, prefix in broken.items() if prefix} == {}


@pytest.mark.req("F-NAME-03")
@pytest.mark.parametrize(
    "planted",
    [
        "def find_run(self) -> Run: ...",
        "def fetch_run(self) -> Run | None: ...",
        "def list_runs(self) -> Run: ...",
        "def build_run(self) -> None: ...",
        "def parse_run(text: str) -> Run | None: ...",
        "def publish(self) -> Envelope: ...",
        "def is_ended(self) -> str: ...",
        "def require_admin(self) -> bool: ...",
    ],
)
def test_a_planted_promise_that_is_broken_is_found(planted: str) -> None:
    (function,) = ast.parse(planted).body

    assert isinstance(function, ast.FunctionDef)
    assert find_broken_promise(function)


@pytest.mark.req("F-NAME-03")
def test_every_documented_prefix_is_checked() -> None:
    documented = {
        name.rstrip("_")
        for row in read_table("names.md", "Method prefixes")
        for name in read_names(row["Prefix"])
    }

    assert documented == set(RULES)


@pytest.mark.req("F-NAME-04")
@pytest.mark.parametrize("module", list_modules(), ids=lambda module: module.name)
def test_a_data_carrying_type_is_of_exactly_one_kind(module: Module) -> None:
    found = [cls for cls in list_classes(module) if cls.name[0] != "_" and is_dataclass(cls)]

    assert {cls.name: fault for cls in found if (fault := find_kind_fault(cls))} == {}


@pytest.mark.req("F-NAME-04")
@pytest.mark.parametrize(
    "planted",
    [
        "@dataclass(frozen=True)\nclass Price: ...",
        "@value\n@record\n@dataclass(frozen=True)\nclass Price: ...",
        "@value\n@dataclass\nclass Price: ...",
        "class Price(NamedTuple): ...",
    ],
)
def test_a_planted_type_without_exactly_one_kind_is_found(planted: str) -> None:
    (module,) = modules_of("domain")[:1]
    (node,) = ast.parse(planted).body

    assert isinstance(node, ast.ClassDef)
    assert find_kind_fault(Class(module, node))


@pytest.mark.req("F-NAME-04")
def test_the_document_lists_the_five_kinds() -> None:
    assert tuple(read_names(row["Kind"])[0] for row in read_table("names.md", "Kinds")) == KINDS


def list_declared_names() -> Iterator[tuple[str, str]]:
    """Yield every name that the outward layers declare for others, with where it stands."""
    for module in modules_of(*OUTWARD):
        for cls in (found for found in list_classes(module) if found.name[0] != "_"):
            yield cls.name, module.name
            attributes = (n.target for n in cls.node.body if isinstance(n, ast.AnnAssign))
            yield from ((target.id, module.name) for target in attributes if isinstance(target, ast.Name))
        for name, function in list_public_functions(module):
            yield name.rpartition(".")[2], module.name
            yield from (
                (argument.arg, module.name)
                for argument in ast.walk(function.args)
                if isinstance(argument, ast.arg)
            )


def find_words(forbidden: set[str]) -> set[tuple[str, str]]:
    return {
        (name, where) for name, where in list_declared_names() if forbidden.intersection(split_words(name))
    }


@pytest.mark.req("F-NAME-06")
def test_retired_words_are_in_no_public_name() -> None:
    retired = {name for row in read_table("names.md", "Renamed") for name in read_names(row["Earlier"])}
    names = {name for name, _ in list_declared_names()}

    assert len(retired) >= 5
    assert find_words(retired) == set()
    assert not names & retired


@pytest.mark.req("F-ARCH-09")
def test_eleven_terms_are_used_by_public_signatures_and_their_synonyms_are_not() -> None:
    rows = read_table("architecture.md", "Glossary")
    terms = {read_names(row["Term"])[0] for row in rows}
    synonyms = {word.strip() for row in rows for word in row["Never called"].split(",")}
    used = {word.rstrip("s") for name, _ in list_declared_names() for word in split_words(name)}

    assert len(terms) == 11
    assert terms <= used
    assert find_words(synonyms) == set()
