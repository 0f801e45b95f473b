"""RunRecordPort: what is kept of how runs went, whoever ends them, and who may read it."""

from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
from equerry.adapters.postgres.activity import PostgresActivityAdapter
from equerry.adapters.postgres.records import PostgresRunRecordAdapter
from equerry.adapters.postgres.runs import PostgresRunAdapter
from equerry.adapters.postgres.transcripts import PostgresTranscriptAdapter
from equerry.domain.activity import ActivityFilter
from equerry.domain.conversations import Conversation, Run, RunEnd, TranscriptMessage
from equerry.domain.pricing import Cost
from equerry.domain.principal import Scope
from equerry.domain.records import Incident
from equerry.engine.model import ModelChoice
from equerry.kernel.errors import NotFound
from equerry.kernel.identifiers import ConversationId, MessageId, RunId
from equerry.kernel.usage import Usage
from equerry.ports.activity import ActivityPort
from equerry.ports.records import RunRecordPort
from equerry.ports.transcripts import RunPort, TranscriptPort

from tests.contract.databases import build_scope, new_organisation
from tests.contract.steps import begin_step, build_step
from tests.fakes.activity import MemoryActivityAdapter
from tests.fakes.clock import NOON
from tests.fakes.records import MemoryRunRecordAdapter
from tests.fakes.transcripts import (
    MemoryRunAdapter,
    MemoryTranscriptAdapter,
    MemoryTranscripts,
    let_begin,
)

MODEL = ModelChoice(provider="embedded", model="extractive-1")
USAGE = Usage(input_tokens=900, output_tokens=40, cached_input_tokens=512)
MANIFEST = {"instructions": {"version": "v1"}, "taskClass": "chat", "tools": [{"name": "search_docs"}]}
END = RunEnd(
    stop_reason="end_turn",
    usage=USAGE,
    last_seq=9,
    ended_at=NOON + timedelta(minutes=1),
    first_text_at=NOON + timedelta(seconds=20),
    text="Yearly.",
    outcome={"rounds": [{"number": 1}], "verification": {"citationsRemoved": 1}},
    cost=Cost(Decimal("0.00123"), date(2026, 10, 24)),
)


@dataclass(frozen=True)
class Desk:
    organisation: str
    transcripts: TranscriptPort
    runs: RunPort
    records: RunRecordPort
    activity: ActivityPort

    def person(self, user: str = "ada") -> Scope:
        return build_scope(self.organisation, user)

    @property
    def admin(self) -> Scope:
        return build_scope(self.organisation, "root", role="admin")

    @property
    def strangers(self) -> list[Scope]:
        return [self.person("ben"), build_scope(new_organisation(), "ada", role="admin")]

    def ask(self, scope: Scope, *, minutes: int = 0, profile: str = "docs") -> Run:
        at = NOON + timedelta(minutes=minutes)
        conversation = Conversation(
            conversation_id=ConversationId(str(uuid4())),
            profile=profile,
            title="t",
            created_at=at,
            updated_at=at,
        )
        self.transcripts.create_conversation(scope, conversation)
        run = Run(
            run_id=RunId(str(uuid4())),
            conversation_id=conversation.conversation_id,
            user_message_id=MessageId(str(uuid4())),
            assistant_message_id=MessageId(str(uuid4())),
            profile=profile,
            mode="queued",
            mode_reason="needs_model",
            created_at=at,
        )
        said = TranscriptMessage(
            message_id=run.user_message_id, role="user", text="?", run_id=run.run_id, created_at=at
        )
        self.transcripts.append_turn(scope, conversation.conversation_id, let_begin(scope, run, said))
        return run

    def begin(self, scope: Scope, run: Run) -> None:
        self.runs.start_run(
            scope,
            run.run_id,
            profile_version="v1",
            model=MODEL,
            composition=MANIFEST,
            trace_id="0af7651916cd43dd8448eb211c80319c",
        )

    def answer(self, scope: Scope, *, minutes: int = 0, profile: str = "docs") -> Run:
        run = self.ask(scope, minutes=minutes, profile=profile)
        self.begin(scope, run)
        self.records.save_step(scope, run.run_id, build_step())
        assert self.runs.end_run(scope, run.run_id, replace(END, ended_at=run.created_at))
        return run

    def audited(self, scope: Scope) -> list[tuple[str, str | None]]:
        rows = self.activity.list_activity(scope, ActivityFilter(), after=None, limit=50)
        return [(row.tool, row.outcome) for row in rows]


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def desk(request: pytest.FixtureRequest) -> Desk:
    if request.param == "memory":
        store = MemoryTranscripts()
        return Desk(
            new_organisation(),
            MemoryTranscriptAdapter(store),
            MemoryRunAdapter(store),
            MemoryRunRecordAdapter(store),
            MemoryActivityAdapter(store),
        )
    connections = request.getfixturevalue("connections")
    return Desk(
        new_organisation(),
        PostgresTranscriptAdapter(connections),
        PostgresRunAdapter(connections),
        PostgresRunRecordAdapter(connections),
        PostgresActivityAdapter(connections),
    )


@pytest.mark.req("F-INC-05", "F-INC-06", "F-DATA-06")
def test_a_record_holds_what_the_run_was_made_of_did_and_cost(desk: Desk) -> None:
    ada = desk.person()
    run = desk.ask(ada)
    desk.begin(ada, run)
    desk.records.save_step(ada, run.run_id, begin_step())
    desk.records.save_step(ada, run.run_id, build_step())
    desk.runs.end_run(ada, run.run_id, END)
    desk.records.save_deliveries(ada, run.run_id, {"envelopes": 9, "reached": 9})

    record = desk.records.fetch_record(ada, run.run_id)

    assert (record.status, record.stop_reason, record.attempts) == ("ended", "end_turn", 1)
    assert (record.profile, record.surface, record.mode, record.mode_reason) == (
        "docs",
        "chat",
        "queued",
        "needs_model",
    )
    assert record.trace_id == "0af7651916cd43dd8448eb211c80319c"
    assert (record.created_at, record.first_text_at, record.ended_at) == (
        NOON,
        END.first_text_at,
        END.ended_at,
    )
    assert record.started_at is not None
    assert record.composition == MANIFEST
    assert record.outcome == END.outcome
    assert record.deliveries == {"envelopes": 9, "reached": 9}
    assert record.steps == (replace(build_step(), model_id="extractive-1"),)
    used = record.usage
    assert used is not None
    assert (used.usage, used.model, used.complete, used.task_class) == (USAGE, MODEL, True, "chat")
    assert (used.cost_usd, used.priced_on) == (Decimal("0.00123"), date(2026, 10, 24))
    assert (used.tool_calls, used.passages, used.characters) == (1, 2, 900)


@pytest.mark.req("F-ROUTE-05")
def test_a_run_that_another_model_answered_names_that_one_for_its_reader_and_for_accounts(desk: Desk) -> None:
    ada = desk.person()
    run = desk.ask(ada)
    desk.begin(ada, run)
    other = ModelChoice(provider="other", model="m-2")

    desk.runs.end_run(ada, run.run_id, replace(END, model=other))

    used = desk.records.fetch_record(ada, run.run_id).usage
    assert desk.runs.fetch_run(ada, run.run_id).model == other
    assert used is not None
    assert used.model == other


def test_a_run_that_no_worker_took_has_a_record_as_well(desk: Desk) -> None:
    ada = desk.person()
    run = desk.ask(ada)

    waiting = desk.records.fetch_record(ada, run.run_id)
    desk.runs.end_run(
        ada, run.run_id, replace(END, text="", stop_reason="error", error_code="gone", cost=None)
    )
    ended = desk.records.fetch_record(ada, run.run_id)

    assert (waiting.status, waiting.attempts, waiting.composition, waiting.usage) == ("queued", 0, {}, None)
    assert (ended.status, ended.error_code, ended.attempts) == ("ended", "gone", 0)
    assert ended.usage is not None
    assert (ended.usage.model, ended.usage.cost_usd) == (None, None)


@pytest.mark.req("F-INC-06", "A-AUD-01")
def test_a_run_that_another_ends_keeps_what_was_known_and_no_call_goes_unaudited(desk: Desk) -> None:
    ada = desk.person()
    run = desk.ask(ada)
    desk.begin(ada, run)
    desk.records.save_step(ada, run.run_id, build_step(0))
    desk.records.save_step(ada, run.run_id, begin_step(1, tool="lookup_docs"))

    desk.runs.end_run(
        ada, run.run_id, RunEnd(stop_reason="interrupted", usage=Usage(), last_seq=4, ended_at=NOON)
    )

    record = desk.records.fetch_record(ada, run.run_id)
    assert record.composition == MANIFEST
    assert [(step.tool, step.outcome) for step in record.steps] == [
        ("search_docs", "ok"),
        ("lookup_docs", None),
    ]
    assert record.usage is not None
    assert record.usage.characters == 900
    assert sorted(desk.audited(desk.admin)) == [("lookup_docs", None), ("search_docs", "ok")]


def test_a_second_attempt_is_counted(desk: Desk) -> None:
    ada = desk.person()
    run = desk.ask(ada)

    desk.begin(ada, run)
    desk.begin(ada, run)

    assert desk.records.fetch_record(ada, run.run_id).attempts == 2


@pytest.mark.req("A-AUD-01", "A-AUD-02")
def test_a_call_is_audited_when_it_has_finished_and_once(desk: Desk) -> None:
    ada = desk.person()
    run = desk.ask(ada)
    desk.begin(ada, run)

    desk.records.save_step(ada, run.run_id, begin_step())
    assert desk.audited(desk.admin) == []
    desk.records.save_step(ada, run.run_id, build_step())
    desk.records.save_step(ada, run.run_id, build_step(ok=False, failure="failed"))
    (kept,) = desk.records.fetch_record(ada, run.run_id).steps
    assert kept.outcome == "ok"
    desk.runs.end_run(ada, run.run_id, replace(END, actions=(build_step(),)))

    (row,) = desk.activity.list_activity(desk.admin, ActivityFilter(), after=None, limit=5)
    assert (row.tool, row.outcome, row.duration_ms) == ("search_docs", "ok", 31)
    assert row.result == {"passages": 2, "documents": 1, "characters": 900}


@pytest.mark.req("A-AUD-01")
def test_a_call_whose_progress_could_not_be_saved_is_audited_with_the_end(desk: Desk) -> None:
    ada = desk.person()
    run = desk.ask(ada)

    desk.runs.end_run(ada, run.run_id, replace(END, actions=(build_step(0), build_step(1))))

    assert len(desk.audited(desk.admin)) == 2
    assert [step.position for step in desk.records.fetch_record(ada, run.run_id).steps] == [0, 1]


@pytest.mark.req("A-PROG-01", "A-DATA-02")
def test_steps_come_back_with_the_answer_they_led_to(desk: Desk) -> None:
    ada = desk.person()
    run = desk.answer(ada)

    question, answer = desk.transcripts.list_messages(ada, run.conversation_id, limit=9)

    assert question.steps == ()
    assert [(step.label, step.state, step.text) for step in answer.steps] == [
        ("Searching the documents", "done", "Found 2 passages in 1 document")
    ]


@pytest.mark.req("A-PROG-01", "A-PROG-03")
def test_a_step_of_a_run_without_an_answer_comes_back_with_its_question_as_unreported(desk: Desk) -> None:
    ada = desk.person()
    run = desk.ask(ada)
    desk.begin(ada, run)
    desk.records.save_step(ada, run.run_id, begin_step())

    (question,) = desk.transcripts.list_messages(ada, run.conversation_id, limit=9)

    assert [(step.state, step.text) for step in question.steps] == [("unreported", None)]


@pytest.mark.req("A-PROG-08")
def test_a_step_kept_with_raw_json_as_its_text_is_shown_by_its_label_alone(desk: Desk) -> None:
    ada = desk.person()
    run = desk.ask(ada)
    desk.records.save_step(ada, run.run_id, build_step(text='{"passages": 2}'))

    (question,) = desk.transcripts.list_messages(ada, run.conversation_id, limit=9)

    assert [(step.label, step.text) for step in question.steps] == [("Searching the documents", None)]


def test_an_ended_run_takes_no_more_steps(desk: Desk) -> None:
    ada = desk.person()
    run = desk.answer(ada)

    desk.records.save_step(ada, run.run_id, build_step(1))

    assert len(desk.records.fetch_record(ada, run.run_id).steps) == 1
    assert len(desk.audited(desk.admin)) == 1


def test_an_administrator_reads_the_organisations_records_and_nobody_else_does(desk: Desk) -> None:
    run = desk.answer(desk.person())

    assert desk.records.fetch_record(desk.admin, run.run_id).user_id == "ada"
    for stranger in desk.strangers:
        with pytest.raises(NotFound, match=r"^there is no such run$"):
            desk.records.fetch_record(stranger, run.run_id)
        assert desk.records.list_records(stranger, Incident(), after=None, limit=9) == ()
    with pytest.raises(NotFound):
        desk.records.fetch_record(desk.admin, RunId(str(uuid4())))


def test_a_stranger_adds_nothing_to_anothers_run(desk: Desk) -> None:
    ada = desk.person()
    run = desk.ask(ada)
    desk.begin(ada, run)

    for stranger in (*desk.strangers, desk.admin):
        desk.records.save_step(stranger, run.run_id, build_step())
        desk.records.save_deliveries(stranger, run.run_id, {"envelopes": 1})

    record = desk.records.fetch_record(ada, run.run_id)
    assert (record.steps, record.deliveries) == ((), None)
    assert desk.audited(desk.admin) == []


@pytest.mark.req("F-INC-07")
def test_an_incident_is_found_by_time_profile_and_run_and_pages_hold_each_once(desk: Desk) -> None:
    ada = desk.person()
    first, second = desk.answer(ada, minutes=0), desk.answer(desk.person("ben"), minutes=1)
    third = desk.answer(ada, minutes=2, profile="help")

    def find(incident: Incident) -> list[RunId]:
        return [
            record.run_id for record in desk.records.list_records(desk.admin, incident, after=None, limit=9)
        ]

    assert find(Incident()) == [third.run_id, second.run_id, first.run_id]
    assert find(Incident(since=second.created_at)) == [third.run_id, second.run_id]
    assert find(Incident(before=second.created_at)) == [first.run_id]
    assert find(Incident(profile="help")) == [third.run_id]
    assert find(Incident(run_ids=(first.run_id,))) == [first.run_id]
    assert find(Incident(run_ids=(first.run_id,), profile="help")) == []
    (newest,) = desk.records.list_records(desk.admin, Incident(), after=None, limit=1)
    older = desk.records.list_records(desk.admin, Incident(), after=newest.place, limit=9)
    assert [record.run_id for record in older] == [second.run_id, first.run_id]


@pytest.mark.req("F-ABUSE-03")
def test_what_was_retrieved_for_one_person_is_counted_from_a_moment_on(desk: Desk) -> None:
    ada = desk.person()
    desk.answer(ada, minutes=0)
    desk.answer(ada, minutes=10)
    desk.answer(desk.person("ben"), minutes=10)

    assert desk.records.count_retrieved(ada, since=NOON) == 1_800
    assert desk.records.count_retrieved(ada, since=NOON + timedelta(minutes=5)) == 900
    assert desk.records.count_retrieved(desk.person("cleo"), since=NOON) == 0
