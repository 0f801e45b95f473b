"""The list of conversations, what is archived, and where questions were asked: in memory and PostgreSQL."""

import json
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from uuid import uuid4

import psycopg
import pytest
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.interactions import PostgresArtifactAdapter, PostgresInteractionAdapter
from equerry.adapters.postgres.runs import PostgresRunAdapter
from equerry.adapters.postgres.transcripts import LIST_ACTIVE, PostgresTranscriptAdapter
from equerry.domain.conversations import ConversationArchived, ConversationPlace
from equerry.domain.opening import OpenedTurn, Premises
from equerry.domain.principal import Scope
from equerry.domain.turn_context import TurnContext
from equerry.kernel.errors import NotFound, Refused
from equerry.kernel.identifiers import ConversationId

from tests.contract.databases import Database, build_scope, new_organisation
from tests.contract.test_transcripts import (
    NOON,
    Store,
    ada,
    append,
    ask,
    build_end,
    build_turn,
    new_conversation,
    store,
    strangers_of,
)
from tests.fakes.transcripts import let_begin

__all__ = ["ada", "store"]
CONTEXT = TurnContext(route="/projects/7", ids=(("projectId", "7"),))


def postgres_store(connections: PostgresConnections) -> Store:
    return Store(
        PostgresTranscriptAdapter(connections),
        PostgresRunAdapter(connections),
        PostgresInteractionAdapter(connections),
        PostgresArtifactAdapter(connections),
    )


def build_own_scope() -> Scope:
    return build_scope(new_organisation(), "ada")


def walk(store: Store, scope: Scope, *, limit: int) -> list[ConversationId]:
    """Return what somebody sees who pages to the end."""
    seen: list[ConversationId] = []
    after: ConversationPlace | None = None
    while page := store.transcripts.list_conversations(scope, limit=limit, after=after):
        seen += [conversation.conversation_id for conversation in page]
        after = page[-1].place
    return seen


@pytest.mark.req("F-DATA-02")
def test_a_conversation_keeps_where_it_stands_and_what_it_concerns(store: Store, ada: Scope) -> None:
    plain = new_conversation(store, ada)
    written = replace(
        plain,
        conversation_id=ConversationId(str(uuid4())),
        surface="panel",
        about="estimate 7 / v2",
        context=CONTEXT,
    )

    store.transcripts.create_conversation(ada, written)

    assert store.transcripts.fetch_conversation(ada, written.conversation_id) == written
    assert (plain.surface, plain.about, plain.state, plain.context) == ("chat", None, "active", None)


@pytest.mark.req("A-CONV-05")
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
def test_pages_show_every_conversation_once_last_changed_first(store: Store, ada: Scope, limit: int) -> None:
    # Several of one moment: only the id tells them apart.
    made = [new_conversation(store, ada, at=NOON + timedelta(seconds=second // 3)) for second in range(7)]

    seen = walk(store, ada, limit=limit)

    places = {conversation.conversation_id: conversation.place for conversation in made}
    assert sorted(seen) == sorted(places)
    assert all(_key(places[a]) > _key(places[b]) for a, b in pairwise(seen))


def _key(place: ConversationPlace) -> tuple[object, str]:
    return place.updated_at, place.conversation_id


@pytest.mark.req("A-CONV-05")
def test_what_changes_while_somebody_pages_comes_once_at_most_and_nothing_else_is_missed(
    store: Store, ada: Scope
) -> None:
    made = [new_conversation(store, ada, at=NOON + timedelta(seconds=second)) for second in range(6)]
    (first, second) = store.transcripts.list_conversations(ada, limit=2)
    shown, waiting = made[5], made[2]
    assert first == shown
    new = new_conversation(store, ada, at=NOON + timedelta(hours=1))
    for changed in (shown, waiting):
        ask(store, ada, changed, at=NOON + timedelta(hours=2))

    rest = store.transcripts.list_conversations(ada, limit=100, after=second.place)

    still = [made[3], made[1], made[0]]
    assert [each.conversation_id for each in rest] == [each.conversation_id for each in still]
    assert {new.conversation_id, waiting.conversation_id} <= set(walk(store, ada, limit=2))


@pytest.mark.req("A-CONV-07", "A-CONV-08")
def test_an_archived_conversation_is_off_the_list_and_still_there(store: Store, ada: Scope) -> None:
    kept, archived = new_conversation(store, ada), new_conversation(store, ada)
    ask(store, ada, archived)

    store.transcripts.archive_conversation(ada, archived.conversation_id)
    store.transcripts.archive_conversation(ada, archived.conversation_id)

    assert walk(store, ada, limit=10) == [kept.conversation_id]
    found = store.transcripts.fetch_conversation(ada, archived.conversation_id)
    assert (found.state, found.title) == ("archived", "How do I rotate a key?")
    assert len(store.transcripts.list_messages(ada, archived.conversation_id, limit=10)) == 1


def test_a_stranger_archives_nothing(store: Store, ada: Scope) -> None:
    conversation = new_conversation(store, ada)

    for stranger in strangers_of(ada):
        for wanted in (conversation.conversation_id, ConversationId(str(uuid4()))):
            with pytest.raises(NotFound, match=r"^there is no such conversation$"):
                store.transcripts.archive_conversation(stranger, wanted)
    assert walk(store, ada, limit=10) == [conversation.conversation_id]


def test_a_turn_is_judged_by_what_is_there(store: Store, ada: Scope) -> None:
    conversation = new_conversation(store, ada)
    seen: list[Premises] = []

    def refuse(premises: Premises) -> OpenedTurn:
        seen.append(premises)
        raise Refused("no")

    for scope in (ada, *strangers_of(ada)):
        with pytest.raises(Refused):
            store.transcripts.append_turn(scope, conversation.conversation_id, refuse)

    assert [premises.conversation for premises in seen] == [conversation, None, None, None]
    assert [premises.tenancy for premises in seen] == [None] * 4
    assert store.transcripts.list_messages(ada, conversation.conversation_id, limit=10) == ()


def test_a_conversation_that_is_archived_while_its_turn_is_judged_takes_no_question(
    store: Store, ada: Scope
) -> None:
    conversation = new_conversation(store, ada)
    run, question = build_turn(conversation)

    def archive_meanwhile(premises: Premises) -> OpenedTurn:
        store.transcripts.archive_conversation(ada, conversation.conversation_id)
        return let_begin(ada, run, question)(premises)

    with pytest.raises(ConversationArchived):
        store.transcripts.append_turn(ada, conversation.conversation_id, archive_meanwhile)
    assert store.transcripts.list_messages(ada, conversation.conversation_id, limit=10) == ()
    with pytest.raises(NotFound):
        store.runs.fetch_run(ada, run.run_id)


@pytest.mark.req("A-CONV-13", "A-CONV-04")
def test_a_question_keeps_its_context_and_the_conversation_the_last_one(store: Store, ada: Scope) -> None:
    conversation = new_conversation(store, ada)
    first, question = build_turn(conversation)
    append(store, ada, first, replace(question, context=CONTEXT))
    store.runs.end_run(ada, first.run_id, build_end())
    ask(store, ada, conversation)

    said = store.transcripts.list_messages(ada, conversation.conversation_id, limit=10)

    assert [message.context for message in said] == [CONTEXT, None, None]
    assert store.transcripts.fetch_conversation(ada, conversation.conversation_id).context == CONTEXT


@pytest.mark.postgres
@pytest.mark.req("F-DATA-03")
@pytest.mark.parametrize("role", ["equerry_runtime", "equerry_platform", "equerry_owner", "postgres"])
def test_nobody_changes_a_message_once_it_is_written(
    connections: PostgresConnections, database: Database, role: str
) -> None:
    kept = postgres_store(connections)
    scope = build_own_scope()
    conversation = new_conversation(kept, scope)
    ask(kept, scope, conversation)
    change = "UPDATE assistant_messages SET content = 'never said' WHERE conversation_id = %s"
    refused = (psycopg.errors.InsufficientPrivilege, psycopg.errors.RestrictViolation)

    if role == "equerry_runtime":
        with pytest.raises(refused), connections.transaction(scope) as rows:
            rows.execute(change, (conversation.conversation_id,))
    elif role == "equerry_platform":
        platform = database.connect(role)
        with pytest.raises(refused), platform.across_tenants() as rows:
            rows.execute(change, (conversation.conversation_id,))
        platform.close()
    else:
        # The owner is under the policies of its own tables and sees no row; a superuser is under none.
        url = database.superuser_url if role == "postgres" else database.owner_url
        with psycopg.connect(url) as session:
            try:
                assert session.execute(change, (conversation.conversation_id,)).rowcount == 0
            except refused:
                session.rollback()

    (said,) = kept.transcripts.list_messages(scope, conversation.conversation_id, limit=10)
    assert said.text == "How do I rotate a key?"


@pytest.mark.postgres
@pytest.mark.req("F-DATA-03", "F-PERS-01", "A-DATA-02")
def test_messages_stand_in_the_order_they_were_written_whatever_their_clocks_say(
    connections: PostgresConnections,
) -> None:
    kept, scope = postgres_store(connections), build_own_scope()
    conversation = new_conversation(kept, scope)
    for number in range(3):
        run = ask(kept, scope, conversation, text=f"question {number}", at=NOON - timedelta(hours=number))
        kept.runs.end_run(scope, run.run_id, build_end(text=f"answer {number}"))

    with connections.transaction(scope) as rows:
        rows.execute(
            "SELECT position FROM assistant_messages WHERE conversation_id = %s ORDER BY position",
            (conversation.conversation_id,),
        )
        places = [row["position"] for row in rows]

    assert len(set(places)) == 6
    said = kept.transcripts.list_messages(scope, conversation.conversation_id, limit=10)
    assert [message.text for message in said] == [
        f"{what} {number}" for number in range(3) for what in ("question", "answer")
    ]


@pytest.mark.postgres
@pytest.mark.req("F-DATA-09", "A-CONV-05")
def test_a_page_of_the_list_reads_its_index_and_never_the_table(connections: PostgresConnections) -> None:
    kept, scope = postgres_store(connections), build_own_scope()
    with connections.transaction(scope) as rows:
        rows.execute(
            "INSERT INTO assistant_conversations"
            " (conversation_id, organisation_id, created_by, profile, title, state, archived_at, created_at,"
            " updated_at)"
            " SELECT gen_random_uuid(), %s, %s, 'docs', '', state,"
            " CASE WHEN state = 'archived' THEN now() END, now(), now() - n * interval '1 minute'"
            " FROM generate_series(1, 1500) AS n, unnest(ARRAY['active', 'archived']) AS state",
            (scope.organisation_id, scope.user_id),
        )
    (last,) = kept.transcripts.list_conversations(scope, limit=1)
    wanted = {
        "organisation": scope.organisation_id,
        "user": scope.user_id,
        "at": last.updated_at,
        "id": last.conversation_id,
        "limit": 51,
    }
    with connections.transaction(scope) as rows:
        # What the index can do, whatever the table's statistics happen to say of other tests' rows.
        for way in ("enable_seqscan", "enable_bitmapscan", "enable_sort", "enable_incremental_sort"):
            rows.execute(f"SET LOCAL {way} = off")
        rows.execute("EXPLAIN (COSTS OFF, FORMAT JSON) " + LIST_ACTIVE, wanted)
        (row,) = rows.fetchall()
    plan = json.dumps(row)

    assert "assistant_conversations_active" in plan
    assert "ROW(updated_at, conversation_id) <" in plan.split("Index Cond")[1].split("Filter")[0]
    assert "Seq Scan" not in plan
    assert '"Node Type": "Sort"' not in plan
