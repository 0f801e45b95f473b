"""Help articles for tests, published as the indexer publishes them."""

from collections.abc import Mapping

from equerry.domain.corpora import Chunk
from equerry.kernel.identifiers import CorpusId, DocumentId
from equerry.ports.documents import DocumentPort, Publication

from tests.contract.corpora import EMBEDDING, PIPELINE, build_file, build_vector, hash_text
from tests.contract.databases import build_scope

HELP = CorpusId("help")


def publish_help(
    documents: DocumentPort, path: str, title: str, sections: Mapping[str, str], *, organisation: str = "acme"
) -> DocumentId:
    """Publish an article by its sections' headings and texts; a blank heading stands for the preamble."""
    admin = build_scope(organisation, "root", role="admin")
    content = title + "".join(f"{heading}\n{text}" for heading, text in sections.items())
    (announced,) = documents.announce(admin, HELP, [build_file(path, content)], pipeline_version=PIPELINE)
    chunks = tuple(
        Chunk(
            ordinal=place,
            heading_path=(heading,) if heading else (),
            text=text,
            token_count=len(text.split()),
            hash=hash_text(heading + text),
        )
        for place, (heading, text) in enumerate(sections.items())
    )
    publication = Publication(
        document_id=announced.document_id,
        sha256=hash_text(content),
        title=title,
        chunks=chunks,
        vectors=tuple(build_vector(chunk.text) for chunk in chunks),
        embedding_version=EMBEDDING,
        pipeline_version=PIPELINE,
        embedded=len(chunks),
    )
    assert documents.publish(admin.organisation_id, publication)
    return announced.document_id
