"""The provider of the chaos tests: speaks the strict wire, and counts who asked it what."""

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

from tests.strict import anthropic_events as wire
from tests.strict.anthropic_server import StrictAnthropicServer, serve_anthropic

MARK = re.compile(r"\[(search|say):([0-9a-f]{12})\]")
WORDS = ("The ", "dome ", "turns ", "on ", "forty ", "bronze ", "wheels.")
PAUSE_S = 0.06
"""Longer than what a publisher merges, so that an answer is several frames."""
SPENT = wire.USAGE["input_tokens"] + 300 + 20 + 42
"""Tokens of one round, cache reads and writes included, as the wire reports them."""


def mark_question(kind: str) -> str:
    """Return a question that nobody has put before; "search" makes the model look something up first."""
    return f"How does the dome turn? [{kind}:{uuid4().hex[:12]}]"


class Provider:
    """Answers every marked question, and knows how often each round of it was asked for.

    `interfere` runs in the middle of an answer, with the question's mark.
    """

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, int]] = Counter()
        self.interfere: Callable[[str], None] = lambda _: None
        self.url = ""
        self._lock = threading.Lock()

    def count_repeats(self, question: str) -> int:
        """Return how often a round of this question was asked for more than once."""
        mark = _find_mark(question)
        return sum(times - 1 for (asked, _), times in self.asked.items() if asked == mark)

    def count_rounds(self, question: str) -> int:
        """Return how many requests this question has caused."""
        mark = _find_mark(question)
        return sum(times for (asked, _), times in self.asked.items() if asked == mark)

    def choose(self, body: wire.Json) -> wire.Reply:
        """Return the reply to one request: a tool call, or seven words."""
        kind, mark = MARK.findall(json.dumps(body["messages"]))[-1]
        searched = "tool_result" in json.dumps(body["messages"][-1])
        with self._lock:
            self.asked[mark, int(searched)] += 1
        if kind == "search" and not searched:
            call = wire.tool('{"query": "dome"}', call_id=f"toolu_{mark}")
            return wire.Stream(wire.message(call, stop="tool_use"))
        return wire.Stream(self._pace(mark))

    def _pace(self, mark: str) -> tuple[wire.Item, ...]:
        """Spread the words over time, and interfere half-way."""
        paced: list[wire.Item] = []
        words = 0
        for event in wire.message(wire.text(*WORDS)):
            paced.append(event)
            if event.name == "content_block_delta":
                words += 1
                paced.append(wire.Stall(PAUSE_S))
                if words == len(WORDS) // 2:
                    paced.append(wire.Then(lambda: self.interfere(mark)))
        return tuple(paced)


@contextmanager
def serve_provider() -> Iterator[tuple[Provider, StrictAnthropicServer]]:
    """Serve on a free loopback port until the block ends."""
    provider = Provider()
    with serve_anthropic(provider.choose) as server:
        provider.url = server.url
        yield provider, server


def _find_mark(question: str) -> str:
    found = MARK.search(question)
    assert found is not None, f"not a marked question: {question}"
    return found[2]
