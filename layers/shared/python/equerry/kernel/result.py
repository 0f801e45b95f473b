"""A value or a foreseen failure, for the places where a failure is an ordinary answer."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from equerry.kernel.kinds import result

T_co = TypeVar("T_co", covariant=True)


@result
@dataclass(frozen=True, slots=True)
class Success(Generic[T_co]):
    """It worked; here is what came of it."""

    value: T_co


@result
@dataclass(frozen=True, slots=True)
class Failure:
    """It did not; `code` is stable, `detail` is for whoever reads it and holds no secret."""

    code: str
    detail: str


Result = Success[T_co] | Failure
