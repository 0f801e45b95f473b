"""The layers, what each may touch, and that the checks themselves bite."""

import ast
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest

from local.places import ROOT
from tests.unit.architecture.documents import read_names, read_table
from tests.unit.architecture.source import (
    PACKAGE,
    Module,
    list_classes,
    list_identifiers,
    list_imports,
    list_layers,
    modules_of,
    split_words,
)

INNER = (
    "kernel",
    "engine",
    "channel",
    "domain",
    "ports",
    "packs",
    "services",
    "surfaces",
    "admin",
    "evaluation",
)
VENDORS = frozenset(
    {
        *("amazon", "apigateway", "aurora", "aws", "boto3", "botocore", "cloudwatch", "dynamo", "dynamodb"),
        *("kms", "lambda", "powertools", "s3", "secretsmanager", "sns", "sqs", "ssm"),
        *(
            "anthropic",
            "azure",
            "bedrock",
            "claude",
            "cohere",
            "gemini",
            "google",
            "mistral",
            "openai",
            "vertex",
        ),
        *("elasticsearch", "opensearch", "pg", "pgvector", "postgres", "postgresql", "psycopg", "redis"),
        *("huggingface", "onnx", "onnxruntime"),
    }
)
NAMED_BY_THE_API = {"lambda_version"}  # a field that readers of /version rely on
FILES_AND_SOCKETS = {"io", "os", "pathlib", "shutil", "socket", "sqlite3", "subprocess", "tempfile", "urllib"}


def find_vendors(tree: ast.AST) -> set[str]:
    names = list_identifiers(tree) - NAMED_BY_THE_API
    return {name for name in names if VENDORS.intersection(split_words(name))}


def find_reaching(tree: ast.AST, *layers: str) -> set[str]:
    """Return imports of the given layers of ours."""
    wanted = tuple(f"equerry.{layer}" for layer in layers)
    return {
        name
        for name in list_imports(tree)
        if name in wanted or name.startswith(tuple(f"{w}." for w in wanted))
    }


def modules_with(layers: tuple[str, ...]) -> dict[str, Module]:
    return {
        module.name: module for module in modules_of(*(layer for layer in layers if layer in list_layers()))
    }


@pytest.mark.req("F-LAYER-08", "F-GATE-02")
@pytest.mark.parametrize("module", modules_with(INNER).values(), ids=lambda module: module.name)
def test_no_vendor_is_named_below_the_adapters(module: Module) -> None:
    assert find_vendors(module.tree) == set()


@pytest.mark.req("F-LAYER-08")
@pytest.mark.parametrize(
    "planted",
    [
        "import boto3",
        "from psycopg.rows import dict_row",
        "class DynamoLeases: ...",
        "def send_to_sqs(body): ...",
        "def send(s3Client): ...",
        "choose(provider=anthropic_key)",
    ],
)
def test_a_planted_vendor_is_found(planted: str) -> None:
    assert find_vendors(ast.parse(planted))


def test_prose_about_a_vendor_is_not_an_identifier() -> None:
    assert not find_vendors(
        ast.parse('"""Measured on PostgreSQL; SQS delivers twice."""\nkey = lambda row: row.id')
    )


@pytest.mark.req("F-LAYER-11", "F-LAYER-12")
@pytest.mark.parametrize("module", modules_with(INNER).values(), ids=lambda module: module.name)
def test_only_runtime_knows_an_adapter(module: Module) -> None:
    assert find_reaching(module.tree, "adapters", "runtime") == set()


@pytest.mark.req("F-LAYER-11")
def test_no_adapter_reaches_up_to_what_uses_it() -> None:
    for module in modules_of("adapters"):
        assert find_reaching(module.tree, "services", "surfaces", "runtime", "packs") == set(), module.name


@pytest.mark.req("F-LAYER-11", "F-LAYER-12")
@pytest.mark.parametrize(
    "planted",
    [
        "from equerry.adapters.aws.leases import DynamoLeaseAdapter",
        "import equerry.adapters",
        "def f():\n    import equerry.adapters.jwt",
    ],
)
def test_a_planted_adapter_is_found(planted: str) -> None:
    assert find_reaching(ast.parse(planted), "adapters")


@pytest.mark.req("F-LAYER-03")
def test_the_kernel_imports_nothing_but_the_standard_library() -> None:
    for module in modules_of("kernel"):
        outside = {name for name in list_imports(module.tree) if not name.startswith("equerry.kernel.")}
        assert {name.partition(".")[0] for name in outside} <= sys.stdlib_module_names, module.name


@pytest.mark.req("F-LAYER-03")
def test_the_kernel_holds_only_what_the_document_lists() -> None:
    (row,) = (row for row in read_table("architecture.md", "Layers") if row["Layer"] == "`kernel`")

    held = {module.path.stem for module in modules_of("kernel")} - {"__init__"}

    assert held == set(read_names(row["Holds"]))


@pytest.mark.req("F-LAYER-04", "F-LAYER-05")
@pytest.mark.parametrize(
    ("layer", "held"),
    [
        ("engine", {"Assistant", "Thread", "RunLoop", "Tool"}),
        ("channel", {"Broadcaster", "Marker", "Envelope", "Publisher"}),
    ],
)
def test_a_layer_holds_what_it_is_for(layer: str, held: set[str]) -> None:
    assert held <= {found.name for module in modules_of(layer) for found in list_classes(module)}


def test_the_domain_touches_no_file_and_no_socket() -> None:
    for module in modules_of("domain"):
        touched = {name.partition(".")[0] for name in list_imports(module.tree)}
        assert not touched & FILES_AND_SOCKETS, module.name


@pytest.mark.req("F-LAYER-07")
def test_ports_are_interfaces_without_a_body() -> None:
    found = {cls.name: cls for module in modules_of("ports") for cls in list_classes(module)}

    assert {"VectorStorePort", "ModelPort", "ConnectorPort"} <= set(found)
    for name, port in found.items():
        if port.is_protocol:
            assert name.endswith("Port")
            assert all(is_promise(method) for method in port.methods), name


def is_promise(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in method.body)


@pytest.mark.req("F-LAYER-14")
def test_the_documented_layers_are_the_layers_that_exist() -> None:
    documented = [
        name for row in read_table("architecture.md", "Layers") for name in read_names(row["Layer"])
    ]

    assert sorted(documented) == sorted(list_layers())
    assert all((PACKAGE / layer / "__init__.py").is_file() for layer in documented)


@pytest.mark.req("F-LAYER-14")
def test_every_part_of_the_specification_is_mapped_to_layers_that_exist() -> None:
    rows = read_table("architecture.md", "Where each part of the specification lives")
    mapped = [set(read_names(row["Layers"])) for row in rows]

    assert all(mapped)
    assert set().union(*mapped) == list_layers()


@pytest.mark.req("F-LAYER-02")
def test_a_layer_imports_what_the_document_lets_it() -> None:
    allowed = {
        read_names(row["Layer"])[0]: set(read_names(row["May import"]))
        for row in read_table("architecture.md", "Layers")
    }
    for layer in list_layers():
        reached = {
            name.split(".")[1]
            for module in modules_of(layer)
            for name in list_imports(module.tree)
            if name.startswith("equerry.")
        }
        assert reached <= allowed[layer] | {layer}, layer


@pytest.fixture
def lint(tmp_path: Path) -> "Lint":
    copytree(PACKAGE, tmp_path / "equerry")
    return Lint(tmp_path)


class Lint:
    """import-linter with this project's contracts, over a copy of the layer."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def plant(self, path: str, text: str) -> None:
        (self._folder / "equerry" / path).parent.mkdir(exist_ok=True)
        (self._folder / "equerry" / path).write_text(text, encoding="utf-8")

    def run(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [
                str(Path(sys.executable).with_name("lint-imports")),
                "--config",
                str(ROOT / "pyproject.toml"),
                "--no-cache",
            ],
            cwd=self._folder,
            env={"PYTHONPATH": str(self._folder)},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.mark.req("F-LAYER-01", "F-LAYER-02")
@pytest.mark.parametrize(
    ("path", "planted", "broken"),
    [
        ("domain/planted.py", "from equerry.ports import model", "Layers point inward"),
        ("kernel/planted.py", "from equerry.engine import tool", "Layers point inward"),
        ("services/planted.py", "from equerry.adapters.aws import leases", "Layers point inward"),
        ("services/planted.py", "import boto3", "Vendors only in adapters and runtime"),
        ("utils/__init__.py", "", "Layers point inward"),
    ],
)
def test_a_planted_upward_import_fails_the_import_check(
    lint: Lint, path: str, planted: str, broken: str
) -> None:
    lint.plant(path, planted)

    checked = lint.run()

    assert checked.returncode == 1
    assert f"{broken} BROKEN" in " ".join(checked.stdout.split()), checked.stdout + checked.stderr


@pytest.mark.req("F-LAYER-02")
def test_the_import_check_passes_over_the_layer_as_it_is(lint: Lint) -> None:
    checked = lint.run()

    assert checked.returncode == 0, checked.stdout + checked.stderr
