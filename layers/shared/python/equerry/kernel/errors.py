"""The failures we foresee, as families a surface can map to a status.

EquerryError
├── InvalidInput      400  the caller sent something malformed
├── Unauthenticated   401  no identity, or one that does not verify
├── Refused           403  known, and not allowed
├── NotFound          404  not there, or not there for this principal
├── Conflict          409  the state does not allow it now
├── TooLarge          413  over a stated limit
├── Unprocessable     422  well formed, and contradicts what was said before
├── LimitReached      429  a rate or budget is used up
└── Unavailable       503  a part we need is not answering; may succeed later

A specific failure subclasses its family beside the code that raises it and sets `code`. `ValueError`
and `assert` are for our own bugs and never reach a caller as anything but `internal_error`.
"""


class EquerryError(Exception):
    """A failure we foresaw. `code` is stable API; the message is for people and holds no secret."""

    code = "internal_error"
    retryable = False


class InvalidInput(EquerryError):
    """The caller's input is malformed; `field` names the part, where there is one."""

    code = "invalid_request"

    def __init__(self, detail: str, *, field: str | None = None) -> None:
        super().__init__(detail)
        self.field = field


class Unauthenticated(EquerryError):
    """No identity, or one that does not verify."""

    code = "unauthenticated"


class Refused(EquerryError):
    """The caller is known and may not do this."""

    code = "forbidden"


class NotFound(EquerryError):
    """Not there, or not there for this principal: the two are never told apart."""

    code = "not_found"


class Conflict(EquerryError):
    """The state does not allow it now; reload and try again."""

    code = "conflict"
    retryable = True


class TooLarge(EquerryError):
    """Over a stated limit."""

    code = "too_large"


class Unprocessable(EquerryError):
    """Well formed, and contradicts what the caller said before."""

    code = "unprocessable"


class LimitReached(EquerryError):
    """A rate or a budget is used up."""

    code = "rate_limited"
    retryable = True

    def __init__(self, detail: str, *, retry_after_s: int) -> None:
        super().__init__(detail)
        self.retry_after_s = retry_after_s


class Unavailable(EquerryError):
    """A part we need is not answering; the same request may succeed later."""

    code = "service_unavailable"
    retryable = True

    def __init__(self, detail: str, *, retry_after_s: int = 5) -> None:
        super().__init__(detail)
        self.retry_after_s = retry_after_s


_SILENT = {
    EquerryError: "Something went wrong on our side. Try again.",
    Unavailable: "A part of the assistant is not answering. Try again in a moment.",
}


def describe_failure(failure: EquerryError) -> str:
    """Return what a person may be told of a failure.

    A specific failure speaks for itself; one of the bare families names a store or a queue of ours, which is
    for the logs alone.
    """
    return _SILENT.get(type(failure)) or str(failure)
