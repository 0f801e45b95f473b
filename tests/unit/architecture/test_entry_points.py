"""Entry points are thin, all turns take one path, and the API has the routes it promises."""

import ast
from pathlib import Path

import pytest

from local.codegen.contract import build_offline_routes
from local.places import ROOT
from tests.unit.architecture.source import list_identifiers, list_imports, list_modules, modules_of

FUNCTIONS = ROOT / "functions"
HANDLERS = sorted(
    path for path in FUNCTIONS.glob("*/*.py") if path.stem != "__init__" and path.parts[-2] != "migrator"
)
ONE_PATH = {
    "append_turn": {"equerry.services.turns"},
    "enqueue_run": {"equerry.services.turns"},
    "RunLoop": {"equerry.services.answering"},
    "ToolRunner": {"equerry.engine.run_loop"},
    "find_tool": {"equerry.engine.tool_calls"},
    "BuildTools": {"equerry.services.answering", "equerry.runtime.tools"},
    "compose_prompt": {"equerry.services.answering"},
    "AnswerService": {"equerry.services.runs", "equerry.runtime.worker"},
}
"""Steps of a turn, and the only modules that may take them."""


def find_weight(source: str) -> list[str]:
    """Return what a handler module holds beyond asking runtime for its application."""
    match ast.parse(source).body:
        case [
            ast.Expr(value=ast.Constant(value=str())),
            ast.ImportFrom(module=module, names=[ast.alias(name=build)]),
            ast.Assign(
                targets=[ast.Name(id="handle")],
                value=ast.Call(func=ast.Name(id=called), args=[], keywords=[]),
            ),
        ] if (module or "").startswith("equerry.runtime.") and called == build:
            return []
        case body:
            return [ast.unparse(node) for node in body]


def find_takers(step: str, modules: dict[str, ast.Module]) -> set[str]:
    """Return the modules that take a step: use its name without declaring it."""
    return {
        name for name, tree in modules.items() if step in list_identifiers(tree) and not declares(tree, step)
    }


def declares(tree: ast.AST, name: str) -> bool:
    return any(
        isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name for node in ast.walk(tree)
    )


@pytest.mark.req("F-ENTRY-02", "F-LAYER-15")
@pytest.mark.parametrize("handler", HANDLERS, ids=lambda path: f"{path.parts[-2]}.{path.stem}")
def test_a_handler_only_asks_runtime_for_its_application(handler: Path) -> None:
    assert find_weight(handler.read_text(encoding="utf-8")) == []


@pytest.mark.req("F-ENTRY-02", "F-LAYER-15")
@pytest.mark.parametrize(
    "planted",
    [
        '"""A."""\n\nfrom equerry.services.turns import TurnService\n\nhandle = TurnService()',
        '"""A."""\n\nfrom equerry.runtime.http import build\n\nhandle = build()\nif handle:\n    pass',
        '"""A."""\n\nfrom equerry.runtime.http import build\n\n\ndef handle(event, _):\n    return build()',
        '"""A."""\n\nimport boto3\nfrom equerry.runtime.http import build\n\nhandle = build()',
    ],
)
def test_a_planted_handler_with_weight_is_found(planted: str) -> None:
    assert find_weight(planted)


@pytest.mark.req("F-LAYER-15")
def test_no_function_has_domain_logic_of_its_own() -> None:
    for path in FUNCTIONS.rglob("*.py"):
        ours = {
            name
            for name in list_imports(ast.parse(path.read_text(encoding="utf-8")))
            if name.startswith("equerry")
        }
        assert all(name.startswith("equerry.runtime.") for name in ours), path


@pytest.mark.req("F-ENTRY-02")
def test_the_surfaces_reach_services_and_never_a_store_or_the_loop() -> None:
    delivering = ("equerry.surfaces.http", "equerry.surfaces.websocket")
    for module in (found for found in modules_of("surfaces") if found.name.startswith(delivering)):
        reached = {name.split(".")[1] for name in list_imports(module.tree) if name.startswith("equerry.")}
        assert reached <= {"surfaces", "services", "domain", "channel", "kernel"}, module.name


@pytest.mark.req("F-ENTRY-03", "F-ARCH-06")
@pytest.mark.parametrize("step", ONE_PATH)
def test_each_step_of_a_turn_is_taken_in_one_place(step: str) -> None:
    modules = {module.name: module.tree for module in list_modules() if module.layer != "adapters"}

    assert find_takers(step, modules) == ONE_PATH[step]


@pytest.mark.req("F-ENTRY-03")
def test_a_planted_second_path_is_found() -> None:
    planted = ast.parse("def shortcut(self):\n    self.transcripts.append_turn(scope, run, said)")

    assert find_takers("append_turn", {"equerry.services.shortcut": planted}) == {"equerry.services.shortcut"}


@pytest.mark.req("F-ENTRY-04")
def test_the_five_entry_points_are_offered() -> None:
    offered = {(route.method, route.path) for route in build_offline_routes()}

    assert offered >= {
        ("POST", "/conversations/{conversationId}/messages"),
        ("POST", "/runs/{runId}/cancel"),
        ("GET", "/conversations/{conversationId}"),
        ("GET", "/conversations/{conversationId}/artifacts"),
        ("POST", "/conversations/{conversationId}/interactions"),
    }


def test_every_operation_has_its_own_name_and_place() -> None:
    routes = build_offline_routes()

    assert len({route.operation for route in routes}) == len(routes)
    assert len({(route.method, route.path) for route in routes}) == len(routes)
