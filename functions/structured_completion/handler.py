"""Completions for the company's other services."""

from equerry.runtime.completion import build_completion_app

handle = build_completion_app()
