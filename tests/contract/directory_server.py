"""A product's directory of projects, served over HTTP."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote


@dataclass
class DirectoryServer:
    """Members by organisation and user; `trouble` is a status to answer with, `answer` a body.

    If it `drips`, a body is sent byte by byte.
    """

    members: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    trouble: int | None = None
    answer: bytes | None = None
    drips: bool = False
    credentials: list[str | None] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    url: str = ""

    def respond(self, path: str) -> tuple[int, bytes]:
        self.paths.append(path)
        if self.answer is not None:
            return 200, self.answer
        words = [unquote(word) for word in path.strip("/").split("/")]
        if self.trouble:
            return self.trouble, b"{}"
        match words:
            case ["directory", "organisations", organisation, "users", user, "projects"]:
                found = self.members.get((organisation, user))
                return (404, b"{}") if found is None else (200, json.dumps({"projectIds": found}).encode())
        return 404, b"{}"


@contextmanager
def serve_directory() -> Iterator[DirectoryServer]:
    """Serve a directory on a free loopback port."""
    directory = DirectoryServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            directory.credentials.append(self.headers.get("authorization"))
            status, body = directory.respond(self.path)
            self.send_response(status)
            if status == 302:
                self.send_header("location", "/directory/organisations/acme/users/ada/projects")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            for piece in (body[at : at + 1] for at in range(len(body))) if directory.drips else (body,):
                self.wfile.write(piece)

        def log_message(self, *_: object) -> None: ...

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False  # kept-alive connections wait for their next request

    with Server(("127.0.0.1", 0), Handler) as server:
        directory.url = f"http://127.0.0.1:{server.server_address[1]}/directory"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield directory
        finally:
            server.shutdown()
            thread.join()
