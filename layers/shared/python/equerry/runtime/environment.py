"""One mapping between a frozen settings dataclass and environment variables, both ways."""

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, ClassVar, Protocol, Self, get_args, get_type_hints


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]


class MissingSetting(Exception):
    """The environment lacks a variable that this function cannot start without."""


class Environment:
    """Gives a dataclass `from_env` and `to_env`.

    The variable is the field's name in capitals, or what its metadata say under `variable`.
    """

    __slots__ = ()

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Self:
        """Read the settings.

        Raises:
            MissingSetting: a variable without a default is missing or blank.
            ValueError: a number or switch does not parse; the message names the variable.
        """
        hints = get_type_hints(cls)
        found: dict[str, Any] = {}
        for field in fields(cls):  # type: ignore[arg-type]  # every subclass is a dataclass
            name = _variable(field)
            text = environ.get(name, "").strip()
            if text:
                found[field.name] = _parse(hints[field.name], text, name)
            elif field.default is MISSING:
                raise MissingSetting(f"{name} is not set; {cls.__name__} cannot start without it")
        return cls(**found)

    def to_env(self) -> dict[str, str]:
        """Write the settings; a field that is None is left out."""
        pairs = ((_variable(f), getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]
        return {name: _format(entry) for name, entry in pairs if entry is not None}


def _variable(field: "Field[Any]") -> str:
    return str(field.metadata.get("variable", field.name.upper()))


def _parse(hint: Any, text: str, name: str) -> Any:
    kinds = get_args(hint) or (hint,)
    if bool in kinds:
        if text not in ("true", "false"):
            raise ValueError(f"{name} must be 'true' or 'false', got {text!r}")
        return text == "true"
    for kind in (int, float):
        if kind in kinds:
            try:
                return kind(text)
            except ValueError:
                raise ValueError(f"{name} must be a number, got {text!r}") from None
    return text


def _format(entry: object) -> str:
    return str(entry).lower() if isinstance(entry, bool) else str(entry)
