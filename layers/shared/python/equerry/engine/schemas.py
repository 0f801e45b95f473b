"""A stranger's JSON Schema: whether it is taken, and whether an answer fits it.

A schema is a program that runs here, so it is bounded before it runs and while it does.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from equerry.engine.schema_bounds import (
    MOST_STEPS,
    SchemaRefused,
    require_bounds,
    require_own,
    require_progress,
    require_shallow,
)
from equerry.engine.schema_walk import NAMED, ONE, SEVERAL, Json

if TYPE_CHECKING:
    from equerry.engine.schema_checks import Check

WRAPPED = "answer"


class AnswerSchema:
    """A schema that was taken. Answers are checked against all of it, whatever a provider understood."""

    def __init__(self, document: Mapping[str, object], check: "Check") -> None:
        self._document = document
        self._check = check

    @property
    def document(self) -> Mapping[str, object]:
        """As it was given."""
        return self._document

    def find_problem(self, answer: object) -> str | None:
        """Return which keyword of the schema `answer` breaks, as a pointer into it; None where it fits.

        It quotes the schema alone: an answer can repeat what it was made from.
        """
        return self._check.find_problem(answer)

    def derive_input(self) -> Mapping[str, object]:
        """Return the schema of a tool that takes such an answer: its input is always an object."""
        if self._takes_objects:
            return self._document
        return {
            "type": "object",
            "properties": {WRAPPED: _rebase(dict(self._document))},
            "required": [WRAPPED],
            "additionalProperties": False,
        }

    def unwrap(self, arguments: Mapping[str, object]) -> object:
        """Return the answer out of the arguments of such a tool."""
        if self._takes_objects or set(arguments) != {WRAPPED}:
            return dict(arguments)
        return arguments[WRAPPED]

    @property
    def _takes_objects(self) -> bool:
        return self._document.get("type") == "object"


def parse_schema(document: object, *, most_steps: int = MOST_STEPS) -> AnswerSchema:
    """Take a schema, and make its check once; `most_steps` bounds what one answer may cost.

    Raises:
        SchemaRefused: it is no JSON Schema 2020-12, refers out of itself, runs in a circle, is too large or
            too deep, or holds a pattern that could take for ever.
    """
    if not isinstance(document, dict):
        raise SchemaRefused("the schema must be a JSON object")
    require_shallow(document)
    # Here and not above: the entry points that take no schema need not pay for it at every cold start.
    from equerry.engine.schema_checks import build_check

    check = build_check(_strip(document), most_steps=most_steps)
    require_bounds(document)
    require_own(document)
    require_progress(document)
    check.require_patterns(document)
    return AnswerSchema(document, check)


def _strip(document: Json) -> Json:
    """Without the names that would let a validator look elsewhere for what they mean."""
    return {keyword: held for keyword, held in document.items() if keyword not in ("$schema", "$id")}


def _rebase(document: Json) -> Json:
    """Return it with pointers as they must be where it stands in another's properties."""
    moved: Json = _move(_strip(document))
    return moved


def _move(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    moved: Json = {}
    for keyword, held in schema.items():
        if keyword == "$ref" and (held == "#" or held.startswith("#/")):
            moved[keyword] = f"#/properties/{WRAPPED}{held[1:]}"
        elif keyword in ONE:
            moved[keyword] = _move(held)
        elif keyword in SEVERAL:
            moved[keyword] = [_move(part) for part in held]
        elif keyword in NAMED:
            moved[keyword] = {name: _move(part) for name, part in held.items()}
        else:
            moved[keyword] = held
    return moved
