"""A client of Lambda's Runtime API whose handler streams, which the managed Python runtime's own cannot.

Run as a module in the runtime's place (AWS_LAMBDA_EXEC_WRAPPER), it hands each invocation to the handler that
`_HANDLER` names: a callable of event and context that returns chunks of bytes. Standard library alone, so
that a cold start costs what an interpreter does.
"""

import importlib
import json
import os
import sys
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from http.client import HTTPConnection, HTTPException, HTTPMessage
from time import time
from typing import Any

_API = "/2018-06-01/runtime"
_ERROR_TYPE, _ERROR_BODY = "Lambda-Runtime-Function-Error-Type", "Lambda-Runtime-Function-Error-Body"
Handler = Callable[[Any, "Invocation"], Iterable[bytes]]


class Invocation:
    """The context of one invocation, as far as handlers use it."""

    def __init__(self, headers: HTTPMessage) -> None:
        self.aws_request_id = headers["Lambda-Runtime-Aws-Request-Id"]
        self.invoked_function_arn = headers.get("Lambda-Runtime-Invoked-Function-Arn", "")
        self._deadline_ms = int(headers["Lambda-Runtime-Deadline-Ms"])

    def get_remaining_time_in_millis(self) -> int:
        """Return what is left of the function's time, never less than 0."""
        return max(0, self._deadline_ms - int(time() * 1000))


class StreamingRuntime:
    """Speaks with the Runtime API at `address`, a host and port."""

    def __init__(self, address: str, *, content_type: str) -> None:
        self._address = address
        self._content_type = content_type

    def serve(self, handler: Handler) -> None:
        """Handle one invocation after another, for as long as the process lives."""
        while True:
            self.serve_one(handler)

    def serve_one(self, handler: Handler) -> None:
        """Wait for an invocation and handle it to its end, whether or not somebody still reads."""
        # Without a time-out: between two invocations the whole process is frozen.
        connection = HTTPConnection(self._address)
        connection.request("GET", f"{_API}/invocation/next")
        answer = connection.getresponse()
        content, invocation = answer.read(), Invocation(answer.headers)
        connection.close()
        os.environ["_X_AMZN_TRACE_ID"] = answer.headers.get("Lambda-Runtime-Trace-Id", "")
        path = f"{_API}/invocation/{invocation.aws_request_id}"
        try:
            # A caller's JSON can nest too deeply for the parser: its invocation fails, not this process.
            chunks = iter(handler(json.loads(content), invocation))
            first = next(chunks, b"")
        except Exception as failure:  # noqa: BLE001  # told to whoever invoked, by its type
            self.report(f"{path}/error", failure)
            return
        self._stream(f"{path}/response", first, chunks)

    def report(self, path: str, failure: Exception) -> None:
        """Say that there is no answer; a message may hold what was asked, so only the type is told."""
        headers = {_ERROR_TYPE: f"Function.{type(failure).__name__}", "Content-Type": "application/json"}
        connection = HTTPConnection(self._address)
        connection.request("POST", path, _describe(failure), headers)
        connection.getresponse().read()
        connection.close()

    def _stream(self, path: str, first: bytes, chunks: Iterator[bytes]) -> None:
        connection: HTTPConnection | None = self._open(path)
        trailers: Mapping[str, str] = {}
        try:
            connection = _send(connection, first)
            for chunk in chunks:
                # Nobody reads any more: the work is carried through, and what it writes is discarded.
                connection = _send(connection, chunk)
        except Exception as failure:  # noqa: BLE001  # told in the trailers, by its type
            told = b64encode(_describe(failure)).decode("ascii")
            trailers = {_ERROR_TYPE: f"Function.{type(failure).__name__}", _ERROR_BODY: told}
        if connection:
            _finish(connection, trailers)

    def _open(self, path: str) -> HTTPConnection | None:
        connection = HTTPConnection(self._address)
        try:
            connection.putrequest("POST", path)
            connection.putheader("Content-Type", self._content_type)
            connection.putheader("Lambda-Runtime-Function-Response-Mode", "streaming")
            connection.putheader("Transfer-Encoding", "chunked")
            connection.putheader("Trailer", f"{_ERROR_TYPE}, {_ERROR_BODY}")
            connection.endheaders()
        except OSError:
            return None
        return connection


def _send(connection: HTTPConnection | None, chunk: bytes) -> HTTPConnection | None:
    """Return the connection, or None once it is lost."""
    if connection is None or not chunk:
        return connection
    try:
        connection.send(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
    except OSError:
        connection.close()
        return None
    return connection


def _finish(connection: HTTPConnection, trailers: Mapping[str, str]) -> None:
    lines = "".join(f"{name}: {text}\r\n" for name, text in trailers.items())
    try:
        connection.send(f"0\r\n{lines}\r\n".encode())
        connection.getresponse().read()
    except (OSError, HTTPException):
        pass  # whoever read has gone
    finally:
        connection.close()


def _describe(failure: Exception) -> bytes:
    name = type(failure).__name__
    return json.dumps(
        {"errorType": name, "errorMessage": "see the function's log", "stackTrace": []}
    ).encode()


def main(environ: Mapping[str, str] = os.environ) -> None:
    """Find the handler and serve it; one that cannot be imported is reported, and ends the process."""
    content_type = environ.get("RESPONSE_STREAM_CONTENT_TYPE", "application/octet-stream")
    runtime = StreamingRuntime(environ["AWS_LAMBDA_RUNTIME_API"], content_type=content_type)
    module, _, name = environ["_HANDLER"].rpartition(".")
    try:
        handler: Handler = getattr(importlib.import_module(module.replace("/", ".")), name)
    except Exception as failure:  # noqa: BLE001  # told to Lambda, which gives up on this process
        runtime.report(f"{_API}/init/error", failure)
        sys.exit(1)
    runtime.serve(handler)


if __name__ == "__main__":
    main()
