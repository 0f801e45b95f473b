"""Why a tool call fails; apart from the tools, because a record of a call runs none."""

from typing import Literal

ToolFailure = Literal[
    "unknown_tool", "invalid_arguments", "failed", "skipped", "unfinished", "outcome_unknown"
]
"""Why a call did not do what was asked.

unknown_tool       there is no such tool in this turn
invalid_arguments  it was not run: its arguments do not fit
failed             it ran, and did not work
skipped            it was not run: the turn was stopped, or had used all its calls
unfinished         a read that was left running when the turn was stopped
outcome_unknown    a write that was left running: it may have taken effect
"""
