"""Requests for the model tests, with the defaults that most of them share."""

import base64
from collections.abc import Iterable, Iterator

from equerry.domain.corpora import Passage
from equerry.domain.passage_format import render_passages
from equerry.engine.messages import ToolResultBlock
from equerry.engine.model import (
    ModelEvent,
    ModelRequest,
    OpaqueState,
    Prompt,
    ReasoningLevel,
    RoundEnd,
    StillWorking,
    TextDelta,
    ToolCallReady,
    ToolSpec,
)
from equerry.engine.thread import Thread
from equerry.kernel.identifiers import CorpusId, DocumentId, PassageId
from equerry.ports.model import ModelPort

SEARCH = ToolSpec(
    name="search_docs",
    description="Search the documents.",
    input_schema={
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
        "additionalProperties": False,
    },
)
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYPgPAAEDAQDqF8XgAAAAAElFTkSuQmCC"
)


def ask(
    question: str = "How are widgets painted?",
    *,
    thread: Thread | None = None,
    tools: tuple[ToolSpec, ...] = (SEARCH,),
    tools_allowed: bool = True,
    max_output_tokens: int = 1024,
    deadline_s: float = 60.0,
    stable: str = "You answer out of documents.",
    dynamic: str = "",
    attempts: int = 4,
    forced_tool: str | None = None,
    reasoning: ReasoningLevel | None = None,
) -> ModelRequest:
    """A round that answers `question`, after `thread` if there is one."""
    return ModelRequest(
        prompt=Prompt(stable=stable, dynamic=dynamic),
        thread=(thread or Thread()).say(question) if question else thread or Thread(),
        tools=tools,
        tools_allowed=tools_allowed,
        max_output_tokens=max_output_tokens,
        deadline_s=deadline_s,
        attempts=attempts,
        forced_tool=forced_tool,
        reasoning=reasoning,
    )


def passage(
    text: str, *, title: str = "Widgets", headings: tuple[str, ...] = (), handle: str = "p000001"
) -> tuple[str, Passage]:
    return handle, Passage(
        passage_id=PassageId(handle),
        document_id=DocumentId("d"),
        corpus_id=CorpusId("docs"),
        title=title,
        heading_path=headings,
        text=text,
        source_path="widgets.md",
        version=1,
        token_count=len(text.split()),
    )


def found(*passages: tuple[str, Passage]) -> str:
    return render_passages(passages) or "No passages match."


def resolve(
    request: ModelRequest, events: list[ModelEvent], content: str, *, ok: bool = True
) -> ModelRequest:
    """The next round: the calls of `events` answered, each with `content`; the provider's state is kept."""
    calls = [event.call for event in events if isinstance(event, ToolCallReady)]
    blocks = [
        event.call if isinstance(event, ToolCallReady) else event.block
        for event in events
        if isinstance(event, ToolCallReady | OpaqueState)
    ]
    results = [ToolResultBlock(call_id=call.call_id, content=content, ok=ok) for call in calls]
    thread = request.thread.answer(*blocks).resolve(*results)
    return ask("", thread=thread, tools=request.tools, max_output_tokens=request.max_output_tokens)


def news(stream: Iterable[ModelEvent]) -> Iterator[ModelEvent]:
    """What came, without the provider's signs of life."""
    return (event for event in stream if not isinstance(event, StillWorking))


def collect(model: ModelPort, request: ModelRequest) -> list[ModelEvent]:
    return list(news(model.stream(request)))


def text_of(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def end_of(events: list[ModelEvent]) -> RoundEnd:
    last = events[-1]
    assert isinstance(last, RoundEnd)
    return last


def arguments_of(events: list[ModelEvent]) -> list[dict[str, object]]:
    """What each call that was handed over asks for, in order."""
    return [dict(event.call.arguments) for event in events if isinstance(event, ToolCallReady)]
