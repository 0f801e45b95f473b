"""Completions for the company's other services, as they are written; see `stream`, which starts this."""

from equerry.runtime.completion_streaming import build_streaming_app

handle = build_streaming_app()
