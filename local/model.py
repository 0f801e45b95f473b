"""Who answers on this machine: the embedded responder, or a live provider whose key the environment holds."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from local.errors import BadInput

if TYPE_CHECKING:
    from local.aws import Session

SECRET_NAME = "equerry-local-model-key"
KEYS = {"anthropic": "ANTHROPIC_API_KEY", "google": "GEMINI_API_KEY", "openai": "OPENAI_API_KEY"}
PREFIX = "EQUERRY_MODEL_"
NAMES = ("provider", "id", "base_url")
EMBEDDED = "extractive"
WITHOUT_MODEL = (EMBEDDED, "fixture")
PROVIDERS = (*WITHOUT_MODEL, "bedrock", *KEYS)
ADDRESS = re.compile(r"https?://[^\s]+")


def read_model(environ: Mapping[str, str]) -> dict[str, str]:
    """Read EQUERRY_MODEL_PROVIDER, _ID and _BASE_URL.

    Raises:
        BadInput: they name nobody who could be asked; says which variable, and what would do.
    """
    given = {
        name: environ[f"{PREFIX}{name.upper()}"] for name in NAMES if environ.get(f"{PREFIX}{name.upper()}")
    }
    provider = given.setdefault("provider", EMBEDDED)
    if provider not in PROVIDERS:
        raise BadInput(
            f"{PREFIX}PROVIDER={provider} is nobody who could answer",
            f"set it to one of {', '.join(PROVIDERS)}",
        )
    if provider in WITHOUT_MODEL:
        _require_nothing_more(given)
    else:
        _require_whole(given, environ)
    return given


def choose_model(environ: Mapping[str, str], session: "Session") -> dict[str, str]:
    """Read who answers; keep the provider's key as an emulated secret.

    A key that merely lies in the environment changes nothing: spending money is asked for by name.

    Raises:
        BadInput: they name nobody who could be asked, or a live provider without its model or key.
    """
    chosen = read_model(environ)
    variable = KEYS.get(chosen["provider"])
    if variable is None:
        return chosen
    return chosen | {"secret_arn": _keep(session, environ[variable])}


def _require_nothing_more(given: Mapping[str, str]) -> None:
    idle = [name for name in NAMES if name in given and name != "provider"]
    if idle:
        variable, live = f"{PREFIX}{idle[0].upper()}", PROVIDERS[len(WITHOUT_MODEL) :]
        raise BadInput(
            f"{variable}={given[idle[0]]} says nothing while {given['provider']} answers",
            f"set {PREFIX}PROVIDER to one of {', '.join(live)}, or unset {variable}",
        )


def _require_whole(given: Mapping[str, str], environ: Mapping[str, str]) -> None:
    provider = given["provider"]
    needed = [f"{PREFIX}ID", *([KEYS[provider]] if provider in KEYS else [])]
    missing = [variable for variable in needed if not environ.get(variable)]
    if missing:
        raise BadInput(
            f"{PREFIX}PROVIDER={provider} needs {' and '.join(missing)}",
            f"set {'it' if len(missing) == 1 else 'both'}, or unset {PREFIX}PROVIDER",
        )
    address = given.get("base_url")
    if address is not None and ADDRESS.fullmatch(address) is None:
        raise BadInput(f"{PREFIX}BASE_URL={address} is no address", "give it as https://host/path")


def _keep(session: "Session", key: str) -> str:
    secrets = session.secrets
    try:
        return secrets.create_secret(Name=SECRET_NAME, SecretString=key)["ARN"]
    except secrets.exceptions.ResourceExistsException:
        return secrets.put_secret_value(SecretId=SECRET_NAME, SecretString=key)["ARN"]
