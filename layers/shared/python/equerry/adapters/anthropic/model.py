"""One model of Anthropic's as a ModelPort."""

from collections.abc import Callable, Generator
from contextlib import closing
from functools import partial

import anthropic

from equerry.adapters.anthropic.events import PAUSED, MessageReader
from equerry.adapters.anthropic.failures import read_status_error
from equerry.adapters.anthropic.request import PROVIDER, Json, continue_request, encode_request
from equerry.adapters.rounds.attempt import Attempt
from equerry.adapters.rounds.driver import DrivenModelAdapter
from equerry.adapters.rounds.http import (
    TRANSPORT_ERRORS,
    hang_up,
    keep_for,
    limit,
    read_transport_error,
    read_wrapped_error,
)
from equerry.adapters.rounds.reading import end_round
from equerry.engine.model import ModelChoice, ModelRequest, ModelStream
from equerry.kernel.clock import Clock
from equerry.kernel.usage import Usage

BASE_URL = "https://api.anthropic.com"
MOST_PAUSES = 4


class AnthropicWire:
    """The Messages API, streamed."""

    def __init__(self, client: anthropic.Anthropic, *, model: str) -> None:
        self._client = client
        self._model = model

    @property
    def choice(self) -> ModelChoice:
        """The model as the provider names it."""
        return ModelChoice(provider=PROVIDER, model=self._model)

    def encode(self, request: ModelRequest) -> Json:
        """See Wire."""
        return encode_request(request, model=self._model)

    def play(self, body: Json, attempt: Attempt) -> ModelStream:
        """See Wire; a turn that the provider pauses is the same round, taken up again."""
        usage: Usage | None = Usage()
        for _ in range(MOST_PAUSES):
            reader = MessageReader(forced=body.get("tool_choice", {}).get("type") == "tool")
            with closing(self._receive(body, attempt)) as events:
                yield from reader.read(events)
                attempt.drain(events)
            taken = reader.usage
            usage = None if usage is None or taken is None else usage + taken
            if reader.reason != PAUSED:
                yield end_round(reader.stop, usage)
                return
            body = continue_request(body, reader.content)
        yield end_round("malformed", usage)

    def _receive(self, body: Json, attempt: Attempt) -> Generator[tuple[str, str], None, None]:
        """Yield the events of one response, each with its JSON; closing it closes the connection."""
        try:
            stream = attempt.wait_for(
                lambda: self._client.messages.create(**body, stream=True, timeout=limit(attempt)),
                discard=lambda late: late.close(),
            )
            with closing(stream), attempt.interrupting(partial(hang_up, stream.response)):
                begun = False
                for event in stream.raw_events(stream.response):
                    begun = begun or event.event == "message_start"
                    attempt.check(begun=begun)
                    yield event.event or "", event.data
        except anthropic.APIStatusError as error:
            raise read_status_error(error, attempt.clock.now()) from None
        except anthropic.APIConnectionError as error:
            raise read_wrapped_error(error) from None
        except TRANSPORT_ERRORS as error:
            raise read_transport_error(error) from None


def connect_anthropic(
    *, model: str, api_key: str, base_url: str | None, clock: Clock, jitter: Callable[[], float]
) -> DrivenModelAdapter:
    """Return an adapter with a client of its own; nothing is sent before its first use.

    The SDK's own retries are off: they ignore our deadline and obey any Retry-After.

    Args:
        base_url: None for the provider's own address.
        jitter: uniform in [0, 1).
    """
    # Prompt and key would follow.
    http_client = anthropic.DefaultHttpxClient(follow_redirects=False)
    # Given explicitly, so that no variable of the environment redirects it or adds content to traces.
    client = anthropic.Anthropic(
        api_key=api_key,
        base_url=base_url or BASE_URL,
        max_retries=0,
        open_telemetry=False,
        http_client=http_client,
    )
    wire = AnthropicWire(client, model=model)
    return keep_for(DrivenModelAdapter(wire, clock=clock, jitter=jitter), http_client)
