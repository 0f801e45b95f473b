"""Reads TOML tables and collects every problem, so that one run shows them all."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, overload


class ConfigurationRefused(Exception):
    """The configuration cannot be deployed; `problems` says why, one line each."""

    def __init__(self, source: str, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        lines = "\n".join(f"  - {problem}" for problem in self.problems)
        super().__init__(f"{source} is not a valid configuration:\n{lines}")


class Reader:
    """One table; what is asked for is known, and anything else in it is a problem."""

    def __init__(
        self, table: Mapping[str, Any], *, path: str = "", problems: list[str] | None = None
    ) -> None:
        self._table = table
        self._path = path
        self._asked: set[str] = set()
        self.problems: list[str] = [] if problems is None else problems
        self._children: list[Reader] = []

    def has(self, name: str) -> bool:
        """Whether the table holds `name`."""
        return name in self._table

    def names(self) -> tuple[str, ...]:
        """What the table holds, in its order."""
        return tuple(self._table)

    def refuse(self, name: str, complaint: str) -> None:
        """Record a problem with one entry."""
        self.problems.append(f"{self._path}{name}: {complaint}")

    def table(self, name: str) -> "Reader":
        """A nested table; empty when it is absent."""
        found = self._take(name, {})
        if not isinstance(found, Mapping):
            self.refuse(name, f"must be a table, got {found!r}")
            found = {}
        child = Reader(found, path=f"{self._path}{name}.", problems=self.problems)
        self._children.append(child)
        return child

    @overload
    def text(self, name: str, *, pattern: str = ..., meaning: str = ..., default: str = ...) -> str: ...
    @overload
    def text(self, name: str, *, pattern: str = ..., meaning: str = ..., default: None) -> str | None: ...
    def text(
        self, name: str, *, pattern: str = ".+", meaning: str = "some text", default: str | None = "\0"
    ) -> str | None:
        """A string that matches `pattern` whole."""
        found = self._take(name, default)
        if found == "\0":
            self.refuse(name, f"is missing; give {meaning}")
        elif found is not None and not (isinstance(found, str) and re.fullmatch(pattern, found)):
            # Whoever mistakes it for the place of a key has put one there, and this goes to a build's log.
            secret = "secret" in f"{self._path}{name}"
            shown = "something else, which is not repeated here" if secret else repr(found)
            self.refuse(name, f"must be {meaning}, got {shown}")
        return found if isinstance(found, str) or found is None else ""

    def choice(self, name: str, allowed: Sequence[str], *, default: str) -> str:
        """One of a few words."""
        found = self._take(name, default)
        if found not in allowed:
            self.refuse(name, f"must be one of {', '.join(allowed)}, got {found!r}")
            return default
        return str(found)

    def flag(self, name: str, *, default: bool) -> bool:
        """True or false."""
        found = self._take(name, default)
        if not isinstance(found, bool):
            self.refuse(name, f"must be true or false, got {found!r}")
            return default
        return found

    def integer(self, name: str, *, low: int, high: int, default: int) -> int:
        """A whole number in [low, high]."""
        found = self._take(name, default)
        if isinstance(found, bool) or not isinstance(found, int) or not low <= found <= high:
            self.refuse(name, f"must be a whole number from {low} to {high}, got {found!r}")
            return default
        return found

    def optional_integer(self, name: str, *, low: int, high: int) -> int | None:
        """A whole number in [low, high], or nothing."""
        return (
            self.integer(name, low=low, high=high, default=low) if self.has(name) else self._take(name, None)
        )

    def half_steps(self, name: str, *, low: float, high: float, default: float) -> float:
        """A number in [low, high] in steps of a half."""
        found = self._take(name, default)
        number = isinstance(found, (int, float)) and not isinstance(found, bool)
        if not number or not low <= found <= high or (found * 2) % 1:
            self.refuse(name, f"must be a number from {low:g} to {high:g} in steps of 0.5, got {found!r}")
            return default
        return float(found)

    def texts(self, name: str, *, pattern: str, meaning: str, least: int = 0) -> tuple[str, ...]:
        """A list of strings that each match `pattern` whole."""
        found = self._take(name, [])
        if not isinstance(found, list):
            self.refuse(name, f"must be a list, got {found!r}")
            return ()
        for entry in found:
            if not (isinstance(entry, str) and re.fullmatch(pattern, entry)):
                self.refuse(name, f"must hold {meaning}, got {entry!r}")
        if len(found) < least:
            self.refuse(name, f"must hold at least {least} of {meaning}, got {len(found)}")
        return tuple(str(entry) for entry in found)

    def refuse_unknown(self) -> None:
        """Record every entry that nothing asked for, here and below."""
        for name in sorted(set(self._table) - self._asked):
            known = ", ".join(sorted(self._asked))
            self.refuse(name, f"is not a setting here; known settings: {known}")
        for child in self._children:
            child.refuse_unknown()

    def _take(self, name: str, default: Any) -> Any:
        self._asked.add(name)
        return self._table.get(name, default)
