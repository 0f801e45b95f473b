"""What holds content of a project is there only for who belongs to it: over fakes and database alike."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from uuid import uuid4

import pytest
from equerry.adapters.postgres.activity import PostgresActivityAdapter
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.interactions import PostgresArtifactAdapter, PostgresInteractionAdapter
from equerry.adapters.postgres.records import PostgresRunRecordAdapter
from equerry.adapters.postgres.runs import PostgresRunAdapter
from equerry.adapters.postgres.transcripts import PostgresTranscriptAdapter
from equerry.domain.activity import ActivityFilter
from equerry.domain.conversations import Conversation, Run
from equerry.domain.principal import Scope
from equerry.domain.records import Incident
from equerry.kernel.errors import NotFound
from equerry.kernel.identifiers import ConversationId, ProjectId, RunId
from equerry.ports.activity import ActivityPort
from equerry.ports.interactions import ArtifactPort, Interaction, InteractionPort
from equerry.ports.records import RunRecordPort
from equerry.ports.transcripts import RunPort, TranscriptPort

from tests.contract.databases import build_scope, new_organisation
from tests.contract.steps import build_step
from tests.contract.test_transcripts import MODEL, NOON, append, build_end, build_turn
from tests.fakes.activity import MemoryActivityAdapter
from tests.fakes.records import MemoryRunRecordAdapter
from tests.fakes.transcripts import (
    MemoryArtifactAdapter,
    MemoryInteractionAdapter,
    MemoryRunAdapter,
    MemoryTranscriptAdapter,
    MemoryTranscripts,
)

APOLLO, GAIA = ProjectId("apollo"), ProjectId("gaia")


@dataclass(frozen=True)
class House:
    """Everything that can be asked about a conversation, and who keeps its runs."""

    transcripts: TranscriptPort
    runs: RunPort
    kept_runs: RunPort
    records: RunRecordPort
    activity: ActivityPort
    interactions: InteractionPort
    artifacts: ArtifactPort

    def ask(self, scope: Scope, conversation_id: ConversationId | None = None) -> Run:
        conversation = Conversation(
            conversation_id=conversation_id or ConversationId(str(uuid4())),
            profile="docs",
            title="t",
            created_at=NOON,
            updated_at=NOON,
        )
        self.transcripts.create_conversation(scope, conversation)
        run, question = build_turn(conversation)
        append(self, scope, run, question)  # type: ignore[arg-type]  # it needs the transcripts alone
        self.kept_runs.start_run(scope, run.run_id, profile_version="v1", model=MODEL)
        return run

    def answer(self, scope: Scope, *projects: ProjectId) -> Run:
        """Ask, and be answered with content of these projects."""
        run = self.ask(scope)
        self.records.save_step(scope, run.run_id, build_step())
        end = replace(build_end(), project_ids=projects)
        assert self.kept_runs.end_run(scope, run.run_id, end)
        return run

    def questions(self, scope: Scope, run: Run) -> dict[str, Callable[[], object]]:
        """Return what raises NotFound where there is nothing to see."""
        home, run_id = run.conversation_id, run.run_id
        interaction = Interaction(
            interaction_id=str(uuid4()), conversation_id=home, run_id=None, kind="k", details={}, at=NOON
        )
        another, question = build_turn(replace_id(home))
        return {
            "fetch_conversation": lambda: self.transcripts.fetch_conversation(scope, home),
            "list_messages": lambda: self.transcripts.list_messages(scope, home, limit=9),
            "append_turn": lambda: append(self, scope, another, question),  # type: ignore[arg-type]
            "fetch_run": lambda: self.runs.fetch_run(scope, run_id),
            "fetch_record": lambda: self.records.fetch_record(scope, run_id),
            "list_artifacts": lambda: self.artifacts.list_artifacts(scope, home),
            "record_interaction": lambda: self.interactions.record_interaction(scope, interaction),
            "archive_conversation": lambda: self.transcripts.archive_conversation(scope, home),
        }

    def listed(self, scope: Scope, run: Run) -> dict[str, bool]:
        """Return which lists show the run or its conversation."""
        conversations = self.transcripts.list_conversations(scope, limit=100)
        records = self.records.list_records(scope, Incident(), after=None, limit=100)
        rows = self.activity.list_activity(scope, ActivityFilter(), after=None, limit=100)
        return {
            "conversations": run.conversation_id in {found.conversation_id for found in conversations},
            "answer": self.runs.find_answer(scope, run.run_id) is not None,
            "records": run.run_id in {record.run_id for record in records},
            "activity": run.run_id in {row.run_id for row in rows},
            "retrieved": self.records.count_retrieved(scope, since=NOON) > 0,
        }


def replace_id(conversation_id: ConversationId) -> Conversation:
    return Conversation(
        conversation_id=conversation_id, profile="docs", title="t", created_at=NOON, updated_at=NOON
    )


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def house(request: pytest.FixtureRequest) -> House:
    if request.param == "memory":
        store = MemoryTranscripts()
        return House(
            MemoryTranscriptAdapter(store),
            MemoryRunAdapter(store),
            MemoryRunAdapter(store, keeps=True),
            MemoryRunRecordAdapter(store),
            MemoryActivityAdapter(store),
            MemoryInteractionAdapter(store),
            MemoryArtifactAdapter(store),
        )
    connections: PostgresConnections = request.getfixturevalue("connections")
    return House(
        PostgresTranscriptAdapter(connections),
        PostgresRunAdapter(connections),
        PostgresRunAdapter(connections, keeps=True),
        PostgresRunRecordAdapter(connections),
        PostgresActivityAdapter(connections),
        PostgresInteractionAdapter(connections),
        PostgresArtifactAdapter(connections),
    )


@pytest.fixture
def member() -> Scope:
    return build_scope(new_organisation(), "ada", projects=(APOLLO, GAIA))


def without(scope: Scope, *projects: ProjectId) -> Scope:
    return replace(scope, project_ids=tuple(held for held in scope.project_ids if held not in projects))


@pytest.mark.req("A-PROJ-06", "A-PROJ-08", "A-PROJ-09", "A-PROJ-10", "R-42")
@pytest.mark.parametrize("lost", [(APOLLO,), (GAIA,), (APOLLO, GAIA)], ids=["one", "the-other", "both"])
def test_who_leaves_a_project_finds_nothing_and_who_returns_finds_everything(
    house: House, member: Scope, lost: tuple[ProjectId, ...]
) -> None:
    run = house.answer(member, APOLLO, GAIA)
    unknown = replace(run, conversation_id=ConversationId(str(uuid4())), run_id=RunId(str(uuid4())))
    left = without(member, *lost)

    for name, ask in house.questions(left, run).items():
        with pytest.raises(NotFound) as refused:
            ask()
        with pytest.raises(NotFound) as never_there:
            house.questions(left, unknown)[name]()
        assert str(refused.value) == str(never_there.value), name
    assert not any(house.listed(left, run).values())

    assert all(house.listed(member, run).values())
    for ask in house.questions(member, run).values():
        ask()


@pytest.mark.req("A-PROJ-08")
def test_only_the_conversations_of_the_project_that_was_left_are_gone(house: House, member: Scope) -> None:
    of_none, of_gaia, of_both = (
        house.answer(member),
        house.answer(member, GAIA),
        house.answer(member, APOLLO, GAIA),
    )

    left = house.transcripts.list_conversations(without(member, APOLLO), limit=10)

    assert {found.conversation_id for found in left} == {of_none.conversation_id, of_gaia.conversation_id}
    assert of_both.conversation_id not in {found.conversation_id for found in left}


@pytest.mark.req("A-PROJ-03")
def test_an_answer_and_its_projects_are_written_together(house: House, member: Scope) -> None:
    run = house.ask(member)
    house.transcripts.fetch_conversation(without(member, APOLLO), run.conversation_id)

    house.kept_runs.end_run(member, run.run_id, replace(build_end(), project_ids=(APOLLO,)))
    again = house.kept_runs.end_run(member, run.run_id, replace(build_end(), project_ids=(GAIA,)))

    assert not again
    house.transcripts.fetch_conversation(without(member, GAIA), run.conversation_id)
    with pytest.raises(NotFound):
        house.transcripts.fetch_conversation(without(member, APOLLO), run.conversation_id)


@pytest.mark.req("A-PROJ-02")
def test_content_is_marked_before_a_run_has_ended_and_its_death_changes_nothing(
    house: House, member: Scope
) -> None:
    run = house.ask(member)

    house.kept_runs.mark_projects(member, run.run_id, (GAIA,))
    house.kept_runs.mark_projects(member, run.run_id, (APOLLO, GAIA))

    for lost in (APOLLO, GAIA):
        with pytest.raises(NotFound):
            house.runs.fetch_run(without(member, lost), run.run_id)
    assert house.runs.fetch_run(member, run.run_id).status == "running"


def test_a_run_is_ended_for_who_has_left_and_read_again_by_who_returns(house: House, member: Scope) -> None:
    run = house.ask(member)
    house.kept_runs.mark_projects(member, run.run_id, (APOLLO,))
    left = without(member, APOLLO)

    house.records.save_step(left, run.run_id, build_step())
    assert house.kept_runs.fetch_run(left, run.run_id).status == "running"
    assert house.kept_runs.end_run(left, run.run_id, build_end())
    house.records.save_deliveries(left, run.run_id, {"reached": 1})

    with pytest.raises(NotFound):
        house.runs.fetch_run(left, run.run_id)
    assert house.runs.fetch_run(member, run.run_id).status == "ended"
    assert house.records.fetch_record(member, run.run_id).deliveries == {"reached": 1}
    assert len(house.records.fetch_record(member, run.run_id).steps) == 1


def test_who_keeps_runs_keeps_nobody_else_s(house: House, member: Scope) -> None:
    run = house.answer(member, APOLLO)

    for stranger in (
        build_scope(member.organisation_id, "ben", projects=(APOLLO,)),
        build_scope(member.organisation_id, "root", role="admin", projects=(APOLLO,)),
        build_scope(new_organisation(), "ada", projects=(APOLLO,)),
    ):
        with pytest.raises(NotFound):
            house.kept_runs.fetch_run(stranger, run.run_id)


@pytest.mark.req("R-42")
def test_an_administrator_reads_the_records_of_their_own_projects(house: House, member: Scope) -> None:
    run = house.answer(member, APOLLO)
    inside = build_scope(member.organisation_id, "root", role="admin", projects=(APOLLO,))
    outside = build_scope(member.organisation_id, "root", role="admin", projects=(GAIA,))

    seen, hidden = house.listed(inside, run), house.listed(outside, run)

    assert (seen["records"], seen["activity"]) == (True, True)
    assert (hidden["records"], hidden["activity"]) == (False, False)
    assert house.records.fetch_record(inside, run.run_id).run_id == run.run_id
    with pytest.raises(NotFound):
        house.records.fetch_record(outside, run.run_id)
