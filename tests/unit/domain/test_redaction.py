"""Nothing that is, or looks like, a credential is ever kept."""

import json
from base64 import urlsafe_b64encode

import pytest
from equerry.domain.redaction import REDACTED, is_credential_name, redact_arguments, redact_value, scrub_text
from hypothesis import given
from hypothesis import strategies as st

CANARY = "canary-0f9e8d7c6b5a"


def _segment(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


JWT = ".".join(
    (_segment('{"alg":"EdDSA","kid":"k1"}'), _segment('{"sub":"ada","org":"acme"}'), "c2lnbmF0dXJl")
)
SHAPED = (
    JWT,
    f"Bearer {CANARY}",
    f"bearer   {CANARY}",
    "sk-ant-api03-" + "A1b2C3d4" * 4,
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "ghp_" + "a1B2c3D4e5" * 3,
    "xoxb-" + "1234567890-abcdef",
    "AIza" + "SyA1b2C3d4" * 4,
    "sk_live_" + "a1b2c3d4e5f6",
    "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----",
)
SECRET_NAMES = (
    "password",
    "apiKey",
    "api_key",
    "API-KEY",
    "clientSecret",
    "Authorization",
    "set-cookie",
    "sessionToken",
    "privateKey",
    "aws_secret_access_key",
    "dbPassword",
    "refresh_tokens",
    "x-api-key",
)
HARMLESS_NAMES = (
    "query",
    "keyword",
    "monkey",
    "gen_ai.provider.name",
    "tool",
    "author",
    "pinned",
    "secretary",
    "primary_key",
)
_plain = st.text(alphabet="abcdefghij ", max_size=8)
_leaves = st.none() | st.booleans() | st.integers() | _plain


def _plant(secret: str) -> st.SearchStrategy[object]:
    """Nested JSON in which `secret` stands under credential-like names, as whole values and inside texts."""
    names = st.sampled_from(SECRET_NAMES)
    carried: st.SearchStrategy[object] = names.map(lambda name: {name: secret})
    carried |= names.map(lambda name: {name: [{"deep": [secret]}]})
    return st.recursive(
        _leaves | carried,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_plain, inner, max_size=4),
        max_leaves=25,
    )


@pytest.mark.req("A-RED-01")
@given(_plant(CANARY))
def test_what_stands_under_a_credential_like_name_never_leaks_however_deep(planted: object) -> None:
    assert CANARY not in json.dumps(redact_value(planted))
    assert CANARY not in json.dumps(redact_arguments({"given": planted}))


@pytest.mark.req("A-RED-02", "A-RED-03")
@given(st.sampled_from(SHAPED), _plain, _plain, st.integers(0, 6))
def test_a_credential_inside_a_larger_text_never_leaks(
    shaped: str, before: str, after: str, depth: int
) -> None:
    planted: object = f"{before} {shaped} {after}"
    for level in range(depth):
        planted = {"entry": planted} if level % 2 else [planted]

    assert shaped.split()[-1] not in json.dumps(redact_value(planted))


@pytest.mark.req("A-RED-02")
@given(_plain, _plain)
def test_the_value_in_use_is_scrubbed_wherever_it_is_embedded(before: str, after: str) -> None:
    opaque = "opaque.value_that-has/no=shape"

    shown = redact_value({"detail": [f"{before}{opaque}{after}"], opaque: 1}, [opaque])

    assert opaque not in json.dumps(shown)
    assert REDACTED in json.dumps(shown)


@pytest.mark.req("A-RED-03")
@pytest.mark.parametrize("shaped", SHAPED)
def test_shapes_are_removed_and_the_rest_of_the_text_stays(shaped: str) -> None:
    shown = scrub_text(f"sent {shaped} and failed")

    assert shown.startswith("sent ")
    assert shown.endswith(" and failed")
    assert shaped not in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("GET /x?ticket=abcdef123456&after=3", f"GET /x?ticket={REDACTED}&after=3"),
        ("postgresql://runtime:s3cret@db:5432/x", f"postgresql://{REDACTED}@db:5432/x"),
        ('password="hunter22" refused', f'password="{REDACTED}" refused'),
        ("X-Amz-Signature=0123456789abcdef&x=1", f"X-Amz-Signature={REDACTED}&x=1"),
        ("the keyboard of monkeybusiness.com/about", "the keyboard of monkeybusiness.com/about"),
        ("equerry.adapters.postgres.connections failed", "equerry.adapters.postgres.connections failed"),
    ],
)
def test_what_a_driver_says_loses_its_secrets_and_nothing_else(text: str, shown: str) -> None:
    assert scrub_text(text) == shown


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_credential_like_name_is_known_in_every_spelling(name: str) -> None:
    assert is_credential_name(name)


@pytest.mark.parametrize("name", HARMLESS_NAMES)
def test_an_ordinary_name_is_not_taken_for_one(name: str) -> None:
    assert not is_credential_name(name)


def test_counted_tokens_are_amounts_and_switches_are_no_secrets() -> None:
    line = {"gen_ai.usage.input_tokens": 12, "tokens": ["a-secret-one"], "token": "t", "hasPassword": True}

    assert redact_value(line) == {
        "gen_ai.usage.input_tokens": 12,
        "tokens": REDACTED,
        "token": REDACTED,
        "hasPassword": True,
    }


def test_the_shape_of_arguments_holds_no_words() -> None:
    arguments = {"query": "my salary", "limit": 3, "filter": {"authors": ["Zoe"], "password": "x"}}

    assert redact_arguments(arguments) == {
        "query": "text of 9 characters",
        "limit": 3,
        "filter": {"authors": ["text of 3 characters"], "password": REDACTED},
    }


def test_data_nested_deeper_than_any_of_ours_is_redacted_and_breaks_nothing() -> None:
    planted: object = CANARY
    for _ in range(2_000):
        planted = [planted]

    assert CANARY not in str(redact_value(planted))
    assert CANARY not in str(redact_arguments({"x": planted}))
