"""The strict subset of JSON Schema, in which the API promises that an answer fits.

Every object is closed and requires all it has, so what may be absent is null there, and is taken out again. A
schema that would lose answers this way is not said strictly at all; one that merely leaves open whether an
object may hold more than it declares is taken at its word and closed.
"""

from dataclasses import dataclass
from typing import Any

from equerry.adapters.rounds.subsets import add_note
from equerry.engine.model import ToolSpec
from equerry.engine.schema_walk import Json, Path, Schema, find_target, list_schemas, read_at
from equerry.kernel.kinds import value

FORMATS = frozenset({"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"})
MOST_PROPERTIES = 5_000
MOST_LEVELS = 10
MOST_LITERALS = 1_000
MOST_CHARACTERS = 120_000
MOST_HOPS = 64
_PLAIN = frozenset(
    {
        "description",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maxItems",
        "maximum",
        "minItems",
        "minimum",
        "multipleOf",
        "pattern",
        "title",
    }
)
_SHAPES = frozenset({"$ref", "anyOf", "const", "enum", "oneOf", "type"})
_OPEN = frozenset(
    {"allOf", "dependentSchemas", "else", "if", "patternProperties", "prefixItems", "propertyNames", "then"}
)
"""What can describe properties and items that the strict subset cannot declare."""
_HANDLED = frozenset(
    {"$defs", "additionalProperties", "format", "items", "properties", "required", *_SHAPES, *_OPEN}
)
_UNSAID = frozenset({"$anchor", "$comment", "$id", "$schema"})
_SCALARS = frozenset({"boolean", "integer", "null", "number", "string"})


class _NotStrict(Exception):
    """The subset cannot say it."""


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class StrictForm:
    """A tool in the strict subset.

    Attributes:
        absent: where in the schema a property is whose null says that it is not there.
    """

    description: str
    schema: Json
    absent: frozenset[Path]

    def restore(self, arguments: Json) -> Json:
        """Return an answer in the caller's terms: without the nulls that stand for nothing."""
        restored: Json = self._restore(arguments, self.schema, (), _build_validator(self.schema))
        return restored

    def _restore(self, held: Any, schema: Json, path: Path, judge: Any) -> Any:
        schema, path = self._follow(held, schema, path, judge)
        if isinstance(held, dict):
            declared = schema.get("properties", {})
            return {
                name: self._restore(part, declared[name], (*path, "properties", name), judge)
                if name in declared
                else part
                for name, part in held.items()
                if part is not None or (*path, "properties", name) not in self.absent
            }
        if isinstance(held, list) and "items" in schema:
            return [self._restore(part, schema["items"], (*path, "items"), judge) for part in held]
        return held

    def _follow(self, held: Any, schema: Json, path: Path, judge: Any) -> tuple[Json, Path]:
        """Go through references and alternatives to the schema that `held` was written by."""
        for _ in range(MOST_HOPS):
            if "$ref" in schema:
                path = find_target(schema["$ref"], {}) or ()
                schema = read_at(self.schema, path)
            elif "anyOf" in schema:
                parts = enumerate(schema["anyOf"])
                place = next(
                    (place for place, part in parts if judge.evolve(schema=part).is_valid(held)), None
                )
                if place is None:
                    break
                schema, path = schema["anyOf"][place], (*path, "anyOf", place)
            else:
                break
        return schema, path


def _build_validator(schema: Json) -> Any:
    """Return what tells alternatives apart; not by patterns, which may take for ever here."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import create
    from referencing import Registry

    keywords = {name: check for name, check in Draft202012Validator.VALIDATORS.items() if name != "pattern"}
    make: Any = create
    judge = make(Draft202012Validator.META_SCHEMA, keywords, type_checker=Draft202012Validator.TYPE_CHECKER)
    return judge(schema, registry=Registry())


def compile_strict(tool: ToolSpec) -> StrictForm | None:
    """Return the tool in the strict subset; None for one that the subset cannot say."""
    try:
        compiler = _Compiler()
        schema, unsaid = compiler.compile_root(dict(tool.input_schema))
        _require_bounds(schema)
    except _NotStrict:
        return None
    return StrictForm(
        description=add_note(tool.description, unsaid), schema=schema, absent=frozenset(compiler.absent)
    )


class _Compiler:
    def __init__(self) -> None:
        self.absent: set[Path] = set()

    def compile_root(self, document: Json) -> tuple[Json, Json]:
        if document.get("type") != "object":
            raise _NotStrict
        schema, unsaid = self._split(document, ())
        if schema.get("type") != "object":
            raise _NotStrict
        if definitions := document.get("$defs"):
            schema["$defs"] = {
                name: self._compile(part, ("$defs", name)) for name, part in definitions.items()
            }
        return schema, unsaid

    def _compile(self, schema: Schema, path: Path) -> Json:
        if isinstance(schema, bool):
            raise _NotStrict
        kept, unsaid = self._split(schema, path)
        if unsaid:
            kept["description"] = add_note(kept.get("description", ""), unsaid)
        if "$ref" in kept and len(kept) > 1:
            kept = {"anyOf": [{"$ref": kept.pop("$ref")}], **kept}
        return kept

    def _split(self, schema: Json, path: Path) -> tuple[Json, Json]:
        """Return what of a schema is said, and what is not."""
        if _OPEN & schema.keys() or ("definitions" in schema) or ("$defs" in schema and path):
            raise _NotStrict
        kept = {keyword: held for keyword, held in schema.items() if keyword in _PLAIN}
        unsaid = {
            keyword: held for keyword, held in schema.items() if keyword not in _PLAIN | _HANDLED | _UNSAID
        }
        if schema.get("format") in FORMATS:
            kept["format"] = schema["format"]
        elif "format" in schema:
            unsaid["format"] = schema["format"]
        return self._shape(schema, path, kept), unsaid

    def _shape(self, schema: Json, path: Path, kept: Json) -> Json:
        alternatives = [name for name in ("anyOf", "oneOf", "$ref") if name in schema]
        beside = {"properties", "items", "enum", "const"} & schema.keys()
        if len(alternatives) > 1 or (alternatives and beside):
            raise _NotStrict
        if alternatives:
            return {**kept, **self._say_alternatives(schema, alternatives[0], path)}
        if "enum" in schema or "const" in schema:
            return {**kept, **_say_literals(schema)}
        return self._say_type(schema, path, kept)

    def _say_type(self, schema: Json, path: Path, kept: Json) -> Json:
        match schema.get("type"):
            case "object":
                return {**kept, **self._say_object(schema, path)}
            case "array":
                items = self._compile(schema.get("items", True), (*path, "items"))
                return {**kept, "type": "array", "items": items}
            case str() as kind:
                return {**kept, "type": kind}
            case list() as kinds if _SCALARS.issuperset(kinds):
                return {**kept, "type": kinds}
            case list() as kinds:
                return self._say_kinds(schema, kinds, path)
            case _:
                raise _NotStrict

    def _say_kinds(self, schema: Json, kinds: list[str], path: Path) -> Json:
        """Say each type as an alternative of its own."""
        words: Json = {name: schema[name] for name in ("title", "description") if name in schema}
        rest = {name: held for name, held in schema.items() if name not in words}
        each = [{**(rest if kind != "null" else {}), "type": kind} for kind in kinds]
        parts = [self._compile(part, (*path, "anyOf", place)) for place, part in enumerate(each)]
        return {**words, "anyOf": parts}

    def _say_alternatives(self, schema: Json, keyword: str, path: Path) -> Json:
        if keyword == "$ref":
            reference = schema["$ref"]
            if reference != "#" and (not reference.startswith("#/$defs/") or reference.count("/") != 2):
                raise _NotStrict
            return {"$ref": reference}
        parts = [self._compile(part, (*path, "anyOf", place)) for place, part in enumerate(schema[keyword])]
        return {"anyOf": parts}

    def _say_object(self, schema: Json, path: Path) -> Json:
        declared = {name: part for name, part in schema.get("properties", {}).items() if part is not False}
        required = set(schema.get("required", ()))
        closed = schema.get("additionalProperties", False if "properties" in schema else None) is False
        if not closed or required - declared.keys():
            raise _NotStrict
        # All of them are always written, and one that may be null is not taken out again.
        if schema.get("maxProperties", len(declared)) < len(declared):
            raise _NotStrict
        properties = {}
        for name, part in declared.items():
            within = (*path, "properties", name)
            if name in required:
                properties[name] = self._compile(part, within)
            else:
                properties[name] = self._say_optional(part, within)
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    def _say_optional(self, part: Schema, path: Path) -> Json:
        wrapped = self._compile(part, (*path, "anyOf", 0))
        if _takes_null(wrapped):
            self.absent = {
                (*path, *each[len(path) + 2 :]) if each[: len(path) + 2] == (*path, "anyOf", 0) else each
                for each in self.absent
            }
            return wrapped
        self.absent.add(path)
        return {"anyOf": [wrapped, {"type": "null"}]}


def _say_literals(schema: Json) -> Json:
    literals = schema["enum"] if "enum" in schema else [schema["const"]]
    if "enum" in schema and "const" in schema:
        literals = [schema["const"]]
    kinds = sorted({_name_type(each) for each in literals})
    if not _SCALARS.issuperset(kinds):
        raise _NotStrict
    return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": literals}


def _name_type(each: object) -> str:
    match each:
        case bool():
            return "boolean"
        case None:
            return "null"
        case int() | float():
            return "number"
        case str():
            return "string"
        case _:
            return "object"


def _takes_null(schema: Json) -> bool:
    kind = schema.get("type")
    if kind is not None:
        return "null" in kind if isinstance(kind, list) else kind == "null"
    return any(_takes_null(part) for part in schema.get("anyOf", ()))


def _require_bounds(schema: Json) -> None:
    parts = [part for _, part in list_schemas(schema) if isinstance(part, dict)]
    names = [name for part in parts for name in (*part.get("properties", ()), *part.get("$defs", ()))]
    literals = [each for part in parts for each in part.get("enum", ())]
    said = sum(len(str(each)) for each in (*names, *literals))
    levels = max(path.count("properties") + path.count("items") for path, _ in list_schemas(schema))
    bounds = (
        (sum(len(part.get("properties", ())) for part in parts), MOST_PROPERTIES),
        (len(literals), MOST_LITERALS),
        (said, MOST_CHARACTERS),
        (levels, MOST_LEVELS),
    )
    if any(found > most for found, most in bounds):
        raise _NotStrict
