"""A stage's management API on this machine, answering as API Gateway does."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

STAGE = "/_aws/execute-api/abc123/live"


class ManagementApi:
    """The sockets of one stage; `trouble` is a status to answer everything with."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.received: dict[str, list[str]] = {}
        self.trouble: int | None = None
        self.requests = 0

    def answer(self, path: str, body: bytes) -> tuple[int, str, str]:
        """Return status, error type and message for one POST."""
        self.requests += 1
        connection_id = unquote(path.removeprefix(f"{STAGE}/@connections/"))
        if self.trouble:
            return self.trouble, "LimitExceededException" if self.trouble == 429 else "", "busy"
        if not connection_id.endswith("="):
            return 400, "BadRequestException", f"Invalid connectionId: {connection_id}"
        if connection_id not in self.received:
            return 410, "GoneException", ""
        self.received[connection_id].append(body.decode())
        return 200, "", ""


@contextmanager
def serve_management_api() -> Iterator[ManagementApi]:
    """Serve on a free loopback port."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            status, kind, message = api.answer(self.path, body)
            content = b"" if status == 200 else json.dumps({"message": message}).encode()
            self.send_response(status)
            if kind:
                self.send_header("x-amzn-errortype", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        api = ManagementApi(f"http://127.0.0.1:{server.server_address[1]}{STAGE}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield api
        finally:
            server.shutdown()
            thread.join()
