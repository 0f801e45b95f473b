"""Each week, and when an operator asks: what is past its time goes."""

from equerry.runtime.retention import build_retention_app

handle = build_retention_app()
