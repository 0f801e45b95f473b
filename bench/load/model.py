"""The slow model: a provider's wire whose every word says when it was written.

python -m bench.load.model      prints its address, serves until it is killed
"""

import json
import random
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.strict.anthropic_events import Event, message, text

WORDS = 12
SHORTEST_S, LONGEST_S = 5.0, 60.0
NUMBER = re.compile(r"question (\d+)")


class SlowModel(ThreadingHTTPServer):
    """Answers question N in between five and sixty seconds, the same for the same N, in twelve words."""

    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is counted by whoever misses its answer."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        number = int(NUMBER.findall(body)[-1])
        pause_s = random.Random(number).uniform(SHORTEST_S, LONGEST_S) / WORDS  # noqa: S311  # a schedule
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("request-id", f"req_{number}")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        head, word, tail = _split()
        self._write(*head)
        for _ in range(WORDS):
            threading.Event().wait(pause_s)
            word.data["delta"]["text"] = f"{time.time():.6f} "
            self._write(word)
        self._write(*tail)
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
        """Prints nothing."""

    def _write(self, *events: Event) -> None:
        for event in events:
            data = f"event: {event.name}\ndata: {json.dumps(event.data)}\n\n".encode()
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()


def _split() -> tuple[list[Event], Event, list[Event]]:
    """Return a message's events before, at and after its one word."""
    events = list(message(text("word")))
    at = next(index for index, event in enumerate(events) if event.name == "content_block_delta")
    return events[:at], events[at], events[at + 1 :]


def main() -> None:
    """Serve."""
    server = SlowModel(("127.0.0.1", 0), _Handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
