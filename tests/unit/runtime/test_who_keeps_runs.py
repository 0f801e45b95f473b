"""Whoever asks for a run is shown it as they may see it; only who keeps runs sees past projects."""

import ast
from collections.abc import Iterator

import pytest

from local.places import ROOT

RUNTIME = ROOT / "layers" / "shared" / "python" / "equerry" / "runtime"
ASKED = {
    "ConversationService",
    "RunReadingService",
    "StoppingService",
    "SubscriptionService",
    "AdmissionService",
}
KEEPING = {
    "AnswerService",
    "RunService",
    "RecoveryService",
    "EndingService",
    "FastPathService",
    "FastAnswerService",
}


def find_wirings() -> Iterator[tuple[str, str]]:
    """Yield each service that is wired, with what it is given as its runs."""
    for path in sorted(RUNTIME.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                for given in node.keywords:
                    if given.arg == "runs" and node.func.id.endswith("Service"):
                        yield node.func.id, ast.unparse(given.value).rpartition(".")[2]


@pytest.mark.req("A-PROJ-08", "R-42")
def test_services_that_answer_people_read_runs_as_those_may() -> None:
    wirings = set(find_wirings())

    assert ASKED <= {service for service, _ in wirings} <= ASKED | KEEPING
    for service, runs in wirings:
        assert runs == ("kept_runs" if service in KEEPING else "runs"), service


def test_only_two_places_make_what_sees_past_projects() -> None:
    makers = {path.name for path in RUNTIME.rglob("*.py") if "keeps=True" in path.read_text(encoding="utf-8")}

    # Runs, and the payloads that are set aside from their logs.
    assert makers == {"turn_parts.py", "delivery_parts.py"}
