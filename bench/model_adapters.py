"""What an adapter adds to each streamed event, over the vendor's own client on the same local server.

    python -m bench.model_adapters [EVENTS]

Both read the same answer of many small deltas from the strict local server, in turn, in this process. Time is
of this process's processor alone, threads included; the server runs in another. The client's own events are
consumed as an application would: read, and their text joined.
"""

import json
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from equerry.engine.model import ModelRequest, Prompt, TextDelta
from equerry.engine.thread import Thread
from google.genai import types

from bench.vendor_clients import open_anthropic, open_bedrock, open_google, open_openai
from tests.contract.models.subjects import KITS, Kit
from tests.strict import (
    anthropic_events,
    bedrock_events,
    bedrock_server,
    google_events,
    google_server,
    openai_events,
)
from tests.strict.replies import Stream

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

EVENTS = 2000
ROUNDS = 15
MOST_RATIO = 1.5


def main() -> None:
    """Print microseconds an event, and the ratio, for each provider."""
    events = int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS
    print(f"{events} deltas an answer, median of {ROUNDS} answers each; microseconds of processor a delta")
    print(f"{'provider':<12}{'client':>9}{'adapter':>9}{'ratio':>8}")
    for kit in KITS:
        with serve_apart(kit.name, events) as url:
            client, adapter = measure(kit, url, events)
        print(f"{kit.name:<12}{client:>9.1f}{adapter:>9.1f}{adapter / client:>8.2f}")


def measure(kit: Kit, url: str, events: int) -> tuple[float, float]:
    """Return the medians, in microseconds a delta; the two take turns, so that both see the same machine."""
    direct = _CLIENTS[kit.name]
    request = ModelRequest(prompt=Prompt(stable="x"), thread=Thread().say("Hello"), deadline_s=120.0)

    class Place:
        """Where the server is; all that a kit asks of one."""

    place: Any = Place()
    place.url = url
    taken: dict[str, list[float]] = {"client": [], "adapter": []}
    with kit.connect(place) as model:
        ways: dict[str, Callable[[], str]] = {
            "client": lambda: "".join(direct(url, kit.key)),
            "adapter": lambda: "".join(e.text for e in model.stream(request) if isinstance(e, TextDelta)),
        }
        for _ in range(ROUNDS):
            for way, read in ways.items():
                began = time.process_time()
                said = read()
                taken[way].append((time.process_time() - began) / events * 1e6)
                assert len(said) == events * len("word "), way
    return statistics.median(taken["client"]), statistics.median(taken["adapter"])


def read_anthropic(url: str, key: str) -> Iterator[str]:
    """The SDK's own stream of events."""
    client = open_anthropic(url, key)
    with client.messages.create(
        model="claude-test-1", max_tokens=64, messages=[{"role": "user", "content": "Hello"}], stream=True
    ) as stream:
        for event in stream:
            if event.type == "content_block_delta" and event.delta.type == "text_delta":
                yield event.delta.text


def read_openai(url: str, key: str) -> Iterator[str]:
    """The SDK's own stream of events."""
    client = open_openai(url, key)
    with client.responses.create(model="gpt-test-1", input="Hello", store=False, stream=True) as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                yield event.delta


def read_bedrock(url: str, key: str) -> Iterator[str]:
    """botocore's own stream of events."""
    client = open_bedrock(url, key)
    messages = [{"role": "user", "content": [{"text": "Hello"}]}]
    with closing(client.converse_stream(modelId=bedrock_server.MODEL, messages=messages)["stream"]) as stream:
        for event in stream:
            if delta := event.get("contentBlockDelta"):
                yield delta["delta"]["text"]


def read_google(url: str, key: str) -> Iterator[str]:
    """The SDK's own stream of responses."""
    client = open_google(url, key)
    config = types.GenerateContentConfig(max_output_tokens=64)
    stream = client.models.generate_content_stream(model=google_server.MODEL, contents="Hello", config=config)
    for response in stream:
        if response.text:
            yield response.text


_CLIENTS: dict[str, Callable[[str, str], Iterator[str]]] = {
    "anthropic": read_anthropic,
    "openai": read_openai,
    "bedrock": read_bedrock,
    "google": read_google,
}


@contextmanager
def serve_apart(name: str, events: int) -> Iterator[str]:
    """Serve in a process of its own, so that its work is not counted."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_serve, args=(name, events, theirs), daemon=True)
    process.start()
    try:
        yield json.loads(ours.recv())
    finally:
        ours.send("stop")
        process.join(10)


def _serve(name: str, events: int, pipe: "Connection[Any, Any]") -> None:
    words = ["word "] * events
    answers = {
        "anthropic": lambda: anthropic_events.message(anthropic_events.text(*words)),
        "openai": lambda: openai_events.response(openai_events.text(*words)),
        "bedrock": lambda: bedrock_events.message(bedrock_events.text(*words)),
        "google": lambda: google_events.answer(google_events.text(*words)),
    }
    (kit,) = (kit for kit in KITS if kit.name == name)
    answer = Stream(answers[name]())
    with kit.serve() as server:
        server.choose = lambda _: answer
        server.keeps_alive = True
        pipe.send(json.dumps(server.url))
        pipe.recv()


if __name__ == "__main__":
    main()
