"""What a turn leaves in the database, column by column."""

from dataclasses import replace
from uuid import uuid4

import pytest
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.interactions import PostgresInteractionAdapter
from equerry.adapters.postgres.runs import PostgresRunAdapter
from equerry.adapters.postgres.transcripts import PostgresTranscriptAdapter
from equerry.domain.principal import Scope
from equerry.domain.turn_context import TurnContext
from equerry.engine.model_choice import ModelChoice
from equerry.kernel.identifiers import ConversationId, ProjectId
from equerry.ports.interactions import Interaction

from tests.contract.databases import build_scope, new_organisation
from tests.contract.steps import build_step
from tests.contract.test_postgres_walls import build_conversation
from tests.contract.test_transcripts import build_end, build_turn
from tests.fakes.clock import NOON
from tests.fakes.transcripts import let_begin

pytestmark = pytest.mark.postgres
CONTEXT = TurnContext(route="/projects/7", ids=(("projectId", "7"),))


def converse(connections: PostgresConnections, ada: Scope) -> ConversationId:
    """Have one turn with one tool call, whose content is of a project."""
    conversation = replace(build_conversation(), context=CONTEXT)
    run, question = build_turn(conversation)
    transcripts, runs = PostgresTranscriptAdapter(connections), PostgresRunAdapter(connections)
    transcripts.create_conversation(ada, conversation)
    transcripts.append_turn(ada, conversation.conversation_id, let_begin(ada, run, question))
    model = ModelChoice(provider="anthropic", model="claude")
    runs.start_run(ada, run.run_id, profile_version="1", model=model)
    runs.end_run(
        ada,
        run.run_id,
        replace(build_end(), model=model, actions=(build_step(),), project_ids=(ProjectId("apollo"),)),
    )
    return conversation.conversation_id


def read_row(
    connections: PostgresConnections, scope: Scope, table: str, where: ConversationId
) -> dict[str, object]:
    with connections.transaction(scope) as rows:
        (row,) = rows.execute(f"SELECT * FROM {table} WHERE conversation_id = %s", (where,)).fetchall()
        return row


@pytest.fixture
def ada() -> Scope:
    return build_scope(new_organisation(), "ada", projects=("apollo",))


@pytest.mark.req("A-DATA-01", "A-PROJ-01")
def test_a_conversation_s_row_says_whose_it_is_where_it_began_and_which_projects_it_holds(
    connections: PostgresConnections, ada: Scope
) -> None:
    row = read_row(connections, ada, "assistant_conversations", converse(connections, ada))

    assert (row["organisation_id"], row["created_by"]) == (ada.organisation_id, "ada")
    assert row["context"] == {"route": "/projects/7", "ids": {"projectId": "7"}}
    assert row["title"]
    assert (row["project_ids"], row["project_scope_known"]) == (["apollo"], True)


@pytest.mark.req("F-DATA-05")
def test_an_interaction_s_row_says_who_met_which_feature_how_about_what_and_when(
    connections: PostgresConnections, ada: Scope
) -> None:
    home = converse(connections, ada)
    done = Interaction(
        interaction_id=str(uuid4()),
        conversation_id=home,
        run_id=None,
        kind="headline",
        bucket="applied",
        about="suggestion-7",
        details={"n": 1},
        at=NOON,
    )
    PostgresInteractionAdapter(connections).record_interaction(ada, done)

    row = read_row(connections, ada, "assistant_interactions", home)

    assert (row["organisation_id"], row["created_by"], row["created_at"]) == (
        ada.organisation_id,
        "ada",
        NOON,
    )
    assert (row["kind"], row["bucket"], row["about"]) == ("headline", "applied", "suggestion-7")


@pytest.mark.req("A-DATA-03")
def test_a_tool_call_s_row_holds_its_redacted_arguments_a_summary_its_duration_and_the_model(
    connections: PostgresConnections, ada: Scope
) -> None:
    row = read_row(connections, ada, "assistant_actions", converse(connections, ada))

    step = build_step()
    assert (row["tool"], row["arguments"]) == (step.tool, dict(step.arguments))
    assert row["result_summary"] == dict(step.facts)
    assert (row["duration_ms"], row["model_id"]) == (step.duration_ms, "claude")
