"""What is left outside the database of rows that went, and the stores it lies in."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from equerry.kernel.kinds import record

DisposalKind = Literal["conversation", "run", "document", "person", "organisation"]


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class Disposal:
    """One thing whose remains are to go.

    Attributes:
        organisation_id: whose it was; blank for a person in all of them.
        user_id: whose; blank for an organisation.
        thing_id: the conversation, the run, or `corpus/document`.
        due_at: since when it may go; a document that came after that is another.
    """

    disposal_id: int
    kind: DisposalKind
    organisation_id: str
    user_id: str = ""
    thing_id: str = ""
    due_at: datetime | None = None


class DisposalPort(Protocol):
    """What is still to be disposed of."""

    def list_due(
        self, *, now: datetime, limit: int, organisation_id: str | None = None, user_id: str | None = None
    ) -> tuple[Disposal, ...]:
        """Return what is due, an organisation and a person at a time; of one alone, if it is named.

        An organisation as a whole is never among them: it goes only by its purge, which has just asked for
        its status.
        A document that was announced again before its note was due is not either, until that one has gone.
        """
        ...

    def forget_covered(self, organisation_id: str, *, now: datetime) -> None:
        """Forget what is due of an organisation but its runs: all that it had in other stores is gone."""
        ...

    def finish(self, disposals: Sequence[Disposal]) -> None:
        """Forget these: their remains are gone. Done before is not an error."""
        ...


class RemainsPort(Protocol):
    """A store that holds something of what went."""

    def dispose(self, disposals: Sequence[Disposal]) -> int:
        """Remove all that these left here, versions of it too, and say how many things that was.

        What is not there is not an error, so that it can be repeated from the beginning.
        """
        ...
