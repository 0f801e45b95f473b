"""How the two indexes are best fused, on the questions of the Python FAQ.

    python -m bench.fusion FOLDER      FOLDER holds the Python documentation as HTML (faq/, tutorial/, howto/)

Each FAQ question is asked; the passages of its answer are expected. The question itself is taken out of the
heading paths first, for a passage that repeats the question is no test. Prints a line for each way to fuse.
"""

import sys
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from equerry.adapters.embedded.minilm import MiniLmEmbeddingAdapter
from equerry.adapters.extraction.by_suffix import SuffixExtractionAdapter
from equerry.adapters.postgres.documents import PostgresDocumentAdapter
from equerry.adapters.postgres.search import PostgresLexicalIndexAdapter, PostgresVectorStoreAdapter
from equerry.domain.chunking import chunk_sections, describe_chunk
from equerry.domain.corpora import Chunk, Passage, Section, SourceFile
from equerry.domain.fusion import FusionWeights, fuse
from equerry.domain.principal import Scope
from equerry.evaluation.labelled_set import LabelledQuestion, evaluate_retrieval
from equerry.kernel.identifiers import CorpusId, OrganisationId, UserId
from equerry.ports.documents import Publication

from bench.databases import open_database

CORPUS = CorpusId("python")
ADMIN = Scope(organisation_id=OrganisationId("bench"), user_id=UserId("root"), role="admin")
WAYS = {
    "semantic alone": FusionWeights(lexical=0.0, least_similarity=-1),
    "lexical alone": FusionWeights(semantic=0.0, least_similarity=-1),
    "ranks 1:1": FusionWeights(method="ranks", semantic=1.0, lexical=1.0, least_similarity=-1),
    "ranks 3:1": FusionWeights(method="ranks", semantic=3.0, lexical=1.0, least_similarity=-1),
    **{
        f"scores {1 - part:.2f}:{part:.2f}": FusionWeights(
            semantic=1 - part, lexical=part, least_similarity=-1
        )
        for part in (0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
    },
    "the default": FusionWeights(),
}


def main(folder: Path) -> None:
    """Index, ask, print."""
    with open_database() as database:
        documents = PostgresDocumentAdapter(database.connections)
        embedding = MiniLmEmbeddingAdapter(threads=2)
        answers = defaultdict[str, set[str]](set)
        for file in sorted(
            path for part in ("faq", "tutorial", "howto") for path in folder.glob(f"{part}/*.html")
        ):
            index(documents, embedding, file, folder, answers)
        vectors = PostgresVectorStoreAdapter(database.connections)
        words = PostgresLexicalIndexAdapter(database.connections)
        cases = [
            LabelledQuestion(case_id=question, question=question, expected=frozenset(texts))
            for question, texts in answers.items()
        ]
        near = {
            case.question: vectors.find_nearest(
                ADMIN,
                embedding.embed_query(case.question),
                embedding_version=embedding.version,
                corpora=(CORPUS,),
                limit=50,
            )
            for case in cases
        }
        started = time.perf_counter()
        matching = {
            case.question: words.find_matching(ADMIN, case.question, corpora=(CORPUS,), limit=50)
            for case in cases
        }
        asked_s = time.perf_counter() - started
    print(f"{len(cases)} questions; lexical search {1000 * asked_s / len(cases):.1f} ms each")
    print(f"{'':20} recall@6  MRR@10  nDCG@10")
    for name, weights in WAYS.items():
        print(f"{name:20} {score(cases, near, matching, weights)}")


Found = dict[str, tuple[tuple[Passage, float], ...]]


def score(cases: list[LabelledQuestion], near: Found, matching: Found, weights: FusionWeights) -> str:
    """Return the scores of one way to fuse."""

    def search(question: str) -> list[str]:
        semantic = [(passage.text, value) for passage, value in near[question]]
        lexical = [(passage.text, value) for passage, value in matching[question]]
        lists = (semantic if weights.semantic else [], lexical if weights.lexical else [])
        return [text for text, _ in fuse(*lists, weights)]

    six, ten = (evaluate_retrieval(cases, search, k=k) for k in (6, 10))
    return f"{six.recall:8.3f} {ten.mrr:7.3f} {ten.ndcg:8.3f}"


def index(
    documents: PostgresDocumentAdapter,
    embedding: MiniLmEmbeddingAdapter,
    file: Path,
    folder: Path,
    answers: dict[str, set[str]],
) -> None:
    """Publish one page; note which passages answer which question."""
    path = file.relative_to(folder).as_posix()
    title, sections = SuffixExtractionAdapter().extract(file.read_bytes(), path=path)
    chunks: list[Chunk] = []
    for section in sections:
        question = section.heading_path[-1] if section.heading_path else ""
        is_question = path.startswith("faq/") and question.endswith("?")
        heading_path = section.heading_path[:-1] if is_question else section.heading_path
        cut = chunk_sections(title, [Section(heading_path=heading_path, text=section.text)])
        if is_question:
            answers[question] |= {chunk.text for chunk in cut}
        chunks += cut
    numbered = tuple(replace(chunk, ordinal=place) for place, chunk in enumerate(chunks))
    source = SourceFile(path=path, sha256="0" * 64, size_bytes=file.stat().st_size)
    (announced,) = documents.announce(ADMIN, CORPUS, [source], pipeline_version="bench")
    documents.publish(
        ADMIN.organisation_id,
        Publication(
            document_id=announced.document_id,
            sha256=source.sha256,
            title=title,
            chunks=numbered,
            vectors=embedding.embed_passages([describe_chunk(title, chunk) for chunk in numbered]),
            embedding_version=embedding.version,
            pipeline_version="bench",
            embedded=len(numbered),
        ),
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
