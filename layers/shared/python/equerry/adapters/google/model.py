"""One Gemini model as a ModelPort."""

import json
from collections.abc import Callable, Generator
from contextlib import closing
from functools import partial
from typing import Any
from urllib.parse import quote

import httpx2

from equerry.adapters.google.events import ContentReader
from equerry.adapters.google.failures import read_status_error
from equerry.adapters.google.request import PROVIDER, Json, encode_request, find_forced
from equerry.adapters.rounds.attempt import Attempt
from equerry.adapters.rounds.driver import DrivenModelAdapter
from equerry.adapters.rounds.failures import AttemptFailed
from equerry.adapters.rounds.http import TRANSPORT_ERRORS, hang_up, keep_for, limit, read_transport_error
from equerry.adapters.rounds.reading import parse_event
from equerry.engine.model import ModelChoice, ModelRequest, ModelStream
from equerry.kernel.clock import Clock

BASE_URL = "https://generativelanguage.googleapis.com"
_FORCED = "forced"


class GoogleWire:
    """streamGenerateContent of the REST API. `client` holds the key and the address."""

    def __init__(self, client: httpx2.Client, *, model: str) -> None:
        self._client = client
        self._model = model.removeprefix("models/")

    @property
    def choice(self) -> ModelChoice:
        """The model as the provider names it."""
        return ModelChoice(provider=PROVIDER, model=self._model)

    def encode(self, request: ModelRequest) -> Json:
        """See Wire."""
        forced = find_forced(request)
        body = encode_request(request, model=self._model)
        return {"body": body, _FORCED: None if forced is None else forced.name}

    def play(self, body: Json, attempt: Attempt) -> ModelStream:
        """See Wire."""
        with closing(self._receive(body["body"], attempt)) as responses:
            yield from ContentReader(forced=body[_FORCED]).read(responses)
            attempt.drain(responses)

    def _receive(self, body: Json, attempt: Attempt) -> Generator[Json, None, None]:
        """Yield the parts of one response; closing it closes the connection."""
        path = f"/v1beta/models/{quote(self._model, safe='')}:streamGenerateContent?alt=sse"
        try:
            request = self._client.build_request("POST", path, json=body, timeout=limit(attempt))
            response = attempt.wait_for(
                lambda: self._client.send(request, stream=True), discard=lambda late: late.close()
            )
            with closing(response), attempt.interrupting(partial(hang_up, response)):
                if response.status_code != httpx2.codes.OK:
                    raise _read_refusal(response, attempt)
                for event in httpx2.EventSource(response):
                    attempt.check(begun=True)
                    yield parse_event(event.data)
        except TRANSPORT_ERRORS as error:
            raise read_transport_error(error) from None


def _read_refusal(response: httpx2.Response, attempt: Attempt) -> AttemptFailed:
    try:
        told: Any = json.loads(response.read())
    except ValueError:
        told = {}
    error = told.get("error") if isinstance(told, dict) else None
    error = error if isinstance(error, dict) else {}
    return read_status_error(response.status_code, error, response.headers, attempt.clock.now())


def connect_google(
    *, model: str, api_key: str, base_url: str | None, clock: Clock, jitter: Callable[[], float]
) -> DrivenModelAdapter:
    """Return an adapter with a client of its own; nothing is sent before its first use.

    The key is in a header and never in an address, which others write to logs.

    Args:
        base_url: without the version; None for the provider's own address.
        jitter: uniform in [0, 1).
    """
    client = httpx2.Client(base_url=base_url or BASE_URL, headers={"x-goog-api-key": api_key})
    wire = GoogleWire(client, model=model)
    return keep_for(DrivenModelAdapter(wire, clock=clock, jitter=jitter), client)
