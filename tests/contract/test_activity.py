"""The audit of tool calls: whose it is, in which order, page by page."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from equerry.adapters.postgres.activity import PostgresActivityAdapter
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.runs import PostgresRunAdapter
from equerry.adapters.postgres.transcripts import PostgresTranscriptAdapter
from equerry.admin.activity import ActivityScreen
from equerry.domain.activity import ActivityFilter, ActivityRow, DraftRecord
from equerry.domain.catalogue import ProductRoute
from equerry.domain.conversations import Conversation, Run, RunEnd, TranscriptMessage
from equerry.domain.intents import Classification, Intent, NavigateIntent, NoIntent
from equerry.domain.principal import AdminRequired, Principal, Scope
from equerry.engine.tool import ToolFailure
from equerry.kernel.errors import InvalidInput
from equerry.kernel.identifiers import ConversationId, DraftId, MessageId, RunId, ToolCallId
from equerry.kernel.usage import Usage
from equerry.ports.activity import ActivityPort
from equerry.ports.transcripts import RunPort, TranscriptPort

from tests.contract.databases import build_scope, new_organisation
from tests.contract.steps import build_step
from tests.fakes.activity import MemoryActivityAdapter
from tests.fakes.clock import NOON, FixedClock
from tests.fakes.transcripts import (
    MemoryRunAdapter,
    MemoryTranscriptAdapter,
    MemoryTranscripts,
    let_begin,
)

EVERYTHING = ActivityFilter()
ORDERS = ProductRoute(route_id="orders", label="Orders", path="/orders")


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

    def work(
        self,
        scope: Scope,
        *tools: str,
        at: datetime = NOON,
        failure: ToolFailure | None = None,
        taken: Classification | None = None,
        **changed: object,
    ) -> RunId:
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
        self.transcripts.append_turn(scope, run.conversation_id, let_begin(scope, run, said, taken))
        actions = tuple(
            build_step(
                index,
                tool=tool,
                ok=failure is None,
                failure=failure,
                started_at=at,
                finished_at=at,
                **changed,
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


@pytest.mark.req("A-TURN-05")
@pytest.mark.parametrize(
    ("intent", "outcome"),
    [
        (NavigateIntent(route=ORDERS, score=1.0, path="/orders"), "ok"),
        (NoIntent(reason="ambiguous", nearest="orders", score=0.8), "ok"),
        (NoIntent(reason="unavailable"), "error"),
    ],
)
def test_what_a_question_was_taken_for_is_kept_with_its_turn_and_once(
    office: Office, intent: Intent, outcome: str
) -> None:
    taken = Classification(intent=intent, duration_ms=3)
    run_id = office.work(office.person("ada"), "search_docs", taken=taken)

    found = office.activity.list_activity(office.admin, EVERYTHING, after=None, limit=10)

    (row,) = [row for row in found if row.tool == "fast_path"]
    assert (row.run_id, row.user_id, row.outcome, row.duration_ms) == (run_id, "ada", outcome, 3)
    assert (row.arguments, row.result) == ({}, taken.describe())
    assert sorted(row.tool for row in found) == ["fast_path", "search_docs"]


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
        arguments={"query": "text of 10 characters"},
        outcome="ok",
        result={"passages": 2, "documents": 1, "characters": 900},
        duration_ms=31,
        at=NOON,
    )


@pytest.mark.req("A-ADMIN-03", "A-ADMIN-09", "A-ADMIN-10")
@pytest.mark.parametrize("size", [1, 2, 3, 200])
def test_pages_together_hold_every_row_once_newest_first(office: Office, size: int) -> None:
    ada = office.person("ada")
    office.work(ada, "first", at=NOON - timedelta(hours=2))
    office.work(ada, "second", "third", at=NOON - timedelta(hours=1))
    office.work(ada, "fourth", at=NOON)
    screen = ActivityScreen(activity=office.activity, clock=FixedClock())
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
    office.work(ada, "search", at=NOON, failure="failed")

    assert office.tools(office.admin, ActivityFilter(tool="search")) == ["search"]
    assert office.tools(office.admin, ActivityFilter(exclude_tool="search")) == ["search_docs"]
    assert office.tools(office.admin, ActivityFilter(since=NOON)) == ["search"]
    assert office.tools(office.admin, ActivityFilter(before=NOON)) == ["search_docs"]
    assert office.tools(office.admin, ActivityFilter(outcome="error")) == ["search"]


@pytest.mark.req("A-ADMIN-08")
def test_every_row_is_of_one_of_three_outcomes(office: Office) -> None:
    ada = office.person("ada")
    office.work(ada, "worked")
    office.work(ada, "broke", failure="failed")
    office.work(ada, "unknown", failure="unknown_tool")
    screen = ActivityScreen(activity=office.activity, clock=FixedClock())
    principal = Principal(scope=office.admin, expires_at=NOON)

    found = {
        outcome: [row.tool for row in screen.show(principal, {"outcome": outcome}).rows]
        for outcome in ("ok", "error", "refused")
    }

    assert found == {"ok": ["worked"], "error": ["broke"], "refused": ["unknown"]}


@pytest.mark.req("A-RED-04")
def test_what_should_never_have_been_kept_is_taken_out_again_when_it_is_read(office: Office) -> None:
    office.work(
        office.person("ada"),
        "search_docs",
        arguments={"apiKey": "canary-1", "query": ["Bearer canary-22"]},
        facts={"deep": {"password": "canary-3"}},
    )
    screen = ActivityScreen(activity=office.activity, clock=FixedClock())

    (row,) = screen.show(Principal(scope=office.admin, expires_at=NOON), {}).rows

    assert "canary" not in f"{row.arguments} {row.result}"


def build_draft(office: Office, run_id: RunId, number: int, *, edited: bool | None = None) -> DraftRecord:
    return DraftRecord(
        draft_id=DraftId(f"draft-{number}"),
        run_id=run_id,
        conversation_id=ConversationId(str(uuid4())),
        stage="accepted",
        target="estimate",
        operation="update",
        applied_record="estimate-7",
        edited=edited,
        at=NOON,
    )


@pytest.mark.req("A-ADMIN-12")
def test_a_drafts_stages_name_target_operation_and_record_and_tell_an_edit(office: Office) -> None:
    ada = office.person("ada")
    run_id = office.work(ada, "propose")
    accepted = build_draft(office, run_id, 1, edited=True)
    staged = replace(accepted, stage="staged", applied_record=None, edited=None)

    for draft in (staged, accepted, accepted):
        office.activity.record_draft(ada, draft)

    rows = office.activity.list_activity(
        office.admin, ActivityFilter(exclude_tool="propose"), after=None, limit=9
    )
    told = [
        (row.tool, row.target, row.operation, row.applied_record, row.edited, row.user_id) for row in rows
    ]
    assert told == [
        ("draft_accepted", "estimate", "update", "estimate-7", True, "ada"),
        ("draft_staged", "estimate", "update", None, None, "ada"),
    ]


@pytest.mark.req("A-ADMIN-13", "A-ADMIN-14")
@pytest.mark.parametrize(
    ("accepted", "unedited", "sufficient", "flagged"),
    [(19, 19, False, False), (20, 17, True, False), (20, 18, True, True), (30, 30, True, True)],
)
def test_fatigue_is_told_from_twenty_accepted_drafts_on(
    office: Office, accepted: int, unedited: int, sufficient: bool, flagged: bool
) -> None:
    ada = office.person("ada")
    run_id = office.work(ada, "propose")
    for number in range(accepted):
        office.activity.record_draft(ada, build_draft(office, run_id, number, edited=number >= unedited))
    screen = ActivityScreen(activity=office.activity, clock=FixedClock())

    found = screen.show_fatigue(Principal(scope=office.admin, expires_at=NOON))

    assert (found.accepted, found.unedited) == (accepted, unedited)
    assert (found.is_sufficient, found.is_flagged) == (sufficient, flagged)
    assert (found.unedited_pct is None) == (not sufficient)


@pytest.mark.req("A-ADMIN-13")
def test_fatigue_looks_back_thirty_days_and_at_acceptances_alone(office: Office) -> None:
    ada = office.person("ada")
    run_id = office.work(ada, "propose")
    draft = build_draft(office, run_id, 1, edited=False)
    office.activity.record_draft(ada, replace(draft, at=NOON - timedelta(days=30, seconds=1)))
    office.activity.record_draft(ada, replace(draft, draft_id=DraftId("draft-2"), stage="rejected"))
    office.activity.record_draft(ada, replace(draft, draft_id=DraftId("draft-3")))

    since = NOON - timedelta(days=30)

    assert office.activity.fetch_fatigue(office.admin, since=since).accepted == 1
    elsewhere = build_scope(new_organisation(), "root", role="admin")
    assert office.activity.fetch_fatigue(elsewhere, since=since).accepted == 0


def test_each_look_at_a_record_is_audited_as_the_readers_doing(office: Office) -> None:
    run_id = office.work(office.person("ada"), "search_docs")

    office.activity.record_reads(office.admin, [run_id], at=NOON)
    office.activity.record_reads(office.admin, [run_id], at=NOON)

    rows = office.activity.list_activity(
        office.admin, ActivityFilter(tool="run_record_read"), after=None, limit=9
    )
    assert [(row.run_id, row.user_id, row.arguments) for row in rows] == [(run_id, "root", {})] * 2


@pytest.mark.req("A-ADMIN-01")
def test_fatigue_is_for_administrators(office: Office) -> None:
    screen = ActivityScreen(activity=office.activity, clock=FixedClock())

    with pytest.raises(AdminRequired):
        screen.show_fatigue(Principal(scope=office.person("ada"), expires_at=NOON))


@pytest.mark.req("A-ADMIN-01")
def test_the_screen_is_for_administrators(office: Office) -> None:
    screen = ActivityScreen(activity=office.activity, clock=FixedClock())

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
    screen = ActivityScreen(activity=office.activity, clock=FixedClock())

    with pytest.raises(InvalidInput) as refused:
        screen.show(Principal(scope=office.admin, expires_at=NOON), {name: text})

    assert refused.value.field == name
