"""Corpora, documents and passages: four levels, each with its own job.

A corpus is what is searched, a document what is published and withdrawn whole, a section what gives a
passage its heading path, a passage what is matched, permissioned and cited.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from equerry.kernel.errors import InvalidInput
from equerry.kernel.identifiers import (
    CorpusId,
    DocumentId,
    OrganisationId,
    PassageId,
    ProjectId,
    derive_identifier,
)
from equerry.kernel.kinds import entity, record, value

EVERYONE = "organisation"
"""The reader key that every member of the owning organisation holds."""
NOBODY = "nobody"
"""A reader key that no person holds and no announcement can name."""

DocumentStatus = Literal["pending", "published", "failed", "deleted"]
_CORPUS = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_READER = re.compile(r"organisation|(?:user|project):[\w.@-]{1,128}")


def parse_corpus_id(text: str) -> CorpusId:
    """Read a corpus id: lower-case letters, digits and hyphens, at most 63.

    Raises:
        InvalidInput: anything else.
    """
    if not _CORPUS.fullmatch(text):
        raise InvalidInput(
            f"corpusId must be 1 to 63 of a-z, 0-9 and '-', not starting with '-', got {text[:80]!r}",
            field="corpusId",
        )
    return CorpusId(text)


def parse_reader_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Read who may see a document; sorted, without repeats.

    Raises:
        InvalidInput: none given (nobody is not everybody), or a key of another form.
    """
    if not keys:
        raise InvalidInput("visibleTo must name at least one reader key", field="visibleTo")
    for key in keys:
        if not _READER.fullmatch(key):
            raise InvalidInput(
                f"a reader key is 'organisation', 'user:<id>' or 'project:<id>', got {key[:80]!r}",
                field="visibleTo",
            )
    return tuple(sorted(set(keys)))


def find_common_readers(before: tuple[str, ...], now: tuple[str, ...]) -> tuple[str, ...]:
    """Return keys that only readers named by both hold; NOBODY's if the keys have none in common.

    Keys are compared, not people: whether a person belongs to a project is known when they ask.
    """
    if EVERYONE in now:
        return before
    if EVERYONE in before:
        return now
    return tuple(sorted(set(before) & set(now))) or (NOBODY,)


def derive_document_id(organisation_id: OrganisationId, corpus_id: CorpusId, path: str) -> DocumentId:
    """Return the identifier that a path always has in its organisation's corpus."""
    return derive_identifier(DocumentId, organisation_id, corpus_id, path)


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file as its owner announces it, before its bytes arrive.

    Attributes:
        path: relative, with '/', unique in its corpus; shown to readers as the source.
        sha256: of the bytes, lower-case hexadecimal.
        visible_to: reader keys.
    """

    path: str
    sha256: str
    size_bytes: int
    visible_to: tuple[str, ...] = (EVERYONE,)


@entity
@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document's state; `version` counts its publications from 1, 0 before the first."""

    document_id: DocumentId
    corpus_id: CorpusId
    path: str
    title: str
    status: DocumentStatus
    sha256: str
    visible_to: tuple[str, ...]
    version: int
    passages: int
    embedded: int
    updated_at: datetime
    reason: str | None = None


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A run of text under one heading path; `text` is plain, `heading_path` outermost first."""

    heading_path: tuple[str, ...]
    text: str


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A passage before it has an identity.

    Attributes:
        ordinal: place in the document, from 0.
        hash: of strategy version, title, heading path and text; the same input gives the same hash.
        token_count: estimate, for packing into a budget.
    """

    ordinal: int
    heading_path: tuple[str, ...]
    text: str
    token_count: int
    hash: str


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A published passage as a reader may see it.

    Attributes:
        project_ids: through which projects of theirs the reader sees it, sorted; none if they would without.
    """

    passage_id: PassageId
    document_id: DocumentId
    corpus_id: CorpusId
    title: str
    heading_path: tuple[str, ...]
    text: str
    source_path: str
    version: int
    token_count: int
    project_ids: tuple[ProjectId, ...] = ()


def list_project_ids(passages: Iterable[Passage]) -> tuple[ProjectId, ...]:
    """Return the projects through which any of these is seen, sorted."""
    return tuple(sorted({project for passage in passages for project in passage.project_ids}))


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusSummary:
    """A corpus as one principal sees it: only what that principal may read is counted."""

    corpus_id: CorpusId
    documents: int
    passages: int
    pending: int
    failed: int
    updated_at: datetime
