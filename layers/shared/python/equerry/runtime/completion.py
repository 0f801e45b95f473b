"""Wires the structured completion function, which only IAM principals of the account may invoke."""

import os
from collections.abc import Mapping
from typing import Any

from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.metrics import EmfMetricAdapter
from equerry.kernel.clock import Clock
from equerry.ports.model import ModelPort
from equerry.runtime.clock import SystemClock
from equerry.runtime.models import build_model
from equerry.runtime.observability import logger
from equerry.runtime.parameters import build_switch, list_parameters, open_parameters
from equerry.runtime.settings import StructuredCompletionSettings
from equerry.services.completion import Completion, CompletionService
from equerry.services.model_switching import guard_model
from equerry.services.telemetry import describe_completion
from equerry.surfaces.completion import decode_request, encode_completion, respond

RESERVE_S = 3.0
"""Kept of Lambda's time, so that a late provider becomes an answer and not a time-out."""


class CompletionApp:
    """Completes one input an invocation; logs what it cost and never what was said."""

    def __init__(self, service: CompletionService, clock: Clock) -> None:
        self._service = service
        self._clock = clock

    def __call__(self, event: object, context: Any) -> dict[str, Any]:
        """Handle one invocation."""
        return respond(lambda: self._complete(event, context.get_remaining_time_in_millis() / 1000))

    def _complete(self, event: object, left_s: float) -> dict[str, Any]:
        request = decode_request(event)
        began_s = self._clock.monotonic_s()
        completion = self._service.complete(request, deadline_s=left_s - RESERVE_S)
        self._log(completion, self._clock.monotonic_s() - began_s)
        return encode_completion(completion)

    def _log(self, completion: Completion, took_s: float) -> None:
        fields = describe_completion(completion.model, completion.stop, completion.usage)
        logger.info("structured_completion", extra={**fields, "duration_ms": round(took_s * 1000)})


def build_completion_app(environ: Mapping[str, str] = os.environ) -> CompletionApp:
    """Return the app of the structured completion function."""
    settings = StructuredCompletionSettings.from_env(environ)
    clock = SystemClock()
    return CompletionApp(CompletionService(_find_model(settings, clock)), clock)


def _find_model(settings: StructuredCompletionSettings, clock: Clock) -> ModelPort | None:
    if settings.model_provider in (None, "extractive"):
        return None  # it only answers out of documents, and there are none here
    switch = build_switch(settings, open_parameters(), EmfMetricAdapter(settings.equerry_stage))
    open_parameters().preload(list_parameters(settings, switch))
    return guard_model(build_model(settings, AwsClients(), clock), switch)
