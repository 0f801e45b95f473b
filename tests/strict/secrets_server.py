"""Secrets Manager and Systems Manager as far as a function reads them: known secrets, and no parameters."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, secrets: Mapping[str, str], parameters: Mapping[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.secrets = secrets
        self.parameters = parameters


@contextmanager
def serve_secrets(secrets: Mapping[str, str], parameters: Mapping[str, str] | None = None) -> Iterator[str]:
    """Serve on a free loopback port until the block ends; gives the address."""
    with _Server(secrets, parameters or {}) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.headers["x-amz-target"].endswith(".GetParameters"):
            held = self.server.parameters
            found = [{"Name": name, "Value": held[name]} for name in asked["Names"] if name in held]
            self._answer(200, {"Parameters": found, "InvalidParameters": []})
        elif asked["SecretId"] in self.server.secrets:
            self._answer(
                200, {"ARN": asked["SecretId"], "SecretString": self.server.secrets[asked["SecretId"]]}
            )
        else:
            self._answer(400, {"__type": "ResourceNotFoundException", "Message": "not found"})

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
        """Tests print nothing."""

    def _answer(self, status: int, body: Any) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.1")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
