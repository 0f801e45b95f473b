"""A responder without model weights: searches, then answers in the documents' own sentences or abstains."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from equerry.adapters.embedded.extractive_answer import NO_SEARCH, write_answer
from equerry.adapters.embedded.extractive_question import Question, interpret_question
from equerry.adapters.embedded.extractive_selection import select_sentences
from equerry.domain.fencing import unfence
from equerry.domain.passage_format import RenderedPassage, parse_passages
from equerry.domain.questions import list_questions, read_question
from equerry.engine.messages import TextBlock, ToolCallBlock, ToolResultBlock
from equerry.engine.model import (
    ModelChoice,
    ModelRequest,
    ModelStream,
    RoundEnd,
    TextDelta,
    ToolCallReady,
    ToolSpec,
)
from equerry.engine.thread import Thread
from equerry.kernel.clock import Clock
from equerry.kernel.identifiers import ToolCallId
from equerry.kernel.kinds import value
from equerry.kernel.usage import Usage

SEARCH = "search_docs"
CHOICE = ModelChoice(provider="embedded", model="extractive-1")


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractiveModelAdapter:
    """Plays the tool protocol as a model does: a search call first, then an answer out of what it returned.

    `word_delay_s` is the pause after each word, so that a reader sees an answer arrive.
    """

    clock: Clock
    word_delay_s: float = 0.0

    @property
    def choice(self) -> ModelChoice:
        """What it is: no language model."""
        return CHOICE

    def stream(self, request: ModelRequest) -> ModelStream:
        """Search in the first round, answer in the next."""
        question = _interpret(request.thread)
        results = _read_results(request.thread)
        search = _find_search(request)
        if results is None and search and question.query:
            yield from _call(search, question, request)
            return
        if results is None:
            pieces = tuple(NO_SEARCH.replace(" ", "\0 ").split("\0"))
        else:
            pieces = write_answer(select_sentences(question, results), results)
        yield from self._say(pieces, request)

    def _say(self, pieces: Sequence[str], request: ModelRequest) -> ModelStream:
        said = ""
        for piece in pieces:
            if _estimate_tokens(said + piece) > request.max_output_tokens:
                yield RoundEnd(stop="max_tokens", usage=_measure(request, said))
                return
            said += piece
            yield TextDelta(piece)
            self.clock.sleep(self.word_delay_s)
        yield RoundEnd(stop="end_turn", usage=_measure(request, said))


def _call(search: ToolSpec, question: Question, request: ModelRequest) -> ModelStream:
    call = ToolCallBlock(
        call_id=ToolCallId(f"search-{len(request.thread.messages)}"),
        tool=search.name,
        arguments={"query": question.query},
    )
    yield ToolCallReady(call)
    yield RoundEnd(stop="tool_use", usage=_measure(request, question.query))


def _interpret(thread: Thread) -> Question:
    asked = list_questions(thread)
    return interpret_question(asked[-1] if asked else "", earlier=asked[:-1])


def _read_results(thread: Thread) -> tuple[RenderedPassage, ...] | None:
    """The passages found for the last question, best first; None when nothing was searched since it."""
    found: list[RenderedPassage] = []
    searched = False
    for message in reversed(thread.messages):
        if read_question(message):
            break
        for block in message.blocks:
            if isinstance(block, ToolResultBlock):
                searched = True
                found += parse_passages(unfence(block.content))
    return tuple({each.handle: each for each in found}.values()) if searched else None


def _find_search(request: ModelRequest) -> ToolSpec | None:
    offered = request.tools if request.tools_allowed else ()
    named = next((tool for tool in offered if tool.name == SEARCH), None)
    return named or next((tool for tool in offered if _takes_a_query(tool)), None)


def _takes_a_query(tool: ToolSpec) -> bool:
    properties = tool.input_schema.get("properties")
    query = properties.get("query") if isinstance(properties, dict) else None
    return (
        isinstance(query, dict)
        and query.get("type") == "string"
        and tool.input_schema.get("required") == ["query"]
    )


def _measure(request: ModelRequest, said: str) -> Usage:
    """Estimates: there is no tokenizer, because there is no model."""
    blocks = [block for message in request.thread.messages for block in message.blocks]
    read = [request.prompt.stable, request.prompt.dynamic]
    read += [block.text for block in blocks if isinstance(block, TextBlock)]
    read += [block.content for block in blocks if isinstance(block, ToolResultBlock)]
    return Usage(input_tokens=sum(map(_estimate_tokens, read)), output_tokens=_estimate_tokens(said))


def _estimate_tokens(text: str) -> int:
    return math.ceil(len(text.split()) * 4 / 3)
