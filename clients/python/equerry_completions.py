"""Structured completions for a service that may invoke them. Copy this file; it needs boto3 and nothing else.

    completions = connect(boto3.Session(), stage="production")
    request = build_request(workload="tenders", prompt="...", json_schema={...}, schema_name="Summary")
    output = completions.complete(request)["output"]

The frames and codes are those of docs/structured-completion.md.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, Protocol
from uuid import uuid4

from botocore.config import Config
from botocore.exceptions import ClientError, EventStreamError, HTTPClientError
from botocore.exceptions import ConnectionError as Unreachable
from urllib3.exceptions import HTTPError

PATIENT = Config(connect_timeout=5, read_timeout=430, retries={"total_max_attempts": 1})
"""The SDK otherwise gives up after a minute and asks again, which is a second completion."""

RETRYABLE = frozenset({429, 500, 502, 503, 504})
UNANSWERED = frozenset({"truncated", "no_answer", "function_failed"})
"""Nobody knows how far it came: what it did is paid for, and asking again is a second completion."""
UNCONFIGURED = "no model that writes text is configured"
"""How the detail of a `completion_failed` begins that only an operator can mend."""
_MESSAGE = re.compile(r"\[(?P<status>\d{3}) (?P<code>[a-z_]+)\] ?(?P<detail>.*)", re.DOTALL)
_LAST = ("result", "error")
_SHOWN = ("thinking", "output")

Json = dict[str, Any]


class LambdaClient(Protocol):
    """boto3's, as far as it is used."""

    def invoke(self, **asked: Any) -> Any: ...
    def invoke_with_response_stream(self, **asked: Any) -> Any: ...


class CompletionError(Exception):
    """There is no answer.

    Attributes:
        status: like HTTP's; 0 where the function did not say.
        code: what to decide by. Besides those that the function tells: `throttled`, nothing was begun;
            `lambda_failed`, Lambda itself did; `function_failed`, the function died; `no_answer`, the
            connection did before an answer; `truncated`, a stream was cut off.
    """

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(f"[{status} {code}] {detail}")
        self.status = status
        self.code = code
        self.detail = detail

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later; it is then paid for again."""
        if self.code == "completion_failed" and self.detail.startswith(UNCONFIGURED):
            return False
        return self.status in RETRYABLE or self.code in UNANSWERED


class Completions:
    """Invokes both functions.

    Args:
        client: boto3's client of Lambda, made with PATIENT.
        function, stream_function: ARNs of the aliases.
    """

    def __init__(self, client: LambdaClient, *, function: str, stream_function: str = "") -> None:
        self._client = client
        self._function = function
        self._stream_function = stream_function

    def complete(self, request: Mapping[str, Any]) -> Json:
        """Return the response.

        Raises:
            CompletionError: see there.
        """
        with _telling():
            answer = self._client.invoke(FunctionName=self._function, Payload=encode_request(request))
            content = json.loads(answer["Payload"].read())
        if answer.get("FunctionError"):
            raise parse_error(content)
        response: Json = content
        return response

    def stream(self, request: Mapping[str, Any]) -> Iterator[Json]:
        """Yield frames as they come; the last is `result`.

        Raises:
            CompletionError: the `error` frame, or a stream that ended without a last frame.
        """
        with _telling():
            answer = self._client.invoke_with_response_stream(
                FunctionName=self._stream_function, Payload=encode_request(request)
            )
        with closing(answer["EventStream"]) as events:
            for frame in read_frames(_list_chunks(events)):
                if frame["type"] == "error":
                    raise CompletionError(frame["status"], frame["code"], frame["detail"])
                yield frame
                if frame["type"] == "result":
                    return
        raise CompletionError(0, "truncated", "the stream ended without its last frame")

    def follow(self, request: Mapping[str, Any], show: Callable[[str, str], object]) -> Json:
        """Return the response of a stream, and meanwhile show its `thinking` and `output`.

        Those are fragments, and may differ from what is returned: only that may be kept.

        Args:
            show: is given a frame's type and text.

        Raises:
            CompletionError: see `stream`.
        """
        last: Json = {}
        for last in self.stream(request):
            if last["type"] in _SHOWN:
                show(last["type"], last["text"])
        return {name: entry for name, entry in last.items() if name != "type"}


def connect(session: Any, *, stage: str) -> Completions:
    """Return the completions of a stage: found in Systems Manager, invoked by a client with patience.

    Args:
        session: boto3's, of a role that may read the two parameters and invoke what they name.
    """
    base = f"/equerry/{stage}/structured-completion"
    names = [f"{base}-function-arn", f"{base}-stream-function-arn"]
    read = session.client("ssm").get_parameters(Names=names)
    found = {parameter["Name"]: parameter["Value"] for parameter in read["Parameters"]}
    if missing := [name for name in names if name not in found]:
        raise LookupError(f"there are no parameters {', '.join(missing)}")
    client = session.client("lambda", config=PATIENT)
    return Completions(client, function=found[names[0]], stream_function=found[names[1]])


def build_request(
    *,
    workload: str,
    prompt: str,
    json_schema: Mapping[str, Any],
    schema_name: str,
    system: str = "",
    request_id: str | None = None,
    organisation_id: str | None = None,
    **more: Any,
) -> Json:
    """Return a request; `more` are `images`, `documents` and `modelProfile`, named as in the protocol."""
    return {
        "protocolVersion": 1,
        "requestId": request_id or str(uuid4()),
        "workload": workload,
        "organisationId": organisation_id,
        "system": system,
        "prompt": prompt,
        "jsonSchema": json_schema,
        "schemaName": schema_name,
        **more,
    }


def encode_request(request: Mapping[str, Any]) -> bytes:
    """Return the payload, with letters as they are: escaped, the largest request is too large for Lambda."""
    try:
        return json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair can only be escaped; the function says which field holds it.
        return json.dumps(request).encode()


def parse_error(content: Any) -> CompletionError:
    """Read a function error's payload."""
    message = content.get("errorMessage") if isinstance(content, Mapping) else None
    found = _MESSAGE.fullmatch(message or "")
    if not found:
        return CompletionError(0, "function_failed", str(message or "the function failed"))
    return CompletionError(int(found["status"]), found["code"], found["detail"])


def read_frames(chunks: Iterable[bytes]) -> Iterator[Json]:
    """Yield whole frames, however they were cut into chunks; half a line at the end is left out."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (json.loads(line) for line in lines if line.strip())
    try:
        last = json.loads(rest)
    except ValueError:
        return
    if isinstance(last, dict) and last.get("type") in _LAST:
        yield last


def _list_chunks(events: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    try:
        for event in events:
            if "PayloadChunk" in event:
                yield event["PayloadChunk"]["Payload"]
            elif (complete := event.get("InvokeComplete", {})).get("ErrorCode"):
                raise CompletionError(0, "function_failed", complete["ErrorCode"])
    except (EventStreamError, HTTPClientError, HTTPError, OSError) as error:
        raise CompletionError(0, "truncated", type(error).__name__) from error


@contextmanager
def _telling() -> Iterator[None]:
    """Tell what an invocation itself may raise; what only a configuration can mend is left as it is."""
    try:
        yield
    except ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        code = error.response.get("Error", {}).get("Code", "")
        if status not in RETRYABLE:
            raise
        raise CompletionError(status, "throttled" if status == 429 else "lambda_failed", code) from error
    except (Unreachable, HTTPClientError) as error:
        raise CompletionError(0, "no_answer", type(error).__name__) from error
