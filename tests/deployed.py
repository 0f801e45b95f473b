"""The deployed local stack as the integration and end-to-end tests see it."""

import json
import os
import signal
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from local.aws import Session
from local.cli.api import Api, Target
from local.cli.indexing import Indexer, Outcome
from local.cli.walking import walk
from local.deploy import load_outputs
from local.files import read_json
from local.places import Places

Frame = dict[str, Any]
LIVE = "live"
READ_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Deployed:
    """A running, deployed stack. People are named as in local/users.toml."""

    places: Places

    @property
    def chat_url(self) -> str:
        """Where the chat page is."""
        return str(read_json(self.places.endpoints)["chatUrl"])

    def api(self, user: str) -> Api:
        """Return the HTTP API as a demo user."""
        content = read_json(self.places.endpoints)
        token = next(entry["token"] for entry in content["tokens"] if entry["userId"] == user)
        return Api(
            Target(url=content["httpUrl"], headers=content["httpHeaders"], token=token, trust=self.trust)
        )

    def index(self, folder: Path, *, corpus: str = "docs", user: str = "ada", prune: bool = False) -> Outcome:
        """Index a folder and wait until it is published."""
        with self.api(user) as api:
            indexer = Indexer(api=api, corpus=corpus, visible_to=(), tell=lambda *_: None)
            return indexer.index(walk(folder).sources, prune=prune)

    @contextmanager
    def socket(self, api: Api) -> Iterator[ClientConnection]:
        """Open a WebSocket with a ticket of its own."""
        ticket = api.post("/tickets")
        address = f"{ticket['webSocketUrl']}?ticket={ticket['ticket']}"
        secure = self.trust if address.startswith("wss:") else None
        # A cold start on a busy machine takes its time.
        with connect(address, proxy=None, ssl=secure, open_timeout=READ_TIMEOUT_S) as socket:
            yield socket

    @contextmanager
    def slow_answers(self, word_delay_ms: int = 150) -> Iterator[None]:
        """Make the responder write slowly for a while, so that something can happen in mid-answer."""
        with self.released_worker({"EXTRACTIVE_WORD_DELAY_MS": str(word_delay_ms)}):
            yield

    @contextmanager
    def released_worker(self, variables: Mapping[str, str]) -> Iterator[None]:
        """Release a worker with other settings for a while, and take it back by moving the alias."""
        with self.released(load_outputs(self.places)["WorkerFunctionName"], variables):
            yield

    @contextmanager
    def released(self, name: str, variables: Mapping[str, str]) -> Iterator[None]:
        """Release a function with other settings for a while, and take it back by moving the alias."""
        functions = Session(self.places).functions
        usual = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
        before = functions.get_alias(FunctionName=name, Name=LIVE)["FunctionVersion"]
        functions.update_function_configuration(
            FunctionName=name, Environment={"Variables": {**usual, **variables}}
        )
        changed = functions.publish_version(FunctionName=name)["Version"]
        functions.update_alias(FunctionName=name, Name=LIVE, FunctionVersion=changed)
        try:
            yield
        finally:
            functions.update_alias(FunctionName=name, Name=LIVE, FunctionVersion=before)
            functions.update_function_configuration(FunctionName=name, Environment={"Variables": usual})

    def kill_worker(self) -> int:
        """Kill every process that runs the worker function, as a lost machine would; return how many."""
        name = load_outputs(self.places)["WorkerFunctionName"]
        wanted = f"AWS_LAMBDA_FUNCTION_NAME={name}".encode()
        killed = 0
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if wanted in (process / "environ").read_bytes().split(b"\0"):
                    os.kill(int(process.name), signal.SIGKILL)
                    killed += 1
            except OSError:
                continue
        return killed

    @property
    def trust(self) -> ssl.SSLContext | None:
        """What the emulator's certificate is checked against, where it has one."""
        places = self.places
        return ssl.create_default_context(cafile=str(places.certificate)) if places.enforce_iam else None


def subscribe(socket: ClientConnection, conversation_id: str, run_id: str, *, after: int = 0) -> None:
    """Ask for a run's envelopes after `after`, and for what comes."""
    wanted = {"action": "subscribe", "conversationId": conversation_id, "runId": run_id, "after": after}
    socket.send(json.dumps(wanted))


def read_until(socket: ClientConnection, kind: str, *, timeout: float = READ_TIMEOUT_S) -> list[Frame]:
    """Return the envelopes of a run, control frames left out, up to the first of `kind`."""
    frames: list[Frame] = []
    deadline = time.monotonic() + timeout
    while not frames or frames[-1]["type"] != kind:
        frame = json.loads(socket.recv(timeout=max(0.1, deadline - time.monotonic())))
        assert frame["type"] != "refused", frame
        if frame["seq"] > 0:
            frames.append(frame)
    return frames


def in_order(frames: list[Frame]) -> list[Frame]:
    """Return each envelope once, by seq, as a reader must treat them."""
    by_seq = {frame["seq"]: frame for frame in frames}
    return [by_seq[seq] for seq in sorted(by_seq)]


def start(api: Api, question: str, conversation_id: str | None = None) -> tuple[str, str]:
    """Put a question; return the conversation and the run."""
    conversation = conversation_id or api.post("/conversations", {"title": "test"})["conversationId"]
    return conversation, api.post(f"/conversations/{conversation}/messages", {"text": question})["runId"]


def wait_for_end(api: Api, run_id: str, *, within_s: float = 60.0) -> dict[str, Any]:
    """Poll a run until it has ended."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        run: dict[str, Any] = api.get(f"/runs/{run_id}", wait=10)
        if run["status"] == "ended":
            return run
    raise AssertionError(f"run {run_id} has not ended within {within_s} s: {run}")
