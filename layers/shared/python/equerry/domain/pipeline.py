"""What turns a file into published passages, as one version: another one makes every document stale."""

from typing import Final

from equerry.domain.chunking import STRATEGY_VERSION

EXTRACTION_VERSION: Final = 1
"""Raised when the same bytes give other text."""

EMBEDDING_GENERATION: Final = 1
"""Raised with the embedding model or its preparation."""

PIPELINE_VERSION: Final = f"text-{EXTRACTION_VERSION}/{STRATEGY_VERSION}/vectors-{EMBEDDING_GENERATION}"

READABLE_SUFFIXES: Final = (".md", ".markdown", ".html", ".htm", ".txt", ".rst", ".pdf")

LARGEST_DOCUMENT_BYTES: Final = 25_000_000
