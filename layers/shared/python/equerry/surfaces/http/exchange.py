"""A request and its answer, free of any gateway."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from json import JSONDecodeError, loads
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from equerry.domain.principal import Principal
from equerry.kernel.errors import InvalidInput, TooLarge
from equerry.kernel.kinds import message

MAX_BODY_BYTES = 1_000_000
_M = TypeVar("_M", bound=BaseModel)


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A request whose caller has been identified, where the route asks for it.

    Attributes:
        headers: names in lower case.
        request_id: the reference that every failure names.
    """

    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    request_id: str = ""
    caller: Principal | None = None

    @property
    def principal(self) -> Principal:
        """Who asks; only routes that require a token may look."""
        if self.caller is None:
            raise AssertionError("a route without authentication asked for its principal")
        return self.caller

    def read_body(self, model: type[_M]) -> _M:
        """Return the JSON body as `model`.

        Raises:
            InvalidInput: no JSON, or not of that form; names the first field that does not fit.
            TooLarge: over a million bytes.
        """
        text = self.body or ""
        if len(text.encode()) > MAX_BODY_BYTES:
            raise TooLarge(f"the body must be at most {MAX_BODY_BYTES} bytes")
        try:
            return model.model_validate(loads(text))
        except (JSONDecodeError, RecursionError) as broken:
            raise InvalidInput("the body must be a JSON object") from broken
        except ValidationError as misfit:
            first = misfit.errors(include_url=False, include_input=False)[0]
            name = ".".join(str(part) for part in first["loc"]) or "body"
            raise InvalidInput(f"{name}: {first['msg']}", field=name) from misfit


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """What goes back; `body` is a wire model, text that is already JSON, or nothing."""

    status: int
    body: BaseModel | str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
