"""What is answered to whom: a rule for each kind of id, and which kind each slot holds.

A slot that is not declared here fails the matrix, until somebody says whose ids it takes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from tests.matrix.people import Relation
from tests.matrix.slots import Slot, list_slots

OWNERS = frozenset({Relation.OWN, Relation.RETURNED})
ORGANISATION = OWNERS | {Relation.COLLEAGUE_ADMIN, Relation.LEFT}
WELL_FORMED = frozenset(Relation) - {Relation.MALFORMED}


class Outcome(Enum):
    """What an answer says."""

    SUCCESS = "success"
    NOTHING = "an empty success"
    HIDDEN = "not_found"
    ROLE = "admin_required"
    MALFORMED = "invalid_request"

    @property
    def is_hidden(self) -> bool:
        """Whether nothing may tell it from the answer to an id that was never issued."""
        return self in (Outcome.HIDDEN, Outcome.NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What an id is the id of.

    Attributes:
        shown: for whom it is there.
        otherwise: what everybody else is answered.
        told: for the page, one sentence.
    """

    name: str
    told: str
    shown: frozenset[Relation] = OWNERS
    otherwise: Outcome = Outcome.HIDDEN


PRIVATE = Kind(
    name="private",
    told="There for its creator alone, while they are in every project it holds content of. An administrator"
    " is no exception.",
)
RECORD = Kind(
    name="record",
    told="Without what was said: there for the creator, and for administrators of the organisation who are"
    " in the same projects.",
    shown=OWNERS | {Relation.COLLEAGUE_ADMIN},
)
SELECTION = Kind(
    name="selection",
    told="Picks from the records that the administrator may read; an id that picks nothing is no failure.",
    shown=RECORD.shown,
    otherwise=Outcome.NOTHING,
)
PASSAGE = Kind(name="passage", told="There for who holds one of its document's reader keys.")
DOCUMENT = Kind(
    name="document",
    told="The organisation's: its administrators list and withdraw what they may not read themselves.",
    shown=ORGANISATION,
)
CORPUS = Kind(
    name="corpus",
    told="A name in the asking organisation's own list; the same name elsewhere is another corpus.",
    shown=ORGANISATION | {Relation.ERASED},
)
NEW_NAME = Kind(
    name="new name",
    told="A name in the asking organisation's own list, made on first use; the same name elsewhere is"
    " another corpus, and is not touched.",
    shown=WELL_FORMED,
)
SILENT = Kind(name="silent", told="Answered to nobody: not listening is no failure.", shown=WELL_FORMED)

DECLARED: Mapping[str, Kind] = {
    "getConversation.conversationId": PRIVATE,
    "archiveConversation.conversationId": PRIVATE,
    "submitTurn.conversationId": PRIVATE,
    "listArtifacts.conversationId": PRIVATE,
    "getArtifact.conversationId": PRIVATE,
    "getArtifact.artifactId": PRIVATE,
    "recordInteraction.conversationId": PRIVATE,
    "recordInteraction.runId": PRIVATE,
    "getRun.runId": PRIVATE,
    "listEnvelopes.runId": PRIVATE,
    "followRun.runId": PRIVATE,
    "cancelRun.runId": PRIVATE,
    "getRunRecord.runId": RECORD,
    "listRunRecords.runIds": SELECTION,
    "getPassage.passageId": PASSAGE,
    "listDocuments.corpusId": CORPUS,
    "announceFiles.corpusId": NEW_NAME,
    "deleteDocument.corpusId": DOCUMENT,
    "deleteDocument.documentId": DOCUMENT,
    "subscribe.conversationId": PRIVATE,
    "subscribe.runId": PRIVATE,
    "resume.conversationId": PRIVATE,
    "resume.runId": PRIVATE,
    "unsubscribe.conversationId": SILENT,
}
"""Slot to what its ids are ids of."""

NO_IDS: Mapping[str, str] = {
    "followRun.Last-Event-ID": "a position in the stream, counted from 1",
    "createConversation.projectId": "a page's hint, never looked up: text to the assistant, and no right",
    "createConversation.estimateId": "a hint, likewise",
    "submitTurn.projectId": "a hint, likewise",
    "submitTurn.estimateId": "a hint, likewise",
}
"""Slots that are named like ids and name nothing of ours, each with what it is."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One field of the matrix."""

    slot: Slot
    relation: Relation

    @property
    def kind(self) -> Kind:
        """What the slot's ids are ids of."""
        return DECLARED[self.slot.key]

    @property
    def expected(self) -> Outcome:
        """What has to be answered, by the rule of the kind."""
        if self.relation is Relation.MALFORMED:
            return Outcome.MALFORMED
        if self.slot.needs_admin and self.relation.asker.role != "admin":
            return Outcome.ROLE
        return Outcome.SUCCESS if self.relation in self.kind.shown else self.kind.otherwise

    @property
    def status(self) -> int:
        """The expected outcome's status."""
        refused = {Outcome.MALFORMED: 400, Outcome.ROLE: 403, Outcome.HIDDEN: 404}
        return refused.get(self.expected, self.slot.success)

    @property
    def unknown(self) -> "Cell":
        """The same question for an id that was never issued."""
        return Cell(self.slot, Relation.UNKNOWN)

    def __str__(self) -> str:
        return f"{self.slot.key}-{self.relation.name.lower()}"


def list_cells() -> tuple[Cell, ...]:
    """Return the matrix. What may change something comes last, and of each half what has to be waited for."""
    cells = [Cell(slot, relation) for slot in list_slots() if slot.key in DECLARED for relation in Relation]
    awaited = (Relation.LEFT, Relation.RETURNED)
    return tuple(sorted(cells, key=lambda cell: (cell.expected is Outcome.SUCCESS, cell.relation in awaited)))
