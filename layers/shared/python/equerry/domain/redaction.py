"""What may be kept of what people and tools handed us: never a credential, in the audit never their words."""

import re
from collections.abc import Mapping, Sequence

REDACTED = "[redacted]"
_MAX_DEPTH = 32
"""Deeper than anything we write; what lies below is redacted whole."""
_MAX_NAME_CHARS = 64
_LEAST_SECRET_CHARS = 8
"""A shorter value is no credential of ours, and replacing it everywhere would garble what is left."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_CREDENTIALS = frozenset(
    (
        *("apikey", "auth", "authorisation", "authorization", "bearer", "cookie", "cookies", "credential"),
        *("credentials", "jwt", "otp", "passphrase", "passwd", "password", "passwords", "pin", "pwd"),
        *("secret", "secrets", "signature", "ticket", "token", "tokens"),
    )
)
_KEYS_OF = frozenset(
    (
        *("access", "account", "api", "client", "encryption", "host", "master", "private", "secret"),
        *("service", "session", "shared", "signing", "ssh"),
    )
)
"""A key is a credential where one of these stands before it."""
_COUNTED = "tokens"
"""The one word that names credentials as often as an amount; a number under it is an amount."""

_WHOLE = re.compile(
    # a JSON Web Token, signed or encrypted: its header begins with `{"`, or with white space in between
    r"e(?:yJ|yA|wo|w0)[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{4,})(?:\.[A-Za-z0-9_-]*){0,3}"
    # keys by the marks their issuers put on them
    r"|\bsk-[A-Za-z0-9_-]{16,}"
    r"|\b[rsp]k_(?:live|test)_[A-Za-z0-9]{10,}"
    r"|(?:A3T[A-Z0-9]|AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{16}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}"
    r"|\bgithub_pat_[A-Za-z0-9_]{20,}"
    r"|\bglpat-[A-Za-z0-9_-]{16,}"
    r"|\bxox[abposr]-[A-Za-z0-9-]{10,}"
    r"|\bAIza[A-Za-z0-9_-]{30,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_AFTER = re.compile(
    # what follows a word that announces it: the word stays, so that a line still says what it was
    r"(?P<word>\bbearer\s+)(?P<secret>[A-Za-z0-9._~+/=-]{6,})"
    r"|(?P<name>\b(?:password|passwd|pwd|secret|token|ticket|api[_-]?key|access[_-]?key|x-amz-[a-z-]+|signature)"
    r"[\"']?\s*[=:]\s*[\"']?)(?P<given>[^\s\"'&,;]{4,})"
    r"|(?P<scheme>[a-z][a-z0-9+.-]*://)(?P<login>[^\s/@:]+:[^\s/@]+)(?=@)",
    re.IGNORECASE,
)


def redact_arguments(arguments: Mapping[str, object]) -> dict[str, object]:
    """Return the shape of a tool's arguments: texts by their length, numbers and switches as they are.

    What stands under a credential-like name is redacted whole, at any depth.
    """
    shaped = _shape(arguments, 0)
    return shaped if isinstance(shaped, dict) else {}


def redact_value(value: object, secrets: Sequence[str] = ()) -> object:
    """Return JSON-like data without anything that is, or looks like, a credential.

    Args:
        value: whatever was to be written; what JSON does not know becomes text.
        secrets: values known to be secret, scrubbed wherever they stand.
    """
    return _redact(value, secrets, 0)


def scrub_text(text: str, secrets: Sequence[str] = ()) -> str:
    """Return a text without the given secrets, JSON Web Tokens, `Bearer` values and keys of known shapes."""
    for secret in secrets:
        if len(secret) >= _LEAST_SECRET_CHARS:
            text = text.replace(secret, REDACTED)
    return _AFTER.sub(_keep_word, _WHOLE.sub(REDACTED, text))


def is_credential_name(name: str) -> bool:
    """Whether what stands under this name is to be taken for a credential."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not _CREDENTIALS.isdisjoint(words):
        return True
    return any(word in ("key", "keys") and words[at - 1] in _KEYS_OF for at, word in enumerate(words) if at)


def _keep_word(found: re.Match[str]) -> str:
    return f"{found['word'] or found['name'] or found['scheme']}{REDACTED}"


def _is_secret(name: str, entry: object) -> bool:
    if entry is None or not is_credential_name(name):
        return False
    counted = isinstance(entry, int | float) and _COUNTED in name.lower()
    return not (counted or isinstance(entry, bool))


def _redact(value: object, secrets: Sequence[str], depth: int) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return scrub_text(value, secrets)
    if depth >= _MAX_DEPTH:
        return REDACTED
    if isinstance(value, Mapping):
        return {
            scrub_text(str(name), secrets): (
                REDACTED if _is_secret(str(name), entry) else _redact(entry, secrets, depth + 1)
            )
            for name, entry in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_redact(entry, secrets, depth + 1) for entry in value]
    return scrub_text(str(value), secrets)


def _shape(value: object, depth: int) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return f"text of {len(value)} characters"
    if depth >= _MAX_DEPTH:
        return REDACTED
    if isinstance(value, Mapping):
        return {
            scrub_text(str(name))[:_MAX_NAME_CHARS]: (
                REDACTED if _is_secret(str(name), entry) else _shape(entry, depth + 1)
            )
            for name, entry in value.items()
        }
    if isinstance(value, list | tuple):
        return [_shape(entry, depth + 1) for entry in value]
    return type(value).__name__
