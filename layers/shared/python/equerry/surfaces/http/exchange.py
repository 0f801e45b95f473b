"""A request and its answer, free of any gateway."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import BaseModel

from equerry.domain.principal import Principal
from equerry.kernel.errors import TooLarge
from equerry.kernel.kinds import message
from equerry.surfaces.json_input import read_json

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
            InvalidInput: no JSON, not of that form, or not strict, as `read_json` says.
            TooLarge: over a million bytes.
        """
        text = self.body or ""
        if len(text.encode(errors="surrogatepass")) > MAX_BODY_BYTES:
            raise TooLarge(f"the body must be at most {MAX_BODY_BYTES} bytes")
        return read_json(text, model.model_validate, whole="body")


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """What goes back; `body` is a wire model, text that is already JSON, or nothing."""

    status: int
    body: BaseModel | str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
