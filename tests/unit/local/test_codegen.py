from equerry.channel.events import EVENT_TYPES
from local.codegen.__main__ import TARGET
from local.codegen.typescript import render


def test_the_clients_types_are_what_the_layer_declares() -> None:
    assert TARGET.read_text() == render()


def test_every_declared_event_reaches_the_client() -> None:
    rendered = render()

    for name in EVENT_TYPES:
        assert f'  "{name}",' in rendered
