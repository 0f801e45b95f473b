"""The table of limits for the documents, from the one table that functions read."""

import inspect
import re

from equerry.domain.limits import TurnLimits
from equerry.runtime.settings import LIMITS, limit_variable

_HEAD = """\
# Limits

What a turn, a person and an organisation may use. `[turns]` in a stage's file states a limit by its name; a
function reads it from its variable; what neither states is the override's ([operate.md](operate.md#limits)),
else the default.

This page is written by `make types`; an edit here is undone by the next run.

| Limit | Default | Variable | What it bounds |
|---|--:|---|---|
"""


def write_limits() -> str:
    """Return the page."""
    meanings, defaults = _read_meanings(), TurnLimits()
    rows = (
        f"| `{name}` | {getattr(defaults, name):,} | `{limit_variable(name).upper()}` | {meanings[name]} |"
        for name in LIMITS
    )
    return _HEAD + "\n".join(rows) + "\n"


def _read_meanings() -> dict[str, str]:
    """Return what the docstring says of each limit, in one line."""
    text = inspect.getdoc(TurnLimits) or ""
    _, _, attributes = text.partition("Attributes:\n")
    found = re.findall(r"^    (\w+): (.+(?:\n        .+)*)", attributes, re.MULTILINE)
    return {name: " ".join(words.split()).rstrip(".") for name, words in found}
