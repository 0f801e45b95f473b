"""Every code of a structured completion, as a real SDK reads it off the streaming function."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from equerry.domain.completion import STATUSES
from equerry.runtime.completion_parts import RESERVE_S

from local.places import ROOT
from tests.completion_cases import CASES, DEADLINE_S, Case, choose, list_variables
from tests.completions import ANSWER, payload
from tests.contract.test_response_streaming import ARN, build_variables, function, invoke
from tests.strict.anthropic_server import KEY, serve_anthropic
from tests.strict.lambda_server import LambdaServer, serve_lambda
from tests.strict.secrets_server import serve_secrets

AMPLE_S, SHORT_S = 120.0, DEADLINE_S + RESERVE_S
SHARED = [case for case in CASES if not case.variables]
APART = [case for case in CASES if case.variables]


@contextmanager
def running(log: Path, **changes: str) -> Iterator[LambdaServer]:
    """The function, which is started once and asked again and again, as Lambda does."""
    with (
        serve_lambda() as server,
        serve_anthropic(choose) as provider,
        serve_secrets({ARN: KEY}) as aws,
    ):
        variables = build_variables(provider.url, aws) | list_variables(provider.url, ARN)
        # How long it may take is said with each invocation: the first one imports the provider's client.
        variables |= {"STRUCTURED_COMPLETION_DEADLINE_MILLISECONDS": "120000"} | changes
        with function(server, "structured_completion.streaming.handle", log, variables):
            yield server
        assert server.violations == []
        assert provider.violations == []


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LambdaServer]:
    with running(tmp_path_factory.mktemp("function") / "log") as started:
        require_answer(started)
        yield started


def require_answer(server: LambdaServer) -> None:
    server.time_s = AMPLE_S
    frames, *_ = invoke(server, payload())

    assert frames[-1]["output"] == ANSWER


def require_refusal(server: LambdaServer, case: Case, *, time_s: float) -> None:
    server.time_s = time_s
    frames, end, *_ = invoke(server, case.event)

    last = frames[-1]
    assert (last["type"], last["status"], last["code"]) == ("error", case.status, case.code)
    assert case.said in last["detail"]
    assert end == {}


def test_there_is_a_case_of_every_code_that_is_declared() -> None:
    assert {case.code for case in CASES} == set(STATUSES)
    assert len({case.name for case in CASES}) == len(CASES)


def test_the_page_for_callers_lists_every_code_with_its_status() -> None:
    page = (ROOT / "docs/structured-completion.md").read_text()
    rows = re.findall(r"^\| (\d{3}) \| (`[^|]+) \|", page, re.MULTILINE)

    listed = {code: int(status) for status, codes in rows for code in re.findall(r"`([a-z_]+)`", codes)}

    assert listed == STATUSES


@pytest.mark.req("A-SCST-11", "A-SCST-15", "A-SCST-17", "A-SCST-18", "A-SCST-20", "A-SCIM-07", "A-SCDO-12")
@pytest.mark.parametrize("case", SHARED, ids=lambda case: case.name)
def test_a_refusal_is_the_last_frame_and_the_next_request_is_answered(
    server: LambdaServer, case: Case
) -> None:
    require_refusal(server, case, time_s=SHORT_S)
    require_answer(server)


@pytest.mark.req("A-SCST-19")
@pytest.mark.parametrize("case", APART, ids=lambda case: case.name)
def test_what_is_configured_so_refuses_everything(tmp_path: Path, case: Case) -> None:
    with running(tmp_path / "log", **case.variables) as server:
        require_refusal(server, case, time_s=AMPLE_S)
