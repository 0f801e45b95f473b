"""Structured logs: one event name and its fields a line, never a person's words."""

from aws_lambda_powertools import Logger

logger = Logger(service="equerry", use_rfc3339=True)
"""Configures the logger `equerry`, which every module's own logger reports to."""
