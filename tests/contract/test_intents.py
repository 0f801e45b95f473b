"""What words say a question is after, over both indexes: the labelled set once more."""

import threading
from pathlib import Path

import pytest
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.documents import PostgresDocumentAdapter
from equerry.adapters.postgres.search import PostgresLexicalIndexAdapter
from equerry.domain.fast_path import FastPath
from equerry.domain.intents import HowToIntent, Intent, NavigateIntent
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import CorpusId
from equerry.ports.documents import DocumentPort
from equerry.ports.search import LexicalIndexPort
from equerry.services.intents import WordIntentService

from tests.contract.databases import Database, build_scope, new_organisation
from tests.fakes.catalogues import MemoryCatalogueAdapter
from tests.fakes.documents import MemoryCorpora, MemoryDocumentAdapter, MemoryLexicalIndexAdapter
from tests.labelled.fast_path import HINTS, read_labelled_set
from tests.unit.services.library import HELP, publish_help

LABELLED = read_labelled_set()
QUESTIONS = LABELLED.first | LABELLED.second | LABELLED.held
FAST_PATH = FastPath(catalogue=LABELLED.catalogue.name, help=(HELP,))
CATALOGUES = MemoryCatalogueAdapter(LABELLED.catalogue)


def publish_all(documents: DocumentPort, organisation: str) -> None:
    articles: dict[str, tuple[str, dict[str, str]]] = {}
    for section in LABELLED.sections:
        _, sections = articles.setdefault(section.source_path, (section.title, {}))
        sections["".join(section.heading_path)] = section.text
    for path, (title, sections) in articles.items():
        publish_help(documents, path, title, sections, organisation=organisation)


def describe(intent: Intent) -> str:
    if isinstance(intent, NavigateIntent):
        return f"go {intent.route.route_id}"
    if not isinstance(intent, HowToIntent):
        return "model"
    heading = "".join(intent.section.heading_path)
    return f"help {Path(intent.section.source_path).stem}#{heading}"


@pytest.mark.req("A-TURN-02", "A-HOWTO-02", "A-DATA-08", "R-41")
@pytest.mark.parametrize("kind", ["memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_the_index_s_first_few_hold_the_section_that_answers(
    kind: str, request: pytest.FixtureRequest
) -> None:
    organisation = new_organisation()
    documents: DocumentPort = MemoryDocumentAdapter(store := MemoryCorpora())
    words: LexicalIndexPort = MemoryLexicalIndexAdapter(store)
    if kind == "postgres":
        connections: PostgresConnections = request.getfixturevalue("connections")
        documents, words = PostgresDocumentAdapter(connections), PostgresLexicalIndexAdapter(connections)
    publish_all(documents, organisation)
    service, ada = WordIntentService(catalogues=CATALOGUES, words=words), build_scope(organisation, "ada")

    said = {question: describe(service.classify(ada, FAST_PATH, question, HINTS)) for question in QUESTIONS}

    wrong = {question: got for question, got in said.items() if got not in ("model", QUESTIONS[question])}
    wanted = [question for question, want in QUESTIONS.items() if want != "model"]
    assert wrong == {}
    assert sum(said[question] == QUESTIONS[question] for question in wanted) >= 0.9 * len(wanted)


@pytest.mark.postgres
def test_an_index_that_is_slow_is_given_up_and_waits_for_nobody(database: Database) -> None:
    organisation = new_organisation()
    connections = database.connect()
    documents = PostgresDocumentAdapter(connections)
    publish_help(documents, "a.md", "Rates", {"Import rates": "Pick."}, organisation=organisation)
    patient = PostgresLexicalIndexAdapter(connections)
    words = PostgresLexicalIndexAdapter(connections, within_s=0.2)
    ada = build_scope(organisation, "ada")
    assert patient.find_matching(ada, "import rates", corpora=(CorpusId("help"),), limit=3)

    blocking, released = threading.Event(), threading.Event()

    def block() -> None:
        import psycopg

        with psycopg.connect(database.superuser_url) as session:
            session.execute("LOCK TABLE assistant_passages IN ACCESS EXCLUSIVE MODE")
            blocking.set()
            released.wait(3)  # shorter than the limit of every other statement

    blocker = threading.Thread(target=block)
    blocker.start()
    try:
        assert blocking.wait(30)
        with pytest.raises(Unavailable):
            words.find_matching(ada, "import rates", corpora=(CorpusId("help"),), limit=3)
    finally:
        released.set()
        blocker.join()
    assert patient.find_matching(ada, "import rates", corpora=(CorpusId("help"),), limit=3)
    connections.close()
