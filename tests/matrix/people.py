"""The cast: who asks, for whose things, and how the two stand to each other."""

from dataclasses import dataclass
from enum import Enum
from typing import Literal
from uuid import uuid4

_SESSION = uuid4().hex[:6]
"""Erasing a person, for one, is for good, and a stack may be kept."""
HERE, ELSEWHERE = f"hillside-{_SESSION}", f"harbour-{_SESSION}"
APOLLO = "apollo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody of the cast. Administrators wherever the relation allows: nobody may do more."""

    name: str
    organisation: str = HERE
    role: Literal["member", "admin"] = "admin"
    projects: tuple[str, ...] = ()

    @property
    def reader_key(self) -> str:
        """Under which their document is: theirs alone, or their project's."""
        return f"project:{self.projects[0]}" if self.projects else f"user:{self.name}"


ANNA = Person(name=f"anna-{_SESSION}")
BERT = Person(name=f"bert-{_SESSION}", role="member")
LEO = Person(name=f"leo-{_SESSION}", projects=(APOLLO,))
ROSA = Person(name=f"rosa-{_SESSION}", projects=(APOLLO,))
VERA = Person(name=f"vera-{_SESSION}")
NILS = Person(name=f"nils-{_SESSION}", organisation=ELSEWHERE)
CAST = (ANNA, BERT, LEO, ROSA, VERA, NILS)


class Relation(Enum):
    """Whose the named thing is, to whoever asks; the first two may find it, the last is no id."""

    OWN = "your own"
    RETURNED = "your own, of a project you have come back to"
    LEFT = "your own, of a project you have left"
    COLLEAGUE = "a colleague's"
    COLLEAGUE_ADMIN = "a colleague's, you an administrator"
    STRANGER = "another tenant's"
    ERASED = "your own, before you were erased"
    UNKNOWN = "nobody's"
    MALFORMED = "no id at all"

    @property
    def asker(self) -> Person:
        """Who asks."""
        return _ASKERS.get(self, ANNA)

    @property
    def owner(self) -> Person | None:
        """Whose thing they name; None where there is no thing."""
        return _OWNERS.get(self)


_ASKERS = {Relation.RETURNED: ROSA, Relation.LEFT: LEO, Relation.COLLEAGUE: BERT, Relation.ERASED: VERA}
_OWNERS = {
    Relation.OWN: ANNA,
    Relation.RETURNED: ROSA,
    Relation.LEFT: LEO,
    Relation.COLLEAGUE: ANNA,
    Relation.COLLEAGUE_ADMIN: BERT,
    Relation.STRANGER: NILS,
    Relation.ERASED: VERA,
}
