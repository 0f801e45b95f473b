"""Where a run is executed: one predicate for every entry point."""

from equerry.channel.events import ExecutionMode


def choose_mode() -> tuple[ExecutionMode, str]:
    """Return how to execute a run, and why, for the run's record."""
    return "queued", "needs_model"
