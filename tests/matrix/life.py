"""What the cast lives through: everybody has asked and been answered, two have left, one was erased."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

from equerry.adapters.aws.artifacts import S3ArtifactStoreAdapter
from equerry.domain.principal import Scope
from equerry.kernel.identifiers import ArtifactId, ConversationId, OrganisationId, UserId
from equerry.ports.artifacts import ArtifactKey

from local.aws import Session
from local.cli.indexing import Indexer
from local.cli.life import LONGEST_S, Keeper
from local.cli.walking import walk
from local.deploy import load_outputs
from local.memberships import open_memberships
from tests.matrix.asking import CORPORA, Names
from tests.matrix.house import House, find_librarian
from tests.matrix.people import APOLLO, CAST, LEO, ROSA, VERA, Person


def furnish(house: House, folder: Path) -> None:
    """Let the cast live through what the relations are about, but for the return, which `reach` waits for."""
    memberships = open_memberships(house.stack.places)
    for person in (LEO, ROSA):
        memberships.change_projects(person.organisation, person.name, join=[APOLLO])
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda person: _index(house, person, folder / person.name), CAST))
        for person, answered in zip(
            CAST, pool.map(lambda person: _converse(house, person), CAST), strict=True
        ):
            house.things[person] = {**answered, **_find_library(house, person)}
    for person in CAST:
        _plant_artifact(house, person)
    for person in (LEO, ROSA):
        _require_marked(house, person)
    house.look(200)
    for person in (LEO, ROSA):
        memberships.change_projects(person.organisation, person.name, leave=[APOLLO])
    house.changed_s = time.monotonic()
    _erase(house, VERA)
    for person in CAST:
        house.things[person] = {**house.things[person], "open": house.open_conversation(person)}


def _index(house: House, person: Person, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / f"{person.name}.md").write_text(
        f"# The lantern of {person.name}\n\nThe lantern of {person.name} burns {canary_of(person)} oil.\n"
    )
    with house.api(find_librarian(person)) as api:
        indexer = Indexer(
            api=api,
            corpus=CORPORA[person.organisation],
            visible_to=(person.reader_key,),
            tell=lambda *_: None,
        )
        outcome = indexer.index(walk(folder).sources, prune=False)
    assert outcome.failed == {}


def _converse(house: House, person: Person) -> Names:
    conversation, run = house.converse(person, ask_about(person))
    assert canary_of(person) in run["message"]["text"]
    return {
        "conversationId": conversation,
        "runId": run["runId"],
        "corpusId": CORPORA[person.organisation],
    }


def _find_library(house: House, person: Person) -> Names:
    (found,) = house.database.execute(
        "SELECT passage_id::text, document_id::text FROM assistant_passages"
        " WHERE organisation_id = %s AND source_path = %s",
        (person.organisation, f"{person.name}.md"),
    ).fetchall()
    return dict(zip(("passageId", "documentId"), found, strict=True))


def _plant_artifact(house: House, person: Person) -> None:
    """Keep what is too large for an envelope, as a worker would; no answer here is."""
    artifact, conversation = str(uuid4()), house.things[person]["conversationId"]
    bucket = load_outputs(house.stack.places)["UploadsBucketName"]
    scope = Scope(organisation_id=OrganisationId(person.organisation), user_id=UserId(person.name))
    store = S3ArtifactStoreAdapter(Session(house.stack.places).s3, bucket)
    store.store_artifact(
        ArtifactKey.of(scope, ConversationId(conversation), ArtifactId(artifact)), b'{"rows": []}'
    )
    house.things[person] = {**house.things[person], "artifactId": artifact}


def _require_marked(house: House, person: Person) -> None:
    """See that it was the answer that marked the conversation: by the directory, and by nobody's hand."""
    (marked,) = house.database.execute(
        "SELECT project_ids FROM assistant_conversations WHERE conversation_id = %s",
        (house.things[person]["conversationId"],),
    ).fetchall()
    assert marked == ([APOLLO],), (person, marked)


def _erase(house: House, person: Person) -> None:
    session, outputs = Session(house.stack.places), load_outputs(house.stack.places)
    keeper = Keeper(
        functions=session.patient_functions(LONGEST_S),
        objects=session.s3,
        function_name=outputs["RetentionFunctionName"],
        bucket=outputs["UploadsBucketName"],
    )
    said = keeper.send({"kind": "erase-user", "userId": person.name, "requestId": str(uuid4())})
    assert said["rows"]["assistant_conversations"] == 1
    assert said["rows"]["assistant_documents"] == 1


def ask_about(person: Person) -> str:
    """Return the question that this person's document answers."""
    return f"Which oil burns in the lantern of {person.name}?"


def canary_of(person: Person) -> str:
    """Return a word that stands in their document alone."""
    return f"{person.name.partition('-')[0]}olean"
