"""Who answers on this machine, as the environment says it."""

import pytest
from equerry.runtime.models import LIVE

from local.errors import BadInput
from local.model import PROVIDERS, read_model

PROVIDER, ID, URL = "EQUERRY_MODEL_PROVIDER", "EQUERRY_MODEL_ID", "EQUERRY_MODEL_BASE_URL"


def test_nobody_else_answers_unless_asked_for_by_name() -> None:
    assert read_model({"ANTHROPIC_API_KEY": "k"}) == {"provider": "extractive"}


@pytest.mark.parametrize("provider", LIVE)
def test_every_provider_of_a_stage_can_be_asked_for_here(provider: str) -> None:
    keys = dict.fromkeys(("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY"), "k")

    chosen = read_model({PROVIDER: provider, ID: "x", URL: "http://127.0.0.1:1/v1", **keys})

    assert chosen == {"provider": provider, "id": "x", "base_url": "http://127.0.0.1:1/v1"}


@pytest.mark.parametrize(
    ("given", "says", "remedy"),
    [
        ({PROVIDER: "foo"}, f"{PROVIDER}=foo is nobody", f"set it to one of {', '.join(PROVIDERS)}"),
        ({ID: "x"}, f"{ID}=x says nothing while extractive answers", f"set {PROVIDER} to one of bedrock, "),
        ({URL: "http://x"}, f"{URL}=http://x says nothing", f"set {PROVIDER} to one of bedrock, "),
        ({PROVIDER: "extractive", ID: "x"}, f"{ID}=x says nothing", f"set {PROVIDER} to one of bedrock, "),
        ({PROVIDER: "bedrock"}, f"{PROVIDER}=bedrock needs {ID}", "set it, or unset"),
        ({PROVIDER: "openai"}, f"{PROVIDER}=openai needs {ID} and OPENAI_API_KEY", "set both, or unset"),
        ({PROVIDER: "openai", ID: "x"}, f"{PROVIDER}=openai needs OPENAI_API_KEY", "set it, or unset"),
        ({PROVIDER: "bedrock", ID: "x", URL: "host"}, f"{URL}=host is no address", "https://host"),
    ],
)
def test_what_names_nobody_is_told_by_variable_value_and_what_would_do(
    given: dict[str, str], says: str, remedy: str
) -> None:
    with pytest.raises(BadInput) as caught:
        read_model(given)

    assert says in str(caught.value)
    assert remedy in caught.value.remedy
