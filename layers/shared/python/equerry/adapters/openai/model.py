"""One model behind the Responses API as a ModelPort."""

from collections.abc import Callable, Generator
from contextlib import closing
from functools import partial

import httpx2
import openai

from equerry.adapters.openai.events import ResponseReader
from equerry.adapters.openai.failures import read_status_error
from equerry.adapters.openai.request import PROVIDER, Json, encode_request, find_strict
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
from equerry.adapters.rounds.reading import parse_event
from equerry.engine.model import ModelChoice, ModelRequest, ModelStream
from equerry.kernel.clock import Clock

BASE_URL = "https://api.openai.com/v1"
_STRICT = "strict"


class OpenAiWire:
    """The Responses API, streamed."""

    def __init__(self, client: openai.OpenAI, *, model: str) -> None:
        self._client = client
        self._model = model

    @property
    def choice(self) -> ModelChoice:
        """The model as the provider names it."""
        return ModelChoice(provider=PROVIDER, model=self._model)

    def encode(self, request: ModelRequest) -> Json:
        """See Wire."""
        strict = find_strict(request)
        return {"body": encode_request(request, model=self._model, strict=strict), _STRICT: strict}

    def play(self, body: Json, attempt: Attempt) -> ModelStream:
        """See Wire."""
        forced = isinstance(body["body"].get("tool_choice"), dict)
        reader = ResponseReader(forced=forced, strict=body[_STRICT])
        with closing(self._receive(body["body"], attempt)) as events:
            yield from reader.read(events)
            attempt.drain(events)

    def _receive(self, body: Json, attempt: Attempt) -> Generator[Json, None, None]:
        """Yield the events of one response; closing it closes the connection."""
        try:
            stream = attempt.wait_for(
                lambda: self._client.responses.create(**body, stream=True, timeout=limit(attempt)),
                discard=lambda late: late.close(),
            )
            with closing(stream), attempt.interrupting(partial(hang_up, stream.response)):
                begun = False
                # Not the SDK's own events: it builds each into a model, and raises on some of them.
                for event in httpx2.EventSource(stream.response):
                    begun = begun or event.event == "response.created"
                    attempt.check(begun=begun)
                    yield parse_event(event.data)
        except openai.APIStatusError as error:
            raise read_status_error(error, attempt.clock.now()) from None
        except openai.APIConnectionError as error:
            raise read_wrapped_error(error) from None
        except TRANSPORT_ERRORS as error:
            raise read_transport_error(error) from None


def connect_openai(
    *, model: str, api_key: str, base_url: str | None, clock: Clock, jitter: Callable[[], float]
) -> DrivenModelAdapter:
    """Return an adapter with a client of its own; nothing is sent before its first use.

    The SDK's own retries are off: they ignore our deadline.

    Args:
        base_url: of whoever speaks the protocol, up to and including its version; None for OpenAI's own.
        jitter: uniform in [0, 1).
    """
    # Prompt and key would follow.
    http_client = openai.DefaultHttpxClient(follow_redirects=False)
    client = openai.OpenAI(
        api_key=api_key,
        base_url=base_url or BASE_URL,
        max_retries=0,
        http_client=http_client,
    )
    # No variable of the environment names another account.
    client.organization = client.project = None
    wire = OpenAiWire(client, model=model)
    return keep_for(DrivenModelAdapter(wire, clock=clock, jitter=jitter), http_client)
