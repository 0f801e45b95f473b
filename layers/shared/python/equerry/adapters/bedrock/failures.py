"""What goes wrong with the Converse API, in the product's own words."""

from datetime import datetime
from typing import Any

from botocore.eventstream import ParserError
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    EventStreamError,
    HTTPClientError,
    NoCredentialsError,
    PartialCredentialsError,
)
from botocore.exceptions import (
    ConnectionError as Unreachable,
)
from botocore.parsers import ResponseParserError
from urllib3.exceptions import HTTPError

from equerry.adapters.rounds.failures import (
    AttemptFailed,
    broke_off,
    gone,
    lost_connection,
    not_answering,
    read_retry_after,
    refused,
    unusable,
)
from equerry.ports.model import FailureCause

# What botocore and, while a stream is read, the library below it let through.
TRANSPORT_ERRORS = (Unreachable, HTTPClientError, HTTPError, OSError)
FRAMING_ERRORS = (ParserError, ResponseParserError)
CREDENTIAL_ERRORS = (NoCredentialsError, PartialCredentialsError)

_UNUSABLE = frozenset(
    {
        "AccessDeniedException",
        "ExpiredTokenException",
        "InvalidSignatureException",
        "UnrecognizedClientException",
    }
)
_PASSING: dict[str, FailureCause] = {
    "InternalServerException": "overloaded",
    "ModelErrorException": "overloaded",
    "ModelNotReadyException": "throttled",
    "ModelStreamErrorException": "broken",
    "ModelTimeoutException": "timeout",
    "ServiceQuotaExceededException": "throttled",
    "ServiceUnavailableException": "overloaded",
    "ThrottlingException": "throttled",
}
_GONE = "ResourceNotFoundException"
_GONE_SIGNS = ("model identifier is invalid", "reached the end of its life")
_TOO_MANY = 429
_WITHOUT_PROFILE = "on-demand throughput"


def read_client_error(error: ClientError, now: datetime) -> AttemptFailed:
    """Translate an answer with an error status."""
    meta: Any = error.response.get("ResponseMetadata", {})
    details = error.response.get("Error", {})
    code, status = details.get("Code", ""), meta.get("HTTPStatusCode", 0)
    said = f"HTTP {status} {code or 'error'}, request {meta.get('RequestId', 'unknown')}"
    message = details.get("Message", "")
    if code == _GONE or any(sign in message for sign in _GONE_SIGNS):
        return gone(said)
    if code in _UNUSABLE or _WITHOUT_PROFILE in message:
        return unusable(said)
    if code in _PASSING or status == _TOO_MANY or status >= 500:
        retry_after_s = read_retry_after(meta.get("HTTPHeaders", {}), now)
        unnamed: FailureCause = "throttled" if status == _TOO_MANY else "overloaded"
        return not_answering(said, _PASSING.get(code, unnamed), retry_after_s=retry_after_s)
    return refused(said)


def read_stream_error(error: EventStreamError) -> AttemptFailed:
    """Translate an exception inside a stream, whose HTTP status was 200."""
    kind = str(error.response.get("Error", {}).get("Code", "error"))
    code = kind[:1].upper() + kind[1:]
    said = f"{kind} in mid-stream"
    if code == "ValidationException":
        return refused(said)
    return not_answering(said, _PASSING.get(code, "overloaded"))


def read_transport_error(error: Exception) -> AttemptFailed:
    """Translate a failure of the connection itself."""
    return lost_connection(type(error).__name__)


def read_framing_error() -> AttemptFailed:
    """Bytes arrived that are no event."""
    return broke_off("held a frame that cannot be read")


def read_credential_error(error: BotoCoreError) -> AttemptFailed:
    """There is nothing to sign with."""
    return unusable(type(error).__name__)
