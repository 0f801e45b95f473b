"""Tools that run side by side share a container's two connections: those beyond two wait, and none fails."""

from collections.abc import Generator, Mapping

import pytest
from equerry.domain.principal import Scope
from equerry.engine.assistant import Assistant
from equerry.engine.messages import ToolCallBlock, ToolResultBlock
from equerry.engine.model import (
    ModelEvent,
    ModelRequest,
    Prompt,
    RoundEnd,
    RoundStop,
    ToolCallReady,
    ToolSpec,
)
from equerry.engine.run_loop import RunLoop
from equerry.engine.thread import Thread
from equerry.engine.tool import ToolEffect, ToolOutcome
from equerry.engine.tool_calls import SIDE_BY_SIDE
from equerry.kernel.identifiers import ToolCallId
from equerry.kernel.usage import Usage
from equerry.runtime.clock import SystemClock

from tests.contract.databases import Database, build_scope

pytestmark = pytest.mark.postgres


class WhoTool:
    """Asks the database, under its own scope, who asks; and takes its time."""

    effect: ToolEffect = "read"
    label = "Asking"

    def __init__(self, database: Database, scope: Scope) -> None:
        self.spec = ToolSpec(
            name=f"who_{scope.user_id}", description="Asks.", input_schema={"type": "object"}
        )
        self._connections = database.connect(max_size=2)
        self._scope = scope

    def run(self, _arguments: Mapping[str, object]) -> ToolOutcome:
        with self._connections.transaction(self._scope) as rows:
            row = rows.execute("SELECT equerry_user() AS user FROM pg_sleep(0.05)").fetchone()
        assert row is not None
        return ToolOutcome(content=str(row["user"]))


@pytest.mark.req("A-POOL-01")
def test_more_tools_than_connections_wait_for_them_and_each_keeps_its_own_scope(database: Database) -> None:
    tool = WhoTool(database, build_scope("org-side-by-side"))
    calls = [
        ToolCallBlock(call_id=ToolCallId(f"c{n}"), tool=tool.spec.name, arguments={})
        for n in range(3 * SIDE_BY_SIDE)
    ]

    def stream(request: ModelRequest) -> Generator[ModelEvent, None, None]:
        if len(request.thread.messages) == 1:
            yield from map(ToolCallReady, calls)
        stop: RoundStop = "tool_use" if len(request.thread.messages) == 1 else "end_turn"
        yield RoundEnd(stop=stop, usage=Usage())

    outcome = RunLoop(stream_round=stream, clock=SystemClock()).run(
        Assistant(prompt=Prompt(stable="."), tools=(tool,)), Thread().say("Who?")
    )

    results = [b for m in outcome.thread.messages for b in m.blocks if isinstance(b, ToolResultBlock)]
    assert {(result.ok, result.content) for result in results} == {(True, str(tool._scope.user_id))}
    assert len(results) == len(calls)
