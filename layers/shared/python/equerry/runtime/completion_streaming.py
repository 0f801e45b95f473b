"""The structured completion function that streams; its first frame leaves before any SDK is imported."""

import logging
import os
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any

from equerry.adapters.aws.parameters import ParameterReader
from equerry.adapters.aws.signed_ssm import SignedSsm
from equerry.domain.completion import CompletionRefused, CompletionRequest
from equerry.engine.ticking import tick
from equerry.kernel.clock import Clock
from equerry.runtime.clock import SystemClock
from equerry.runtime.completion_parts import (
    RESERVE_S,
    CompletionParts,
    build_parts,
    log_completed,
    log_refused,
    refuse_bug,
)
from equerry.services.completion import Completion, CompletionEvents, CompletionStarted
from equerry.surfaces.completion_frames import (
    FramePacer,
    encode_frame,
    error_frame,
    result_frame,
    start_frame,
)

TICK_S = 0.25
_FIELDS = ("parameters", "failure", "purpose", "reason", "parameter", "entries")
_GRACE_S = 1.0
"""How long past its deadline a model is given to say so itself."""


class LateLogHandler(logging.Handler):
    """Writes what is logged in trouble as our own logger would, which is imported only then."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record, unless our own logger is there by now and has written it."""
        if record.name.startswith("equerry") and logging.getLogger("equerry").handlers:
            return
        from equerry.runtime.observability import write_line

        fields = {"level": record.levelname, "message": record.getMessage(), "logger": record.name}
        # Ours are events with fields; a library's words are scrubbed like everything else.
        known = {name: record.__dict__[name] for name in _FIELDS if name in record.__dict__}
        sys.stdout.write(write_line({**fields, **known}) + "\n")


class StreamingCompletionApp:
    """Streams one completion an invocation; whatever happens, `result` or `error` is its last frame."""

    def __init__(self, build: Callable[[], CompletionParts], clock: Clock) -> None:
        self._build = build
        self._parts: CompletionParts | None = None
        self._clock = clock

    def __call__(self, event: object, context: Any) -> Iterator[bytes]:
        """Yield the frames of one invocation; raises nothing."""
        request: CompletionRequest | None = None
        try:
            self._parts = self._parts or self._build()
            request = self._parts.decode(event)
            left_s = context.get_remaining_time_in_millis() / 1000 - RESERVE_S
            events = self._parts.service.stream(request, deadline_s=left_s)
            completion = yield from self._pass_on(request, events, left_s)
        except CompletionRefused as refusal:
            yield encode_frame(error_frame(refusal))
            log_refused(request, refusal)
            return
        except Exception as bug:  # noqa: BLE001  # its message may hold the prompt; where it happened is logged
            yield encode_frame(error_frame(refuse_bug(bug)))
            return
        yield encode_frame(result_frame(request, completion))
        self._log(request, completion)

    def _pass_on(
        self, request: CompletionRequest, events: CompletionEvents, left_s: float
    ) -> Generator[bytes, None, Completion]:
        """Yield the frames up to the last; returns what that is to hold."""
        assert self._parts  # noqa: S101  # built by the caller
        give_up_s = self._clock.monotonic_s() + min(left_s, self._parts.service.longest_s) + _GRACE_S
        started = next(events)
        assert isinstance(started, CompletionStarted)  # noqa: S101  # the service's promise
        yield encode_frame(start_frame(request, started))
        pacer = FramePacer(self._clock.monotonic_s())
        completion: Completion | None = None
        for event in tick(events, every_s=TICK_S):
            now_s = self._clock.monotonic_s()
            if event is None and now_s >= give_up_s:
                raise CompletionRefused("deadline_exceeded", "the model did not finish before the deadline")
            yield from map(encode_frame, pacer.take(event, now_s))
            completion = event if isinstance(event, Completion) else completion
        assert completion  # noqa: S101  # the service's promise
        return completion

    def _log(self, request: CompletionRequest, completion: Completion) -> None:
        from equerry.services.telemetry import describe_structured_completion

        log_completed(describe_structured_completion(request, completion))


def build_streaming_app(environ: Mapping[str, str] = os.environ) -> StreamingCompletionApp:
    """Return the app of the streaming function; its settings are read with the first invocation."""
    logging.getLogger().addHandler(LateLogHandler(logging.WARNING))
    clock = SystemClock()

    def build() -> CompletionParts:
        return build_parts(environ, clock, ParameterReader(SignedSsm(environ), clock), warm=False)

    return StreamingCompletionApp(build, clock)
