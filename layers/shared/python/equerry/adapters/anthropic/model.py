"""One model of Anthropic's as a ModelPort."""

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from itertools import count

import anthropic
import httpx2

from equerry.adapters.anthropic.events import PAUSED, MessageReader
from equerry.adapters.anthropic.failures import (
    AttemptFailed,
    broke_off,
    read_connection_error,
    read_status_error,
    read_transport_error,
)
from equerry.adapters.anthropic.request import PROVIDER, Json, continue_request, encode_request
from equerry.adapters.anthropic.retrying import RetryPolicy
from equerry.domain.conversations import ModelChoice
from equerry.engine.model import ModelRequest, ModelStream, RoundEnd
from equerry.kernel.clock import Clock
from equerry.kernel.kinds import value
from equerry.kernel.usage import Usage
from equerry.ports.model import ModelUnavailable

BASE_URL = "https://api.anthropic.com"
MOST_PAUSES = 4


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds; the request's deadline stands above all of them.

    Attributes:
        connect: to be connected.
        idle: without a byte. The provider sends pings while it thinks, so silence means that it is gone.
        first_event: until the message begins, pings or not.
    """

    connect: float = 5.0
    idle: float = 45.0
    first_event: float = 60.0


TIMEOUTS = Timeouts()
RETRIES = RetryPolicy()


class AnthropicModelAdapter:
    """Streams rounds, retries what failed before its first event, and obeys one deadline."""

    def __init__(
        self,
        client: anthropic.Anthropic,
        *,
        model: str,
        clock: Clock,
        jitter: Callable[[], float],
        timeouts: Timeouts = TIMEOUTS,
        retries: RetryPolicy = RETRIES,
    ) -> None:
        self._client = client
        self._model = model
        self._clock = clock
        self._jitter = jitter
        self._timeouts = timeouts
        self._retries = retries

    @property
    def choice(self) -> ModelChoice:
        """The model as the provider names it."""
        return ModelChoice(provider=PROVIDER, model=self._model)

    def stream(self, request: ModelRequest) -> ModelStream:
        """See ModelPort."""
        deadline_s = self._clock.monotonic_s() + request.deadline_s
        body = encode_request(request, model=self._model)
        for attempt in count(1):
            with closing(self._stream_round(body, deadline_s)) as events:
                begun = False
                try:
                    for event in events:
                        begun = True
                        yield event
                except AttemptFailed as failure:
                    wait_s = None if begun else self._find_wait_s(failure, attempt, deadline_s)
                    if wait_s is None:
                        raise failure.outcome from None
                else:
                    return
            self._clock.sleep(wait_s)

    def _find_wait_s(self, failure: AttemptFailed, attempt: int, deadline_s: float) -> float | None:
        left_s = deadline_s - self._clock.monotonic_s()
        return self._retries.find_wait_s(failure, attempt=attempt, left_s=left_s, jitter=self._jitter)

    def _stream_round(self, body: Json, deadline_s: float) -> ModelStream:
        """One attempt; a turn that the provider pauses is the same round, taken up again."""
        usage = Usage()
        for _ in range(MOST_PAUSES):
            reader = MessageReader()
            with closing(self._receive(body, deadline_s)) as events:
                yield from reader.read(events)
            usage += reader.usage
            if reader.reason != PAUSED:
                yield RoundEnd(stop=reader.stop, usage=usage)
                return
            body = continue_request(body, reader.content)
        yield RoundEnd(stop="malformed", usage=usage)

    def _receive(self, body: Json, deadline_s: float) -> Generator[tuple[str, str], None, None]:
        """Yield the events of one response, each with its JSON; closing it closes the connection."""
        sent_s = self._clock.monotonic_s()
        try:
            with self._client.messages.create(**body, stream=True, timeout=self._limit(deadline_s)) as stream:
                begun = False
                for event in stream.raw_events(stream.response):
                    begun = begun or event.event == "message_start"
                    self._check_time(begun=begun, sent_s=sent_s, deadline_s=deadline_s)
                    yield event.event or "", event.data
        except anthropic.APIStatusError as error:
            raise read_status_error(error, self._clock.now()) from None
        except anthropic.APIConnectionError as error:
            raise read_connection_error(error) from None
        except (httpx2.RequestError, httpx2.StreamError) as error:
            raise read_transport_error(error) from None

    def _limit(self, deadline_s: float) -> httpx2.Timeout:
        left_s = deadline_s - self._clock.monotonic_s()
        if left_s <= 0:
            raise AttemptFailed(_out_of_time(), retryable=False)
        connect, idle = min(self._timeouts.connect, left_s), min(self._timeouts.idle, left_s)
        return httpx2.Timeout(connect=connect, read=idle, write=idle, pool=connect)

    def _check_time(self, *, begun: bool, sent_s: float, deadline_s: float) -> None:
        now_s = self._clock.monotonic_s()
        if now_s >= deadline_s:
            raise AttemptFailed(_out_of_time(), retryable=False)
        if not begun and now_s - sent_s > self._timeouts.first_event:
            raise broke_off(f"did not begin within {self._timeouts.first_event:g} s")


def connect_anthropic(
    *, model: str, api_key: str, base_url: str | None, clock: Clock, jitter: Callable[[], float]
) -> AnthropicModelAdapter:
    """Return an adapter with a client of its own; nothing is sent before its first use.

    The SDK's own retries are off: they ignore our deadline and obey any Retry-After.

    Args:
        base_url: None for the provider's own address.
        jitter: uniform in [0, 1).
    """
    # Given explicitly, so that no variable of the environment redirects it or adds content to traces.
    client = anthropic.Anthropic(
        api_key=api_key, base_url=base_url or BASE_URL, max_retries=0, open_telemetry=False
    )
    return AnthropicModelAdapter(client, model=model, clock=clock, jitter=jitter)


def _out_of_time() -> ModelUnavailable:
    return ModelUnavailable("the model did not finish before the deadline")
