import os
import socket
from collections.abc import Iterator

import pytest

from local.errors import PortTaken
from local.ports import find_free_port, is_listening, require_free


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_a_taken_port_is_named_with_its_holder_and_the_way_out(taken: int) -> None:
    with pytest.raises(PortTaken) as caught:
        require_free(taken, what="the issuer", variable="EQUERRY_ISSUER_PORT")

    assert f"port {taken}" in str(caught.value)
    assert str(os.getpid()) in str(caught.value)
    assert "EQUERRY_ISSUER_PORT=" in caught.value.remedy


def test_a_free_port_passes() -> None:
    port = find_free_port()

    require_free(port, what="the issuer", variable="EQUERRY_ISSUER_PORT")

    assert not is_listening(port)


def test_a_listening_port_is_seen(taken: int) -> None:
    assert is_listening(taken)
