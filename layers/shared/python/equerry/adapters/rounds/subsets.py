"""Says a JSON Schema 2020-12 with the keywords that a provider knows, and the rest of it in words.

What is left out only widens what fits: every answer that fits the whole schema fits what is sent. Whether an
answer fits is judged against the whole one, elsewhere.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

from equerry.adapters.rounds.conjunctions import merge, merge_conjunctions
from equerry.engine.model import ToolSpec
from equerry.engine.schema_walk import Json, Path, Schema, find_anchors, find_target, list_parts, read_at
from equerry.kernel.kinds import value

MOST_EXPANSIONS = 400
"""How often definitions may be written out where a provider takes no references, and how deep."""
DEEPEST_EXPANSION = 12
LONGEST_NOTE = 1_000
_UNSAID = frozenset({"$anchor", "$comment", "$defs", "$id", "$schema", "$vocabulary", "definitions"})
_NOTE = "It must also satisfy this JSON Schema: "


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Subset:
    """What of JSON Schema a provider knows. None knows conditions, negations or what must hold together.

    Attributes:
        keywords: that are sent.
        root: of those, what may stand in the outermost schema.
        formats: of strings.
        literals: types of the values that may be listed.
        references: whether a definition may be referred to that does not hold itself.
    """

    keywords: frozenset[str]
    root: frozenset[str]
    formats: frozenset[str]
    literals: tuple[type, ...]
    references: bool


def compile_tool(tool: ToolSpec, subset: Subset) -> tuple[str, Json]:
    """Return the tool's description and schema as `subset` has them.

    What the schema lost at its root is added to the description, what it lost further in to those there.
    """
    return _Compiler(dict(tool.input_schema), subset).compile_root(tool.description)


def add_note(description: str, unsaid: Json) -> str:
    """Return the description, with what a schema could not say."""
    if not unsaid:
        return description
    text = json.dumps(unsaid, ensure_ascii=False, sort_keys=True)
    cut = text if len(text) <= LONGEST_NOTE else f"{text[:LONGEST_NOTE]}…"
    return f"{description}\n\n{_NOTE}{cut}".lstrip()


@dataclass(slots=True)
class _Said:
    """What has been said of one schema, and what could not be."""

    kept: Json = field(default_factory=dict)
    unsaid: Json = field(default_factory=dict)


class _Compiler:
    def __init__(self, document: Json, subset: Subset) -> None:
        self._document = document
        self._subset = subset
        self._anchors = find_anchors(document)
        self._names: dict[Path, str] = {}
        self._definitions: dict[str, Json] = {}
        self._open: list[Path] = [()]
        self._expansions = 0

    def compile_root(self, description: str) -> tuple[str, Json]:
        said = self._say(self._document)
        own = said.kept.pop("description", None)
        words = f"{description}\n\n{own}" if own and own != description else description
        said.unsaid |= {name: held for name, held in said.kept.items() if name not in self._subset.root}
        schema = {name: held for name, held in said.kept.items() if name in self._subset.root}
        if self._definitions:
            schema["$defs"] = self._definitions
        return add_note(words, said.unsaid), schema

    def _compile(self, schema: Schema) -> Json | None:
        """Return a schema; None for one that nothing fits."""
        if isinstance(schema, bool):
            return {} if schema else None
        said = self._say(schema)
        if said.unsaid:
            said.kept["description"] = add_note(said.kept.get("description", ""), said.unsaid)
        if "$ref" in said.kept and len(said.kept) > 1:
            # Beside a reference nothing else is read.
            said.kept = {"anyOf": [{"$ref": said.kept.pop("$ref")}], **said.kept}
        return said.kept

    def _say(self, schema: Json) -> _Said:
        opened = len(self._open)
        said = _Said()
        whole, left = merge_conjunctions(self._write_out(schema, said), self._find)
        said.unsaid |= left
        for keyword, held in whole.items():
            self._say_keyword(keyword, held, whole, said)
        del self._open[opened:]
        return said

    def _write_out(self, schema: Json, said: _Said) -> Json:
        """Return the schema with its reference replaced by what it leads to, where it cannot stand."""
        while "$ref" in schema:
            target = self._find_path(schema["$ref"])
            if self._subset.references and not self._is_cyclic(target):
                break
            rest = {keyword: held for keyword, held in schema.items() if keyword != "$ref"}
            written = self._find(schema["$ref"])
            if written is None or isinstance(written, bool):
                said.unsaid["$ref"] = schema["$ref"]
                return rest
            self._open.append(target)
            if left := merge(rest, written):
                rest["allOf"] = [*rest.get("allOf", ()), left]
            schema = rest
        return schema

    def _say_keyword(self, keyword: str, held: Any, whole: Json, said: _Said) -> None:
        if keyword in _UNSAID:
            return
        match keyword:
            case "$ref":
                said.kept["$ref"] = f"#/$defs/{self._name(self._find_path(held))}"
            case "enum" | "const":
                self._say_literals(keyword, held, whole, said)
            case "oneOf" if "anyOf" not in whole:
                self._say_alternatives(held, said)
            case _ if keyword not in self._subset.keywords or self._is_foreign(keyword, held, whole):
                said.unsaid[keyword] = held
            case "anyOf":
                self._say_alternatives(held, said)
            case "required":
                self._say_required(held, whole, said)
            case _:
                self._say_parts(keyword, held, whole, said)

    def _is_foreign(self, keyword: str, held: Any, whole: Json) -> bool:
        """Whether a keyword that is known says here what the provider does not know, or says too much."""
        if keyword == "format":
            return held not in self._subset.formats
        # Without the neighbour that takes some of them, they would be judged by the wrong schema.
        beside = {"additionalProperties": "patternProperties", "items": "prefixItems"}.get(keyword)
        return beside in whole and beside not in self._subset.keywords

    def _say_parts(self, keyword: str, held: Any, whole: Json, said: _Said) -> None:
        match keyword:
            case "properties":
                parts = {name: self._compile(part) for name, part in held.items()}
                said.kept[keyword] = {name: part for name, part in parts.items() if part is not None}
            case "prefixItems":
                said.kept[keyword] = [self._compile(part) or {} for part in held]
            case "items":
                self._say_items(self._compile(held), whole, said)
            case "additionalProperties":
                part = held if isinstance(held, bool) else self._compile(held)
                said.kept[keyword] = part if part or part is False else part is not None
            case _:
                said.kept.setdefault(keyword, held)

    def _say_items(self, part: Json | None, whole: Json, said: _Said) -> None:
        if part is not None:
            said.kept["items"] = part
        else:
            most = len(whole.get("prefixItems", ()))
            said.kept["maxItems"] = min(most, whole.get("maxItems", most))

    def _say_alternatives(self, held: list[Schema], said: _Said) -> None:
        parts = [part for part in map(self._compile, held) if part is not None]
        if parts and all(parts):
            said.kept["anyOf"] = parts

    def _say_required(self, held: list[str], whole: Json, said: _Said) -> None:
        """Providers refuse to hear of a property that is not declared."""
        declared = whole.get("properties", {})
        if known := [name for name in held if declared.get(name, False) is not False]:
            said.kept["required"] = known
        if unknown := [name for name in held if name not in declared]:
            said.unsaid["required"] = unknown

    def _say_literals(self, keyword: str, held: Any, whole: Json, said: _Said) -> None:
        listed = held if keyword == "enum" else [held]
        takes = self._subset.literals
        sayable = [each for each in listed if isinstance(each, takes) and not isinstance(each, bool)]
        if keyword == "const" and "enum" in whole:
            said.unsaid[keyword] = held
        elif len(sayable) == len(listed) and _find_type(sayable):
            said.kept["enum"] = sayable
            said.kept.setdefault("type", _find_type(sayable))
        elif _is_nullable(listed, sayable) and not {"anyOf", "oneOf"} & whole.keys():
            said.kept["anyOf"] = [{"type": _find_type(sayable), "enum": sayable}, {"type": "null"}]
        else:
            said.unsaid[keyword] = held

    def _name(self, target: Path) -> str:
        """Return the target's name among the definitions, which it joins."""
        if target not in self._names:
            wanted = str(target[-1]) if target and target[0] in ("$defs", "definitions") else "part"
            names = (wanted, *self._names.values())
            name = wanted if names.count(wanted) == 1 else _number(wanted, names)
            self._names[target] = name
            self._definitions[name] = self._compile(read_at(self._document, target)) or {}
        return self._names[target]

    def _find(self, reference: str) -> Schema | None:
        """Return what is to be written out for a reference; None where that would not end."""
        target = self._find_path(reference)
        self._expansions += 1
        if target in self._open or len(self._open) > DEEPEST_EXPANSION or self._expansions > MOST_EXPANSIONS:
            return None
        found: Schema | None = read_at(self._document, target)
        return found

    def _find_path(self, reference: str) -> Path:
        target = find_target(reference, self._anchors)
        if target is None:
            raise ValueError("a schema may refer to its own document alone")
        return target

    def _is_cyclic(self, target: Path) -> bool:
        seen: set[Path] = set()
        waiting = [*self._list_references(read_at(self._document, target))]
        while waiting:
            path = waiting.pop()
            if path == target or path == ():
                return True
            if path not in seen:
                seen.add(path)
                waiting += self._list_references(read_at(self._document, path))
        return not target

    def _list_references(self, schema: Schema) -> Iterator[Path]:
        if isinstance(schema, Mapping) and "$ref" in schema:
            yield self._find_path(schema["$ref"])
        for _, part in list_parts(schema):
            yield from self._list_references(part)


def _number(wanted: str, names: tuple[str, ...]) -> str:
    return next(name for number in count(2) if (name := f"{wanted}{number}") not in names)


def _is_nullable(listed: list[Any], sayable: list[Any]) -> bool:
    return bool(_find_type(sayable)) and all(each is None or each in sayable for each in listed)


def _find_type(listed: list[Any]) -> Literal["string", "number"] | None:
    """Return the one type that all of them have."""
    if listed and all(isinstance(each, str) for each in listed):
        return "string"
    numbers = listed and all(isinstance(each, int | float) and not isinstance(each, bool) for each in listed)
    return "number" if numbers else None
