"""The one place that picks a provider."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.embedded.extractive import ExtractiveModelAdapter
from equerry.engine.model import ModelChoice
from equerry.ports.model import ModelUnusable
from equerry.runtime.clock import SystemClock
from equerry.runtime.gateway_settings import StructuredCompletionSettings
from equerry.runtime.models import build_adapter, build_model

from tests.contract.models.clock import ScriptedClock
from tests.contract.models.requests import ask, collect
from tests.strict import google_events, google_server
from tests.strict.anthropic_events import message, text
from tests.strict.anthropic_server import KEY, serve_anthropic
from tests.strict.google_server import serve_google

IMPORTED = """
import os
import sys
os.environ["AWS_DEFAULT_REGION"] = "eu-central-1"
from equerry.runtime.models import build_model
from equerry.runtime.gateway_settings import StructuredCompletionSettings

class Clients:
    class secrets:
        get_secret_value = staticmethod(lambda SecretId: {{"SecretString": "sk-test"}})

settings = StructuredCompletionSettings(
    equerry_stage="test", model_provider={provider!r}, model_id="m", model_secret_arn="arn:key"
)
build_model(settings, Clients, type("Clock", (), {{"monotonic_s": lambda self: 0.0}})())
vendors = ("anthropic", "httpx2", "boto3", "equerry.adapters.bedrock", "openai", "google.genai")
print(*sorted(name for name in vendors if name in sys.modules))
"""


class Secrets:
    """AWS clients that hold one secret."""

    def __init__(self, text: str) -> None:
        self.secrets = self
        self._text = text

    def get_secret_value(self, *, SecretId: str) -> dict[str, str]:  # noqa: N803  # boto3's name
        assert SecretId == "arn:key"
        return {"SecretString": self._text}


def build(clients: Any = None, **settings: str | None) -> Any:
    found = StructuredCompletionSettings(equerry_stage="test", **settings)  # type: ignore[arg-type]  # a test's brevity
    return build_model(found, clients or AwsClients(), ScriptedClock())


@pytest.mark.parametrize(
    ("provider", "imported"),
    [
        ("extractive", ""),
        ("fixture", ""),
        ("anthropic", "anthropic httpx2"),
        ("openai", "httpx2 openai"),
        ("bedrock", "equerry.adapters.bedrock"),
        ("google", "httpx2"),
    ],
)
def test_the_sdk_of_a_provider_not_chosen_is_never_imported(provider: str, imported: str) -> None:
    script = IMPORTED.format(provider=provider)

    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)

    assert done.stdout.split() == imported.split()


@pytest.mark.parametrize(
    ("provider", "choice"),
    [("extractive", ("embedded", "extractive-1")), ("fixture", ("fixture", "script-1"))],
)
def test_a_provider_without_a_key_needs_nothing_else(provider: str, choice: tuple[str, str]) -> None:
    made = build(model_provider=provider).choice

    assert (made.provider, made.model) == choice


@pytest.mark.parametrize("secret", [f"{KEY}\n", f'{{"apiKey": "{KEY}"}}'])
def test_the_key_is_read_from_its_secret_in_either_form(secret: str) -> None:
    with serve_anthropic() as server:
        server.play(message(text("So.")))
        model = build(
            Secrets(secret),
            model_provider="anthropic",
            model_id="m",
            model_secret_arn="arn:key",
            model_base_url=server.url,
        )
        collect(model, ask())

    assert (model.choice.provider, model.choice.model) == ("anthropic", "m")
    assert server.headers_seen[0]["authorization"] == f"Bearer {KEY}"


def test_a_gemini_model_is_found_with_its_secret_and_its_address() -> None:
    with serve_google() as server:
        server.play(google_events.answer(google_events.text("So.")))
        model = build(
            Secrets(google_server.KEY),
            model_provider="google",
            model_id=google_server.MODEL,
            model_secret_arn="arn:key",
            model_base_url=server.url,
        )
        collect(model, ask())

    assert (model.choice.provider, model.choice.model) == ("google", google_server.MODEL)


@pytest.mark.req("A-CHAT-04")
def test_the_local_command_line_is_no_models_for_everything() -> None:
    with pytest.raises(ValueError, match="MODEL_PROVIDER must be"):
        build(model_provider="codex", model_id="m")


def test_the_local_command_line_is_found_by_its_address(tmp_path: Path) -> None:
    settings = StructuredCompletionSettings(equerry_stage="test", model_base_urls=f"codex={tmp_path}/codex")
    choice = ModelChoice(provider="codex", model="m")

    model = build_adapter(choice, settings, AwsClients(), SystemClock())

    assert model.choice == choice
    with pytest.raises(ModelUnusable):
        collect(model, ask())


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"model_provider": "claude-code"}, "MODEL_PROVIDER must be"),
        ({"model_provider": "anthropic", "model_secret_arn": "arn:key"}, "MODEL_ID"),
        ({"model_provider": "anthropic", "model_id": "m"}, "MODEL_SECRET_ARN"),
    ],
)
def test_a_setting_that_is_wrong_or_missing_is_named(settings: dict[str, str], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        build(**settings)


@pytest.mark.parametrize("secret", ["", "{}", '{"key": "x"}'])
def test_a_secret_without_a_key_is_named(secret: str) -> None:
    with pytest.raises(ValueError, match="MODEL_SECRET_ARN"):
        build(Secrets(secret), model_provider="anthropic", model_id="m", model_secret_arn="arn:key")


def test_only_a_function_with_a_reader_has_a_pace() -> None:
    model = build(model_provider="extractive")

    assert isinstance(model, ExtractiveModelAdapter)
    assert model.word_delay_s == 0
