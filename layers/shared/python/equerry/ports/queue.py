"""The queue of accepted runs."""

from typing import Protocol

from equerry.kernel.identifiers import ConversationId, RunId


class QueuePort(Protocol):
    """Runs wait here, in order within a conversation; a message names the run and nothing else."""

    def enqueue_run(self, run_id: RunId, conversation_id: ConversationId) -> None:
        """Hand a run to the workers; repeating it within five minutes delivers it once."""
        ...

    def hide_message(self, receipt: str, *, seconds: int) -> None:
        """Hide a message for `seconds` from now while it is worked on; a stale receipt is ignored."""
        ...
