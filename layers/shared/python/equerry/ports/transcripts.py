"""Conversations, messages and runs: the truth about what was said."""

from collections.abc import Mapping
from typing import Protocol

from equerry.domain.conversations import (
    Conversation,
    ConversationPlace,
    Run,
    RunEnd,
    TranscriptMessage,
)
from equerry.domain.opening import OpenedTurn, OpenTurn
from equerry.domain.principal import Scope
from equerry.engine.model_choice import ModelChoice
from equerry.kernel.identifiers import ConversationId, ProjectId, RunId


class TranscriptPort(Protocol):
    """Conversations as their creator sees them; anyone else's is NotFound, exactly like an unknown one.

    So is one that holds content of a project its creator does not belong to, until they do again.
    """

    def create_conversation(self, scope: Scope, conversation: Conversation) -> None: ...

    def list_conversations(
        self, scope: Scope, *, limit: int, after: ConversationPlace | None = None
    ) -> tuple[Conversation, ...]:
        """Return the scope's active conversations in the order of `ConversationPlace`, those behind `after`.

        One that changes between two pages moves to the front: it may be missed, and never comes twice.
        """
        ...

    def archive_conversation(self, scope: Scope, conversation_id: ConversationId) -> None:
        """Take a conversation off the list and close it to questions; again is no error.

        Raises:
            NotFound: see the class.
        """
        ...

    def fetch_conversation(self, scope: Scope, conversation_id: ConversationId) -> Conversation:
        """Raises NotFound: see the class."""
        ...

    def list_messages(
        self, scope: Scope, conversation_id: ConversationId, *, limit: int
    ) -> tuple[TranscriptMessage, ...]:
        """Return the last `limit` messages, oldest first; NotFound as above."""
        ...

    def append_turn(self, scope: Scope, conversation_id: ConversationId, open_turn: OpenTurn) -> OpenedTurn:
        """Read what a turn is judged by, have it judged, and write message and queued run: one transaction.

        Touches the conversation, which takes over the question's context and, without a title, a title. It is
        not locked while `open_turn` judges, so that may use every port. Safe to repeat with the same run.
        What the question was taken for is audited in the same transaction.

        Raises:
            Whatever `open_turn` raises: nothing was written.
            ConversationArchived: it was archived meanwhile; nothing was written.
            NotFound: it was there to be judged for nobody of this scope; nothing was written.
            Unavailable: unknown whether it was written.
        """
        ...


class RunPort(Protocol):
    """Runs, written only by whoever holds the conversation's lease.

    They are read as their conversation is, see TranscriptPort. Who keeps runs, a worker or who ends what one
    left, does so whatever projects their creator has left meanwhile.
    """

    def fetch_run(self, scope: Scope, run_id: RunId) -> Run:
        """Raises NotFound: unknown, or not this scope's."""
        ...

    def find_answer(self, scope: Scope, run_id: RunId) -> TranscriptMessage | None:
        """Return the assistant's message of a run that has ended with one."""
        ...

    def start_run(
        self,
        scope: Scope,
        run_id: RunId,
        *,
        profile_version: str,
        model: ModelChoice | None,
        composition: Mapping[str, object] | None = None,
        trace_id: str | None = None,
    ) -> None:
        """Record that the run is running, what it is made of, and one more attempt; not once it has ended.

        Args:
            model: None for an answer that needs none.
            composition: see `RunRecord`.
            trace_id: under which its log lines are found.
        """
        ...

    def mark_provider_started(self, scope: Scope, run_id: RunId) -> None:
        """Record, before the first request leaves, that a provider may be charged for this run."""
        ...

    def mark_projects(self, scope: Scope, run_id: RunId, project_ids: tuple[ProjectId, ...]) -> None:
        """Record that the run's conversation holds content of these projects too; not once the run has ended.

        Called before the content is shown or kept anywhere, so that nothing ever is that the mark lacks.
        """
        ...

    def end_run(self, scope: Scope, run_id: RunId, end: RunEnd) -> bool:
        """Write the answer, the tool actions, the run's end, its record's and its usage in one transaction.

        The conversation's projects are in it as well. A call that began and never reported its end is audited
        now, whoever ends the run.

        Returns False, changing nothing, if the run has already ended.
        """
        ...
