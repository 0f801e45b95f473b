"""Turns from the queue."""

from equerry.runtime.worker import build_worker_app

handle = build_worker_app()
