"""No setting lets a request past verification, and without the issuer's keys nothing starts that verifies."""

import ast
from dataclasses import MISSING, fields

import pytest
from equerry.runtime.environment import MissingSetting
from equerry.runtime.http import build_http_app
from equerry.runtime.settings import HttpSettings

from local.places import ROOT

LAYER = ROOT / "layers" / "shared" / "python" / "equerry"


def build_environment(**changed: str) -> dict[str, str]:
    required = {f.name.upper(): "https://x.invalid" for f in fields(HttpSettings) if f.default is MISSING}
    return required | changed


@pytest.mark.req("A-AUTH-04")
@pytest.mark.parametrize("url", [None, "", " ", "\t\n", "keys", "http://login.example.com/keys"])
def test_without_the_address_of_the_keys_nothing_is_built(url: str | None) -> None:
    environ = build_environment(AUTH_JWKS_URL=url or "")
    if url is None:
        del environ["AUTH_JWKS_URL"]

    # No AWS stands by: whatever were wired before would fail in another way.
    with pytest.raises((MissingSetting, ValueError), match="AUTH_JWKS_URL"):
        build_http_app(environ)


@pytest.mark.req("A-AUTH-03")
def test_identity_has_three_settings_and_none_of_them_switches_it_off() -> None:
    settings = {field.name for field in fields(HttpSettings)}

    assert {name for name in settings if "auth" in name} == {"auth_jwks_url", "auth_issuer", "auth_audience"}
    words = ("verif", "enforce", "insecure", "anonymous", "bypass", "secret_key", "hmac")
    assert not [name for name in settings if any(word in name for word in words)]


@pytest.mark.req("A-AUTH-12")
def test_tokens_are_read_in_one_place_and_nowhere_a_second_time() -> None:
    readers = {
        path.relative_to(LAYER).parts[:2]
        for path in LAYER.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Import) and any(alias.name == "jwt" for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and node.module == "jwt")
    }

    assert readers == {("adapters", "jwt")}
