"""Documents from the upload bucket's notifications."""

from equerry.runtime.indexing import build_indexer_app

handle = build_indexer_app()
