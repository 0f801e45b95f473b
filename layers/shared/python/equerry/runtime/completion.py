"""The structured completion function, which only IAM principals may invoke, and waits for its answer."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from equerry.domain.completion import CompletionRefused, CompletionRequest
from equerry.runtime.clock import SystemClock
from equerry.runtime.completion_parts import (
    RESERVE_S,
    CompletionParts,
    build_parts,
    log_completed,
    log_refused,
    refuse_bug,
)
from equerry.runtime.parameters import open_parameters
from equerry.services.telemetry import describe_structured_completion
from equerry.surfaces.completion import StructuredCompletionRequestError, encode_completion


class CompletionApp:
    """Completes one request an invocation; logs what it cost and never what was said."""

    def __init__(
        self, parts: CompletionParts | None = None, *, build: Callable[[], CompletionParts] | None = None
    ) -> None:
        self._parts = parts
        self._build = build

    def warm(self) -> None:
        """Build the parts while the function starts; a failure to is logged, and tried again when invoked."""
        try:
            self._open()
        except Exception as bug:  # noqa: BLE001  # Lambda would log its message, and every caller would wait
            refuse_bug(bug)

    def __call__(self, event: object, context: Any) -> dict[str, Any]:
        """Handle one invocation.

        Raises:
            StructuredCompletionRequestError: there is no answer, for whatever reason.
        """
        request: CompletionRequest | None = None
        try:
            parts = self._open()
            request = parts.decode(event)
            return self._complete(parts, request, context.get_remaining_time_in_millis() / 1000)
        except CompletionRefused as refusal:
            log_refused(request, refusal)
            raise StructuredCompletionRequestError(refusal) from None
        except Exception as bug:  # noqa: BLE001  # its message may hold the prompt, and Lambda would log it
            raise StructuredCompletionRequestError(refuse_bug(bug)) from None

    def _open(self) -> CompletionParts:
        if self._parts is None:
            assert self._build  # noqa: S101  # one of the two is given
            self._parts = self._build()
        return self._parts

    def _complete(self, parts: CompletionParts, request: CompletionRequest, left_s: float) -> dict[str, Any]:
        completion = parts.service.complete(request, deadline_s=left_s - RESERVE_S)
        log_completed(describe_structured_completion(request, completion))
        return encode_completion(request, completion)


def build_completion_app(environ: Mapping[str, str] = os.environ) -> CompletionApp:
    """Return the app of the structured completion function."""
    parameters = open_parameters()
    app = CompletionApp(build=lambda: build_parts(environ, SystemClock(), parameters, warm=True))
    app.warm()
    return app
