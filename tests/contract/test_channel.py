"""ChannelPort: over memory and over API Gateway's management API."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from equerry.adapters.aws.channel import ApiGatewayChannelAdapter
from equerry.adapters.aws.clients import AwsClients
from equerry.kernel.identifiers import ConnectionId
from equerry.ports.delivery import ChannelPort, ConnectionGone

from tests.contract.management_api import serve_management_api
from tests.fakes.delivery import MemoryChannelAdapter

TAB, PHONE = ConnectionId("L0SM9cOFvHcCIhw="), ConnectionId("M1T/8dPG+IdDJix=")


@dataclass(frozen=True)
class Sockets:
    port: ChannelPort
    open: Callable[[ConnectionId], None]
    close: Callable[[ConnectionId], None]
    frames: Callable[[ConnectionId], list[str]]


@pytest.fixture(params=["memory", "api gateway"])
def sockets(request: pytest.FixtureRequest) -> Iterator[Sockets]:
    if request.param == "memory":
        memory = MemoryChannelAdapter()
        yield Sockets(
            memory, memory.open_socket, memory.close_socket, lambda tab: list(memory.list_frames(tab))
        )
        return
    with serve_management_api() as api:
        client = AwsClients().push(api.url)
        yield Sockets(
            ApiGatewayChannelAdapter(client),
            lambda tab: api.received.update({tab: []}),
            lambda tab: _drop(api.received, tab),
            lambda tab: api.received[tab],
        )
        client.close()


def _drop(received: dict[str, list[str]], tab: ConnectionId) -> None:
    del received[tab]


def test_frames_arrive_whole_in_order_and_only_where_they_were_sent(sockets: Sockets) -> None:
    sockets.open(TAB)
    sockets.open(PHONE)

    for frame in ('{"seq":1}', "“ü” 🙂", "x" * (128 * 1024)):
        sockets.port.send(PHONE, frame)

    assert sockets.frames(PHONE) == ['{"seq":1}', "“ü” 🙂", "x" * (128 * 1024)]
    assert sockets.frames(TAB) == []


def test_a_closed_socket_is_gone(sockets: Sockets) -> None:
    sockets.open(TAB)
    sockets.close(TAB)

    with pytest.raises(ConnectionGone):
        sockets.port.send(TAB, "{}")


@pytest.mark.parametrize("never", [PHONE, ConnectionId("never-given-out")])
def test_a_socket_that_never_was_is_gone(sockets: Sockets, never: ConnectionId) -> None:
    with pytest.raises(ConnectionGone):
        sockets.port.send(never, "{}")


def test_a_frame_that_no_socket_could_carry_is_our_bug(sockets: Sockets) -> None:
    sockets.open(TAB)

    with pytest.raises(ValueError, match="a frame may have 131072 bytes"):
        sockets.port.send(TAB, "ü" * (64 * 1024) + "x")

    assert sockets.frames(TAB) == []
