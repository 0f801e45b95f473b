"""The audit of tool calls: whose it is, in which order, page by page."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from equerry.adapters.postgres.activity import PostgresActivityAdapter
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.runs import PostgresRunAdapter
from equerry.adapters.postgres.transcripts import PostgresTranscriptAdapter
from equerry.admin.activity import ActivityScreen
from equerry.domain.activity import ActivityFilter, ActivityRow
from equerry.domain.conversations import Conversation, Run, RunEnd, ToolAction, TranscriptMessage
from equerry.domain.principal import AdminRequired, Principal, Scope
from equerry.kernel.errors import InvalidInput
from equerry.kernel.identifiers import ConversationId, MessageId, RunId, ToolCallId
from equerry.kernel.usage import Usage
from equerry.ports.activity import ActivityPort
from equerry.ports.transcripts import RunPort, TranscriptPort

from tests.contract.databases import build_scope, new_organisation
from tests.fakes.activity import MemoryActivityAdapter
from tests.fakes.clock import NOON
from tests.fakes.transcripts import (
    MemoryRunAdapter,
    MemoryTranscriptAdapter,
    MemoryTranscripts,
    let_begin,
)

EVERYTHING = ActivityFilter()


@dataclass(frozen=True)
class Office:
    """An organisation whose people have tools called for them."""

    organisation: str
    transcripts: TranscriptPort
    runs: RunPort
    activity: ActivityPort

    def person(self, user: str) -> Scope:
        return build_scope(self.organisation, user)

    @property
    def admin(self) -> Scope:
        return build_scope(self.organisation, "root", role="admin")

    def work(self, scope: Scope, *tools: str, at: datetime = NOON, ok: bool = True) -> RunId:
        """Have one run call these tools, one after another."""
        conversation_id, run_id = ConversationId(str(uuid4())), RunId(str(uuid4()))
        conversation = Conversation(
            conversation_id=conversation_id, profile="docs", title="t", created_at=at, updated_at=at
        )
        self.transcripts.create_conversation(scope, conversation)
        question = MessageId(str(uuid4()))
        run = Run(
            run_id=run_id,
            conversation_id=conversation_id,
            user_message_id=question,
            assistant_message_id=MessageId(str(uuid4())),
            profile="docs",
            mode="queued",
            mode_reason="needs_model",
            created_at=at,
        )
        said = TranscriptMessage(message_id=question, role="user", text="?", run_id=run_id, created_at=at)
        self.transcripts.append_turn(scope, run.conversation_id, let_begin(scope, run, said))
        actions = tuple(
            ToolAction(
                call_id=ToolCallId(f"call-{index}"),
                tool=tool,
                arguments={"query": "text of 9 characters"},
                ok=ok,
                summary="1 passage",
                duration_ms=12,
            )
            for index, tool in enumerate(tools)
        )
        end = RunEnd(stop_reason="end_turn", usage=Usage(), last_seq=1, ended_at=at, actions=actions)
        assert self.runs.end_run(scope, run_id, end)
        return run_id

    def tools(self, scope: Scope, wanted: ActivityFilter = EVERYTHING) -> list[str]:
        return [row.tool for row in self.activity.list_activity(scope, wanted, after=None, limit=100)]


@pytest.fixture(params=["memory", "postgres"])
def office(request: pytest.FixtureRequest) -> Office:
    if request.param == "memory":
        store = MemoryTranscripts()
        return Office(
            new_organisation(),
            MemoryTranscriptAdapter(store),
            MemoryRunAdapter(store),
            MemoryActivityAdapter(store),
        )
    connections: PostgresConnections = request.getfixturevalue("connections")
    return Office(
        new_organisation(),
        PostgresTranscriptAdapter(connections),
        PostgresRunAdapter(connections),
        PostgresActivityAdapter(connections),
    )


def test_an_administrator_sees_the_whole_organisation_and_a_member_their_own(office: Office) -> None:
    office.work(office.person("ada"), "search_docs")
    office.work(office.person("ben"), "lookup_docs")

    assert sorted(office.tools(office.admin)) == ["lookup_docs", "search_docs"]
    assert office.tools(office.person("ada")) == ["search_docs"]
    assert office.tools(office.person("cleo")) == []


def test_another_organisations_administrator_sees_nothing(office: Office) -> None:
    office.work(office.person("ada"), "search_docs")

    assert office.tools(build_scope(new_organisation(), "root", role="admin")) == []


@pytest.mark.req("A-ADMIN-02")
def test_a_row_says_what_was_done_and_nothing_that_was_said(office: Office) -> None:
    run_id = office.work(office.person("ada"), "search_docs")

    (row,) = office.activity.list_activity(office.admin, EVERYTHING, after=None, limit=5)

    assert row == ActivityRow(
        run_id=run_id,
        call_id=ToolCallId("call-0"),
        position=row.position,
        user_id=office.person("ada").user_id,
        tool="search_docs",
        arguments={"query": "text of 9 characters"},
        outcome="ok",
        summary="1 passage",
        duration_ms=12,
        at=NOON,
    )


@pytest.mark.req("A-ADMIN-03", "A-ADMIN-09", "A-ADMIN-10")
@pytest.mark.parametrize("size", [1, 2, 3, 200])
def test_pages_together_hold_every_row_once_newest_first(office: Office, size: int) -> None:
    ada = office.person("ada")
    office.work(ada, "first", at=NOON - timedelta(hours=2))
    office.work(ada, "second", "third", at=NOON - timedelta(hours=1))
    office.work(ada, "fourth", at=NOON)
    screen = ActivityScreen(activity=office.activity)
    principal = Principal(scope=office.admin, expires_at=NOON)

    seen: list[str] = []
    query = {"limit": str(size)}
    while True:
        page = screen.show(principal, query)
        assert len(page.rows) <= size
        seen += [row.tool for row in page.rows]
        if page.cursor is None:
            break
        query["cursor"] = page.cursor

    assert seen == ["fourth", "third", "second", "first"]


@pytest.mark.req("A-ADMIN-04", "A-ADMIN-05", "A-ADMIN-06", "A-ADMIN-07")
def test_filters_are_exact_and_bounds_include_the_start_and_not_the_end(office: Office) -> None:
    ada = office.person("ada")
    office.work(ada, "search_docs", at=NOON - timedelta(hours=1))
    office.work(ada, "search", at=NOON, ok=False)

    assert office.tools(office.admin, ActivityFilter(tool="search")) == ["search"]
    assert office.tools(office.admin, ActivityFilter(exclude_tool="search")) == ["search_docs"]
    assert office.tools(office.admin, ActivityFilter(since=NOON)) == ["search"]
    assert office.tools(office.admin, ActivityFilter(before=NOON)) == ["search_docs"]
    assert office.tools(office.admin, ActivityFilter(outcome="error")) == ["search"]


@pytest.mark.req("A-ADMIN-01")
def test_the_screen_is_for_administrators(office: Office) -> None:
    screen = ActivityScreen(activity=office.activity)

    with pytest.raises(AdminRequired):
        screen.show(Principal(scope=office.person("ada"), expires_at=NOON), {})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("limit", "0"),
        ("limit", "201"),
        ("limit", "many"),
        ("from", "yesterday"),
        ("to", "2031-05-06T12:00:00"),
        ("outcome", "great"),
        ("cursor", "x"),
        ("cursor", "fHx8"),
    ],
)
def test_a_parameter_that_does_not_fit_is_named(office: Office, name: str, text: str) -> None:
    screen = ActivityScreen(activity=office.activity)

    with pytest.raises(InvalidInput) as refused:
        screen.show(Principal(scope=office.admin, expires_at=NOON), {name: text})

    assert refused.value.field == name
