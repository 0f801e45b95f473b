"""Who answers on this machine: the embedded responder, or a live provider whose key the environment holds."""

from collections.abc import Mapping

from local.aws import Session
from local.errors import LocalError

SECRET_NAME = "equerry-local-model-key"
KEYS = {"anthropic": "ANTHROPIC_API_KEY", "google": "GEMINI_API_KEY", "openai": "OPENAI_API_KEY"}


def choose_model(environ: Mapping[str, str], session: Session) -> dict[str, str]:
    """Read EQUERRY_MODEL_PROVIDER, _ID and _BASE_URL; keep the provider's key as an emulated secret.

    A key that merely lies in the environment changes nothing: spending money is asked for by name.

    Raises:
        LocalError: a live provider is asked for without its model or key.
    """
    provider = environ.get("EQUERRY_MODEL_PROVIDER") or "extractive"
    chosen = {"provider": provider}
    for name in ("id", "base_url"):
        text = environ.get(f"EQUERRY_MODEL_{name.upper()}")
        if text:
            chosen[name] = text
    variable = KEYS.get(provider)
    if variable is None:
        return chosen
    key = environ.get(variable)
    if not key or "id" not in chosen:
        raise LocalError(
            f"EQUERRY_MODEL_PROVIDER={provider} needs EQUERRY_MODEL_ID and {variable}",
            "set both, or unset it",
        )
    return chosen | {"secret_arn": _keep(session, key)}


def _keep(session: Session, key: str) -> str:
    secrets = session.secrets
    try:
        return secrets.create_secret(Name=SECRET_NAME, SecretString=key)["ARN"]
    except secrets.exceptions.ResourceExistsException:
        return secrets.put_secret_value(SecretId=SECRET_NAME, SecretString=key)["ARN"]
