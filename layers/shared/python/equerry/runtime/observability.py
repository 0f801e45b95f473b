"""Structured logs: one event name and its fields a line, never a person's words and never a credential."""

import logging
from contextvars import ContextVar
from json import dumps
from typing import Any

from aws_lambda_powertools import Logger

from equerry.domain.redaction import redact_value, scrub_text

_in_use: ContextVar[tuple[str, ...]] = ContextVar("secrets_in_use", default=())


def hold_secrets(*secrets: str) -> None:
    """Have every line from here, in this process, scrubbed of these values; those held before are let go."""
    _in_use.set(tuple(secret for secret in secrets if secret))


def write_line(fields: dict[str, Any]) -> str:
    """Return a log line's JSON, without what is, or looks like, a credential; tracebacks are scrubbed too."""
    return dumps(redact_value(fields, _in_use.get()), ensure_ascii=False, separators=(",", ":"))


class ScrubbingFilter(logging.Filter):
    """Scrubs what libraries log, which does not pass through our own logger."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record in place; always True."""
        record.msg, record.args = scrub_text(record.getMessage(), _in_use.get()), None
        if record.exc_info:
            told = record.exc_text or logging.Formatter().formatException(record.exc_info)
            record.exc_text, record.exc_info = scrub_text(told, _in_use.get()), None
        return True


def scrub_root() -> None:
    """Have everything that reaches the root logger's handlers scrubbed, once."""
    for handler in logging.getLogger().handlers:
        if not any(isinstance(kept, ScrubbingFilter) for kept in handler.filters):
            handler.addFilter(ScrubbingFilter())


logger = Logger(service="equerry", use_rfc3339=True, json_serializer=write_line)
"""Configures the logger `equerry`, which every module's own logger reports to."""
scrub_root()
