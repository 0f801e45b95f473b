"""What the adapters share that speak HTTP through httpx2."""

import socket
from contextlib import suppress
from typing import TypeVar
from weakref import finalize

import httpx2

from equerry.adapters.rounds.attempt import Attempt
from equerry.adapters.rounds.failures import AttemptFailed, lost_connection

_Model = TypeVar("_Model")
TRANSPORT_ERRORS = (httpx2.RequestError, httpx2.StreamError)


def keep_for(model: _Model, client: httpx2.Client) -> _Model:
    """Return the model; what its client keeps open from round to round is closed once it is gone."""
    # A process that ends takes them along by itself.
    finalize(model, client.close).atexit = False
    return model


def limit(attempt: Attempt) -> httpx2.Timeout:
    """Return the time-outs of one request."""
    connect, idle = attempt.connect_s, attempt.idle_s
    return httpx2.Timeout(connect=connect, read=idle, write=idle, pool=connect)


def read_transport_error(error: httpx2.RequestError | httpx2.StreamError) -> AttemptFailed:
    """Translate a failure of the connection itself."""
    return lost_connection(type(error).__name__)


def hang_up(response: httpx2.Response) -> None:
    """End a read that waits in another thread: closing would leave it waiting."""
    connection = response.extensions["network_stream"].get_extra_info("socket")
    # It may have just ended by itself.
    with suppress(OSError):
        # The plain socket's own: that of a TLS socket first takes the state away that the reader uses.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


def read_wrapped_error(error: Exception) -> AttemptFailed:
    """Translate an SDK's failure to connect or send.

    Raises:
        Exception: SDKs wrap whatever went wrong while sending; what the network did not cause is a bug.
    """
    cause = error.__cause__
    if isinstance(cause, httpx2.RequestError):
        return read_transport_error(cause)
    raise cause or error
