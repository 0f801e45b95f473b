"""Two servers that others wrote speak the providers' wires to our adapters.

Neither refuses an illegal request, so what they prove is that our own strict servers are not alone in how
they answer. Where the two sides differ it is said which one the vendor's own SDK is with.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from equerry.adapters.rounds.driver import DrivenModelAdapter
from equerry.adapters.rounds.reading import UNUSABLE_ARGUMENTS
from equerry.adapters.rounds.retrying import RetryPolicy
from equerry.engine.model import ToolCallReady
from equerry.ports.model import ModelGone, ModelRejected, ModelUnavailable, ModelUnusable
from llmock.scenarios import Behavior, Fail, Reply, StreamFault, ToolCall, ToolFault
from llmock.testing import LLMockServer
from llmock.verdict import judge

from local.places import ROOT
from tests.contract.models.requests import SEARCH, ask, collect, end_of, text_of
from tests.contract.models.subjects import ANTHROPIC, BEDROCK, GOOGLE, OPENAI, Kit

COMMAND = ROOT / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
LISTENS = re.compile(rb"listening on (http://\S+)")
SAID = "Widgets are painted by the renderer, in the background, whenever they have changed."
NAMED = {ANTHROPIC.name: "anthropic", OPENAI.name: "openai", GOOGLE.name: "gemini"}
FIXTURES = [
    {
        "match": {"userMessage": "painted"},
        "response": {"content": SAID, "usage": {"prompt_tokens": 31, "completion_tokens": 17}},
    },
    {
        "match": {"userMessage": "search"},
        "response": {"toolCalls": [{"name": SEARCH.name, "arguments": '{"query": "widgets"}'}]},
    },
    {
        "match": {"userMessage": "throttle"},
        "response": {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429},
    },
    {
        "match": {"userMessage": "break"},
        "response": {"error": {"message": "oh", "type": "api_error"}, "status": 500},
    },
]


@dataclass(frozen=True)
class Elsewhere:
    """A server of somebody else's, as `Kit.connect` wants one."""

    url: str


@contextmanager
def connect(kit: Kit, url: str) -> Iterator[DrivenModelAdapter]:
    retries = RetryPolicy(attempts=3, first_wait_s=0.01, least_useful_s=0.1)
    with kit.connect(Elsewhere(url), retries=retries) as model:  # type: ignore[arg-type]  # its address is enough
        yield model


def list_calls(events: list[object]) -> list[tuple[str, dict[str, object]]]:
    return [(each.call.tool, dict(each.call.arguments)) for each in events if isinstance(each, ToolCallReady)]


@pytest.fixture(scope="module")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    fixtures = tmp_path_factory.mktemp("aimock") / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": FIXTURES}))
    command = ["node", str(COMMAND), "--port", "0", "--fixtures", str(fixtures), "--strict"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(Path(fixtures).parent)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    ) as process:
        try:
            assert process.stdout
            found = next(said for line in process.stdout if (said := LISTENS.search(line)))
            yield found[1].decode()
        finally:
            process.kill()


def address(kit: Kit, url: str) -> str:
    return f"{url}/v1" if kit is OPENAI else url


@pytest.mark.parametrize("kit", [ANTHROPIC, OPENAI, GOOGLE], ids=lambda kit: kit.name)
@pytest.mark.req("F-GATE-01", "F-GATE-05")
def test_aimock_streams_an_answer_with_its_usage(aimock: str, kit: Kit) -> None:
    with connect(kit, address(kit, aimock)) as model:
        events = collect(model, ask("How are widgets painted?"))

    assert text_of(events) == SAID
    end = end_of(events)
    assert (end.stop, end.usage.input_tokens, end.usage.output_tokens) == ("end_turn", 31, 17)


def test_aimock_s_words_over_converse_are_refused_by_boto3_too(aimock: str) -> None:
    """It begins a block of words, which the service does not; boto3 finds the beginning empty."""
    with connect(BEDROCK, aimock) as model, pytest.raises(ModelUnavailable) as caught:
        collect(model, ask("How are widgets painted?", attempts=1))

    assert caught.value.cause == "broken"


@pytest.mark.parametrize("kit", [ANTHROPIC, OPENAI, BEDROCK], ids=lambda kit: kit.name)
def test_aimock_calls_a_tool_and_tells_no_usage(aimock: str, kit: Kit) -> None:
    with connect(kit, address(kit, aimock)) as model:
        events = collect(model, ask("Please search for it"))

    assert list_calls([*events]) == [(SEARCH.name, {"query": "widgets"})]
    assert (end_of(events).stop, end_of(events).metered) == ("tool_use", False)


def test_aimock_s_gemini_finishes_calls_for_a_reason_that_the_api_does_not_have(aimock: str) -> None:
    with connect(GOOGLE, aimock) as model:
        events = collect(model, ask("Please search for it"))

    assert list_calls([*events]) == []
    assert end_of(events).stop == "malformed"


@pytest.mark.parametrize("kit", [ANTHROPIC, OPENAI, GOOGLE, BEDROCK], ids=lambda kit: kit.name)
@pytest.mark.req("F-GATE-03")
def test_aimock_s_errors_are_told_by_their_cause(aimock: str, kit: Kit) -> None:
    with connect(kit, address(kit, aimock)) as model:
        for question, cause in (("throttle me", "throttled"), ("break down", "overloaded")):
            with pytest.raises(ModelUnavailable) as caught:
                collect(model, ask(question, attempts=1))
            assert caught.value.cause == cause


@pytest.fixture(scope="module")
def running() -> Iterator[LLMockServer]:
    with pytest.MonkeyPatch.context() as patch:
        # It gives up after ten seconds, which a busy machine may need.
        patch.setattr("llmock.testing._STARTUP_TIMEOUT", 120.0)
        with LLMockServer() as server:
            yield server


@pytest.fixture
def unjudged(running: LLMockServer) -> LLMockServer:
    """Nothing is waiting there, and nothing is remembered."""
    running.state.reset()
    running.state.scenarios.clear()
    running.state.journal.clear()
    return running


@pytest.fixture
def llmock(unjudged: LLMockServer, running: LLMockServer) -> Iterator[LLMockServer]:
    """It also judges us: whether we waited as long as we were asked to, and repeated what cannot help."""
    yield unjudged
    judge(running.state.journal.records(wait=2)).assert_ok()


def play(server: LLMockServer, *behaviours: Behavior) -> None:
    for each in behaviours:
        server.state.scenarios.add(each)


SPOKEN = [ANTHROPIC, OPENAI, GOOGLE]


@pytest.mark.parametrize("kit", SPOKEN, ids=lambda kit: kit.name)
@pytest.mark.req("F-GATE-01")
def test_llmock_streams_answers_and_calls(llmock: LLMockServer, kit: Kit) -> None:
    play(llmock, Reply(text=SAID), Reply(tool_calls=(ToolCall(SEARCH.name, {"query": "widgets"}),)))

    with connect(kit, llmock.base_url(NAMED[kit.name])) as model:
        answer, call = collect(model, ask()), collect(model, ask("And now?"))

    assert text_of(answer) == SAID
    assert list_calls([*call]) == [(SEARCH.name, {"query": "widgets"})]
    assert (end_of(answer).metered, end_of(call).stop) == (True, "tool_use")


@pytest.mark.parametrize("kit", SPOKEN, ids=lambda kit: kit.name)
@pytest.mark.req("F-GATE-03", "F-ROUTE-06")
def test_llmock_s_throttling_and_outages_are_sat_out(llmock: LLMockServer, kit: Kit) -> None:
    play(llmock, Fail(429, retry_after=0.2), Fail(503), Reply(text=SAID))

    with connect(kit, llmock.base_url(NAMED[kit.name])) as model:
        assert text_of(collect(model, ask())) == SAID


@pytest.mark.parametrize("kit", SPOKEN, ids=lambda kit: kit.name)
@pytest.mark.req("F-GATE-03")
def test_llmock_s_refusals_are_not_repeated(llmock: LLMockServer, kit: Kit) -> None:
    with connect(kit, llmock.base_url(NAMED[kit.name])) as model:
        for status, kind in ((400, ModelRejected), (401, ModelUnusable), (404, ModelGone)):
            play(llmock, Fail(status))
            with pytest.raises(kind):
                collect(model, ask(f"Does {status} help?"))


@pytest.mark.parametrize("kit", SPOKEN, ids=lambda kit: kit.name)
@pytest.mark.parametrize("fault", ["disconnect", "truncate", "malformed"])
@pytest.mark.req("F-GATE-03")
def test_llmock_s_broken_streams_are_never_believed(unjudged: LLMockServer, kit: Kit, fault: str) -> None:
    play(unjudged, Reply(text=SAID), StreamFault(fault, after_chunks=5))  # type: ignore[arg-type]  # one of its kinds

    with connect(kit, unjudged.base_url(NAMED[kit.name])) as model, pytest.raises(ModelUnavailable):
        collect(model, ask(tools=(), attempts=1))


@pytest.mark.parametrize("kit", [ANTHROPIC, OPENAI], ids=lambda kit: kit.name)
@pytest.mark.req("F-GATE-03")
def test_llmock_s_broken_arguments_are_not_run(llmock: LLMockServer, kit: Kit) -> None:
    play(llmock, ToolFault("malformed_arguments"))

    with connect(kit, llmock.base_url(NAMED[kit.name])) as model:
        (call,) = [each.call for each in collect(model, ask()) if isinstance(each, ToolCallReady)]

    assert (dict(call.arguments), call.problem) == ({}, UNUSABLE_ARGUMENTS)
