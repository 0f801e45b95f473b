"""Failures as problem documents: family to status, and nothing unforeseen in the words."""

from equerry.domain.rates import RateLimited
from equerry.kernel.errors import (
    Conflict,
    EquerryError,
    InvalidInput,
    LimitReached,
    NotFound,
    Refused,
    TooLarge,
    Unauthenticated,
    Unavailable,
    Unprocessable,
    describe_failure,
)
from equerry.surfaces.http.exchange import HttpAnswer
from equerry.surfaces.http.rates import encode_standings
from equerry.surfaces.http.wire import Problem


class MethodNotAllowed(EquerryError):
    """The address exists and does not answer to this method; `allowed` are those it answers to."""

    code = "method_not_allowed"

    def __init__(self, allowed: tuple[str, ...]) -> None:
        super().__init__(f"this address answers to {', '.join(allowed)}")
        self.allowed = allowed


MEDIA_TYPE = "application/problem+json"
_STATUS: tuple[tuple[type[EquerryError], int, str], ...] = (
    (InvalidInput, 400, "Bad Request"),
    (Unauthenticated, 401, "Unauthorized"),
    (Refused, 403, "Forbidden"),
    (NotFound, 404, "Not Found"),
    (MethodNotAllowed, 405, "Method Not Allowed"),
    (Conflict, 409, "Conflict"),
    (TooLarge, 413, "Content Too Large"),
    (Unprocessable, 422, "Unprocessable Content"),
    (LimitReached, 429, "Too Many Requests"),
    (Unavailable, 503, "Service Unavailable"),
)
UNFORESEEN = "Something went wrong on our side. The reference finds it in the logs."


def answer_failure(failure: Exception, *, instance: str, reference: str) -> HttpAnswer:
    """Return the problem document for any failure; one that is not foreseen says nothing of itself."""
    for family, status, title in _STATUS:
        if isinstance(failure, family):
            return _answer(failure, describe_failure(failure), status, title, instance, reference)
    return _answer(EquerryError(), UNFORESEEN, 500, "Internal Server Error", instance, reference)


def _answer(
    failure: EquerryError, detail: str, status: int, title: str, instance: str, reference: str
) -> HttpAnswer:
    problem = Problem(
        type=f"urn:equerry:problem:{failure.code}",
        title=title,
        status=status,
        detail=detail,
        instance=instance,
        code=failure.code,
        reference=reference,
    )
    headers = {"content-type": MEDIA_TYPE, "cache-control": "no-store"}
    if isinstance(failure, LimitReached | Unavailable):
        headers["retry-after"] = str(failure.retry_after_s)
    if isinstance(failure, RateLimited):
        headers.update(encode_standings((failure.standing,)))
    if isinstance(failure, MethodNotAllowed):
        headers["allow"] = ", ".join(failure.allowed)
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    return HttpAnswer(status=status, body=problem, headers=headers)
