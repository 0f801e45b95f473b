"""A turn between its judgement and its record: what it is judged by, and what is written if it may begin."""

from collections.abc import Callable
from dataclasses import dataclass

from equerry.domain.admission import Admission
from equerry.domain.conversations import Conversation, Run, TranscriptMessage
from equerry.domain.intents import Classification
from equerry.domain.tenancy import Tenancy
from equerry.kernel.kinds import record, result


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class Premises:
    """What one reading of the database says of a turn that wants to begin.

    Attributes:
        tenancy: the organisation's; None if nobody has said anything of it.
        conversation: None if there is none of that id for this person.
    """

    tenancy: Tenancy | None
    conversation: Conversation | None


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedTurn:
    """A turn that may begin.

    Attributes:
        question: carries the context it was asked in.
        classification: what it was taken for; kept with the turn, hit or miss. None where nobody looked.
    """

    run: Run
    question: TranscriptMessage
    admission: Admission
    classification: Classification | None = None


OpenTurn = Callable[[Premises], OpenedTurn]
"""Judges a turn; raises whatever stands against it."""
