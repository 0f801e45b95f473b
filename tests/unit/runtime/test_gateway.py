"""Where the gateway's choices come from, and what happens where one cannot be had."""

import logging
from typing import Any

import pytest
from equerry.adapters.aws.parameters import ParameterReader
from equerry.domain.routing import EXTRACTIVE
from equerry.engine.model import ModelChoice, RoundEnd, StillWorking
from equerry.ports.model import ModelUnusable
from equerry.runtime.gateway import build_gateway, list_gateway_parameters
from equerry.runtime.gateway_settings import StructuredCompletionSettings
from equerry.runtime.settings import WorkerSettings
from equerry.services.gateway import GatewayService

from tests.contract.models.clock import ScriptedClock
from tests.contract.models.requests import ask
from tests.contract.models.subjects import RealClock
from tests.fakes.provider_health import MemoryProviderHealthAdapter
from tests.strict.anthropic_events import message, text
from tests.strict.anthropic_server import KEY, serve_anthropic

CLAUDE = ModelChoice(provider="anthropic", model="claude-1")
NOVA = ModelChoice(provider="bedrock", model="nova-1")
NEEDED = {
    "EQUERRY_STAGE": "test",
    "DATABASE_SECRET_ARN": "x",
    "LEASES_TABLE": "x",
    "USAGE_TABLE": "x",
    "CONNECTIONS_TABLE": "x",
    "REPLAY_TABLE": "x",
    "RUN_FLAGS_TABLE": "x",
    "TURN_QUEUE_URL": "x",
    "UPLOADS_BUCKET": "x",
    "WEBSOCKET_ENDPOINT": "x",
}


class Ssm:
    """Parameters that hold what a test says; counts the calls."""

    def __init__(self, **held: str) -> None:
        self.held = held
        self.calls = 0

    def get_parameter(self, *, Name: str, **_: object) -> dict[str, Any]:  # noqa: N803  # boto3's name
        return {"Parameter": {"Name": Name, "Value": self.held[Name]}}

    def get_parameters(self, *, Names: list[str], **_: object) -> dict[str, Any]:  # noqa: N803  # boto3's name
        self.calls += 1
        found = [{"Name": name, "Value": self.held[name]} for name in Names if name in self.held]
        return {"Parameters": found, "InvalidParameters": [name for name in Names if name not in self.held]}


class Secrets:
    """AWS clients that hold one key for every provider."""

    def __init__(self, key: str = KEY) -> None:
        self.secrets = self
        self._key = key

    def get_secret_value(self, *, SecretId: str) -> dict[str, str]:  # noqa: N803  # boto3's name
        return {"SecretString": self._key}


def open_gateway(
    environ: dict[str, str], *, ssm: Ssm | None = None, clients: Any = None, worker: bool = True
) -> GatewayService:
    kind = WorkerSettings if worker else StructuredCompletionSettings
    settings = kind.from_env({**NEEDED, "MODEL_ALLOWED": "anthropic/claude-1,bedrock/nova-1"} | environ)
    held: Any = clients or Secrets()
    clock = ScriptedClock() if ssm else RealClock()
    return build_gateway(
        settings,
        held,
        clock,
        parameters=ParameterReader(ssm or Ssm(), clock),  # type: ignore[arg-type]  # a stand-in
        store=MemoryProviderHealthAdapter(),
    )


def wanted(gateway: GatewayService, purpose: Any = "conversational") -> ModelChoice:
    return gateway.open(purpose).choice


@pytest.mark.req("A-PROV-07")
def test_a_parameter_chooses_where_the_environment_does_not() -> None:
    ssm = Ssm(**{"/p": "anthropic", "/m": "claude-1"})
    named = {
        "MODEL_PROVIDER_SSM_PARAMETER": "/p",
        "MODEL_ID_SSM_PARAMETER": "/m",
        "MODEL_SECRETS": "anthropic=arn",
    }

    assert wanted(open_gateway(named, ssm=ssm)) == CLAUDE
    assert wanted(open_gateway({**named, "MODEL_PROVIDER": "extractive"}, ssm=ssm)) == EXTRACTIVE
    assert wanted(open_gateway({}, ssm=ssm)) == EXTRACTIVE


@pytest.mark.req("F-GATE-06", "F-ROUTE-03")
def test_a_pair_that_nothing_admitted_is_not_asked_by_whomever_it_is_chosen(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ssm = Ssm(**{"/p": "anthropic", "/m": "claude-1"})
    named = {
        "MODEL_PROVIDER_SSM_PARAMETER": "/p",
        "MODEL_ID_SSM_PARAMETER": "/m",
        "MODEL_SECRETS": "anthropic=arn",
        "MODEL_FALLBACKS": "bedrock/nova-1,extractive",
    }

    admitted = open_gateway({**named, "MODEL_EVALUATIONS": "anthropic/claude-1=abc"}, ssm=ssm)
    none = open_gateway({**named, "MODEL_EVALUATIONS": "-"}, ssm=ssm)
    desk = open_gateway({**named, "MODEL_EVALUATIONS": "any"}, ssm=ssm)
    direct = {"MODEL_PROVIDER": "anthropic", "MODEL_ID": "claude-1", "MODEL_SECRET_ARN": "arn"}

    assert admitted.find_route("conversational").arms == (CLAUDE, EXTRACTIVE)
    assert none.find_route("conversational").arms == (EXTRACTIVE,)
    assert wanted(desk) == CLAUDE
    assert wanted(open_gateway({**direct, "MODEL_EVALUATIONS": "bedrock/nova-1=abc"})) == EXTRACTIVE
    assert "which no evaluation has admitted" in str([record.__dict__ for record in caplog.records])


@pytest.mark.req("A-GEM-02")
def test_the_model_of_gemini_is_the_environments_and_then_the_parameters() -> None:
    named = {
        "MODEL_PROVIDER_SSM_PARAMETER": "/p",
        "MODEL_ID_SSM_PARAMETER": "/m",
        "MODEL_SECRETS": "google=arn",
        "MODEL_ALLOWED": "google/gemini-1,google/gemini-2",
    }
    direct = {"MODEL_PROVIDER": "google", "MODEL_ID": "gemini-2", "MODEL_SECRET_ARN": "arn"}
    ssm = Ssm(**{"/p": "google", "/m": "gemini-1"})

    assert wanted(open_gateway(named, ssm=ssm)) == ModelChoice(provider="google", model="gemini-1")
    assert wanted(open_gateway({**named, **direct}, ssm=ssm)) == ModelChoice(
        provider="google", model="gemini-2"
    )


def test_a_changed_parameter_takes_effect_within_a_minute_and_without_a_start() -> None:
    ssm = Ssm(**{"/p": "anthropic", "/m": "claude-1"})
    settings = {
        "MODEL_PROVIDER_SSM_PARAMETER": "/p",
        "MODEL_ID_SSM_PARAMETER": "/m",
        "MODEL_SECRETS": "anthropic=arn",
    }
    gateway = open_gateway(settings, ssm=ssm)
    assert wanted(gateway) == CLAUDE

    ssm.held |= {"/p": "bedrock", "/m": "nova-1"}
    before = wanted(gateway)
    gateway.clock.sleep(61)

    assert (before, wanted(gateway)) == (CLAUDE, NOVA)


@pytest.mark.req("A-CHAT-01", "A-CHAT-02", "A-CHAT-03")
def test_conversations_may_have_a_model_of_their_own() -> None:
    gateway = open_gateway({"ASSISTANT_CONVERSATION_PROVIDER": "bedrock"})

    assert wanted(gateway) == NOVA
    assert wanted(gateway, "judging") == EXTRACTIVE


@pytest.mark.req("A-CHAT-05")
def test_completions_never_read_the_choice_of_conversations() -> None:
    gateway = open_gateway({"ASSISTANT_CONVERSATION_PROVIDER": "bedrock"}, worker=False)

    assert wanted(gateway) == EXTRACTIVE


@pytest.mark.req("A-CHAT-06")
def test_a_parameter_that_is_not_there_is_not_looked_up_again_at_every_turn() -> None:
    ssm = Ssm()
    gateway = open_gateway({"ASSISTANT_CONVERSATION_PROVIDER_SSM_PARAMETER": "/absent"}, ssm=ssm)
    asked = ssm.calls

    for _ in range(5):
        wanted(gateway)

    assert ssm.calls == asked


@pytest.mark.req("F-ROUTE-01")
def test_each_purpose_may_have_a_model() -> None:
    gateway = open_gateway({"MODEL_PURPOSES": "judging=bedrock/nova-1", "MODEL_REASONING": "judging=high"})

    assert wanted(gateway, "judging") == NOVA
    assert gateway.find_route("judging").reasoning == "high"
    assert wanted(gateway, "extraction") == EXTRACTIVE


def test_a_choice_that_is_not_allowed_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    ssm = Ssm(**{"/p": "anthropic", "/m": "claude-9"})

    with caplog.at_level(logging.WARNING):
        gateway = open_gateway(
            {"MODEL_PROVIDER_SSM_PARAMETER": "/p", "MODEL_ID_SSM_PARAMETER": "/m"}, ssm=ssm
        )
        assert [wanted(gateway), wanted(gateway)] == [EXTRACTIVE, EXTRACTIVE]

    told = [vars(record)["reason"] for record in caplog.records if record.message == "model_choice_refused"]
    assert told == ["parameter: anthropic/claude-9, which is not allowed"]


def test_a_provider_without_a_key_is_stood_in_for() -> None:
    with serve_anthropic() as server:
        server.play(message(text("So.")))
        gateway = open_gateway(
            {
                "MODEL_PURPOSES": "judging=openai/gpt-1",
                "MODEL_ALLOWED": "openai/gpt-1,anthropic/claude-1",
                "MODEL_FALLBACKS": "anthropic/claude-1",
                "MODEL_SECRETS": "anthropic=arn",
                "MODEL_BASE_URLS": f"anthropic={server.url}",
            }
        )
        events = [e for e in gateway.open("judging").stream(ask()) if not isinstance(e, StillWorking)]

    last = events[-1]
    assert isinstance(last, RoundEnd)
    assert last.model == CLAUDE


@pytest.mark.req("F-DEGR-02", "F-DEGR-04")
def test_with_every_model_down_the_documents_are_still_quoted() -> None:
    gateway = open_gateway(
        {
            "MODEL_PROVIDER": "anthropic",
            "MODEL_ID": "claude-1",
            "MODEL_SECRET_ARN": "arn",
            "MODEL_BASE_URL": "http://127.0.0.1:9",
            "MODEL_FALLBACKS": "extractive",
        }
    )

    last = [*gateway.open("conversational").stream(ask(attempts=2))][-1]

    assert isinstance(last, RoundEnd)
    assert last.model == EXTRACTIVE


def test_a_function_starts_although_its_model_cannot_be_opened() -> None:
    gateway = open_gateway({"ASSISTANT_CONVERSATION_PROVIDER": "anthropic"})

    with pytest.raises(ModelUnusable, match="no secret"):
        list(gateway.open("conversational").stream(ask()))


def test_what_may_choose_is_read_before_the_first_turn() -> None:
    settings = WorkerSettings.from_env(
        {**NEEDED, "MODEL_ID_SSM_PARAMETER": "/m", "MODEL_PROVIDER_SSM_PARAMETER": "/p"}
    )

    assert [parameter.name for parameter in list_gateway_parameters(settings)] == ["/p", "/m"]


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({"MODEL_ALLOWED": "anthropic"}, "provider/model"),
        ({"MODEL_PURPOSES": "dreaming=bedrock/nova-1"}, "dreaming"),
        ({"MODEL_REASONING": "judging=a lot"}, "MODEL_REASONING"),
        ({"MODEL_PROVIDER": "claude-code"}, "MODEL_PROVIDER"),
    ],
)
def test_a_list_that_cannot_be_read_stops_the_function(environ: dict[str, str], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        open_gateway(environ)
