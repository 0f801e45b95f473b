"""One model of Amazon Bedrock as a ModelPort."""

import json
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from functools import partial
from typing import Any

from botocore.config import Config
from botocore.exceptions import ClientError, EventStreamError
from botocore.session import get_session

from equerry.adapters.bedrock.events import ConverseReader
from equerry.adapters.bedrock.failures import (
    CREDENTIAL_ERRORS,
    FRAMING_ERRORS,
    TRANSPORT_ERRORS,
    read_client_error,
    read_credential_error,
    read_framing_error,
    read_stream_error,
    read_transport_error,
)
from equerry.adapters.bedrock.request import PROVIDER, Guardrail, Json, encode_request
from equerry.adapters.rounds.attempt import Attempt, Timeouts
from equerry.adapters.rounds.driver import TIMEOUTS, DrivenModelAdapter
from equerry.engine.model import ModelChoice, ModelRequest, ModelStream
from equerry.kernel.clock import Clock

_REFUSED_FROM = 300
_CALLS_ALLOWED = "callsAllowed"


class BedrockWire:
    """ConverseStream. `client` is a bedrock-runtime client that retries nothing."""

    def __init__(self, client: Any, *, model: str, guardrail: Guardrail | None = None) -> None:
        self._client = client
        self._model = model
        self._guardrail = guardrail

    @property
    def choice(self) -> ModelChoice:
        """The model as the provider names it."""
        return ModelChoice(provider=PROVIDER, model=self._model)

    def encode(self, request: ModelRequest) -> Json:
        """See Wire."""
        parameters = encode_request(request, model=self._model, guardrail=self._guardrail)
        return {"parameters": parameters, _CALLS_ALLOWED: request.tools_allowed}

    def play(self, body: Json, attempt: Attempt) -> ModelStream:
        """See Wire."""
        choice = body["parameters"].get("toolConfig", {}).get("toolChoice", {})
        reader = ConverseReader(calls_allowed=body[_CALLS_ALLOWED], forced="tool" in choice)
        with closing(self._receive(body["parameters"], attempt)) as events:
            yield from reader.read(events)
            attempt.drain(events)

    def _receive(self, parameters: Json, attempt: Attempt) -> Generator[Json, None, None]:
        """Yield the events of one response; closing it closes the connection."""
        try:
            # The time-outs of this client are its own, and know nothing of a deadline.
            stream = attempt.wait_for(lambda: self._open(parameters), discard=lambda late: late.close())
            with closing(stream), attempt.interrupting(partial(_hang_up, stream)):
                begun = False
                for event in stream:
                    begun = begun or "messageStart" in event
                    attempt.check(begun=begun)
                    yield event
        except EventStreamError as error:
            raise read_stream_error(error) from None
        except ClientError as error:
            raise read_client_error(error, attempt.clock.now()) from None
        except CREDENTIAL_ERRORS as error:
            raise read_credential_error(error) from None
        except FRAMING_ERRORS:
            raise read_framing_error() from None
        except TRANSPORT_ERRORS as error:
            raise read_transport_error(error) from None

    def _open(self, parameters: Json) -> Any:
        return self._client.converse_stream(**parameters)["stream"]


def _hang_up(stream: Any) -> None:
    """End a read that waits in another thread: closing would leave it waiting."""
    # It may have just ended by itself.
    with suppress(OSError, RuntimeError, ValueError):
        stream._raw_stream.shutdown()  # noqa: SLF001  # the event stream offers nothing that does


def build_config(timeouts: Timeouts) -> Config:
    """Return how the client behaves: one attempt, and silence is noticed."""
    return Config(
        connect_timeout=timeouts.connect,
        read_timeout=timeouts.idle,
        retries={"mode": "standard", "total_max_attempts": 1},
        user_agent_extra="equerry",
    )


def prepare_client(client: Any) -> Any:
    """Return the client, which then reads a refusal whatever its body is.

    botocore takes it for a JSON object, and fails with errors of its own over what a proxy in between wrote.
    """
    client.meta.events.register("before-parse.bedrock-runtime", _replace_foreign_body)
    return client


def _replace_foreign_body(response_dict: Json, **_: object) -> None:
    if response_dict["status_code"] < _REFUSED_FROM:
        return
    try:
        readable = isinstance(json.loads(response_dict["body"]), dict)
    except ValueError:
        readable = False
    if not readable:
        response_dict["body"] = b"{}"


def connect_bedrock(
    *,
    model: str,
    base_url: str | None,
    clock: Clock,
    jitter: Callable[[], float],
    guardrail: Guardrail | None = None,
) -> DrivenModelAdapter:
    """Return an adapter with a client of its own, which signs with the function's role.

    Args:
        model: a model's id, an inference profile's id or ARN.
        base_url: None for the region's own address.
        jitter: uniform in [0, 1).
    """
    client = get_session().create_client(
        "bedrock-runtime", endpoint_url=base_url, config=build_config(TIMEOUTS)
    )
    wire = BedrockWire(prepare_client(client), model=model, guardrail=guardrail)
    return DrivenModelAdapter(wire, clock=clock, jitter=jitter)
