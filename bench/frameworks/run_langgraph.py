"""langgraph: the graph of its guides, a model node and a ToolNode, over a chat model of langchain-core's."""

import json
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from shuttle import ARGUMENTS, DELTAS, QUESTION, WORD, Shape, ToolCount, serve

COUNT = ToolCount()
SHAPE: ContextVar[Shape] = ContextVar("shape")
JSON = json.dumps(ARGUMENTS)


class ScriptedModel(BaseChatModel):
    """Plays the shape."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, *_args: Any, **_named: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content="unused"))])

    def _stream(
        self, messages: list[BaseMessage], *_args: Any, **_named: Any
    ) -> Iterator[ChatGenerationChunk]:
        shape = SHAPE.get()
        number = sum(isinstance(message, AIMessage) for message in messages) + 1
        if number < shape.rounds:
            for call in range(shape.calls):
                chunk = {"name": "look", "args": JSON, "id": f"call-{number}-{call}", "index": call}
                yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[chunk]))
            return
        for _ in range(DELTAS):
            yield ChatGenerationChunk(message=AIMessageChunk(content=WORD))


@tool
def look(query: str) -> str:
    """Look something up."""
    return COUNT.look(query)


model = ScriptedModel()


def ask(state: MessagesState) -> dict[str, list[BaseMessage]]:
    whole: Any = None
    for chunk in model.stream(state["messages"]):
        whole = chunk if whole is None else whole + chunk
    return {"messages": [whole]}


builder = StateGraph(MessagesState)
builder.add_node("ask", ask)
builder.add_node("tools", ToolNode([look]))
builder.add_edge(START, "ask")
builder.add_conditional_edges("ask", tools_condition)
builder.add_edge("tools", "ask")
graph = builder.compile()


def turn(shape: Shape) -> str:
    SHAPE.set(shape)
    question = {"messages": [("system", "Be brief."), ("user", QUESTION)]}
    config = {"recursion_limit": 1000}
    parts = graph.stream(question, config, stream_mode="messages")
    return "".join(str(part.content) for part, _ in parts if isinstance(part, AIMessageChunk))


serve(turn, COUNT)
