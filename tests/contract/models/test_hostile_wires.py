"""Every provider's adapter against bytes that are legal and awkward, or that something in between spoilt."""

import gzip
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from equerry.adapters.anthropic.model import connect_anthropic
from equerry.adapters.google.model import connect_google
from equerry.adapters.openai.model import connect_openai
from equerry.adapters.rounds.allowance import ALWAYS_ALLOWED
from equerry.adapters.rounds.driver import DrivenModelAdapter
from equerry.ports.model import ModelGone, ModelRejected, ModelUnavailable, ModelUnusable

from tests.contract.models.requests import SEARCH, arguments_of, ask, collect, end_of, text_of
from tests.contract.models.subjects import ANTHROPIC, BEDROCK, GOOGLE, KITS, OPENAI, Kit, RealClock, throttle
from tests.strict import anthropic_events, bedrock_events, google_events, google_server, openai_events
from tests.strict.replies import Event, Failure, Item, Raw, Stall, Stream
from tests.strict.server import StrictServer

MODELS = {"anthropic": "claude-test-1", "openai": "gpt-test-1", "google": google_server.MODEL}
WORDS = "Größe: 5 € – 日本語 🎨, ja."


def say(kit: Kit, *words: str) -> tuple[Event, ...]:
    """An answer in these pieces, in the wire's own words."""
    match kit.name:
        case "anthropic":
            return anthropic_events.message(anthropic_events.text(*words))
        case "openai":
            return openai_events.response(openai_events.text(*words))
        case "bedrock":
            return bedrock_events.message(bedrock_events.text(*words))
        case _:
            return google_events.answer(google_events.text(*words))


def search(kit: Kit, *pieces: str) -> tuple[Event, ...]:
    """A call whose arguments come in these pieces, or whole where the wire knows no pieces."""
    match kit.name:
        case "anthropic":
            return anthropic_events.message(anthropic_events.tool(*pieces), stop="tool_use")
        case "openai":
            return openai_events.response(openai_events.tool(*pieces))
        case "bedrock":
            return bedrock_events.message(bedrock_events.tool(*pieces), stop="tool_use")
        case _:
            return google_events.answer(google_events.call(args={"query": "Größe 🎨"}, signature="sig-1"))


def encode(server: StrictServer, events: tuple[Event, ...]) -> bytes:
    return b"".join(server.encode(event) for event in events)


def cut(data: bytes, size: int) -> tuple[Item, ...]:
    """The bytes in chunks of their own, each wherever it happens to end."""
    return tuple(Raw(data[at : at + size]) for at in range(0, len(data), size))


@pytest.mark.parametrize("size", [1, 7])
@pytest.mark.req("F-GATE-01")
def test_a_character_may_be_cut_by_the_network(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter, size: int
) -> None:
    server.play(Stream(cut(encode(server, say(kit, WORDS)), size)))

    assert text_of(collect(model, ask())) == WORDS


@pytest.mark.req("F-GATE-01")
def test_arguments_may_be_cut_anywhere(kit: Kit, server: StrictServer, model: DrivenModelAdapter) -> None:
    server.play(Stream(cut(encode(server, search(kit, *'{"query": "Größe 🎨"}')), 3)))

    assert arguments_of(collect(model, ask())) == [{"query": "Größe 🎨"}]


def test_arguments_may_be_cut_between_the_halves_of_a_character(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter
) -> None:
    server.play(search(kit, '{"query": "Größe \ud83c', '\udfa8"}'))

    assert arguments_of(collect(model, ask())) == [{"query": "Größe 🎨"}]


@pytest.mark.parametrize("kit", [kit for kit in KITS if kit is not BEDROCK], ids=lambda kit: kit.name)
def test_characters_that_were_not_escaped_are_read_as_utf_8(kit: Kit) -> None:
    with kit.serve() as server, kit.connect(server) as model:
        plain = unescape(encode(server, say(kit, WORDS)).decode())
        server.play(Stream(cut(plain.encode(), 1)))

        assert text_of(collect(model, ask())) == WORDS


def unescape(text: str) -> str:
    for character in WORDS:
        if not character.isascii():
            units = character.encode("utf-16-be")
            pairs = (units[at : at + 2].hex() for at in range(0, len(units), 2))
            text = text.replace("".join(f"\\u{pair}" for pair in pairs), character)
    return text


def test_a_compressed_answer_is_read_where_one_was_asked_for(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter
) -> None:
    packed = gzip.compress(encode(server, say(kit, WORDS)))
    server.play(Stream(cut(packed, 20), {"content-encoding": "gzip"}), say(kit, WORDS))

    if kit is BEDROCK:
        collect(model, ask())
        assert "gzip" not in server.headers_seen[0].get("accept-encoding", "")
        return
    assert text_of(collect(model, ask())) == WORDS
    assert len(server.requests) == 1


@pytest.mark.req("F-GATE-03")
def test_a_compressed_answer_that_breaks_off_is_no_answer(kit: Kit, server: StrictServer) -> None:
    packed = gzip.compress(encode(server, say(kit, WORDS)))
    server.play(Stream(cut(packed[:-20], 20), {"content-encoding": "gzip"}))

    with kit.connect(server) as model, pytest.raises(ModelUnavailable):
        collect(model, ask(attempts=1))


FOREIGN = (
    b"",
    b"<html>502</html>",
    b"[]",
    b"\xff\xfe",
    b'{"error": "no"}',
    b'{"error": {"code": 5}}',
    b"null",
)


@pytest.mark.req("F-GATE-03")
def test_an_error_that_something_in_between_wrote_goes_by_its_status(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter
) -> None:
    for body in FOREIGN:
        server.play(Failure(400, "", body=body), Failure(503, "", body=body))

        with pytest.raises(ModelRejected):
            collect(model, ask(attempts=1))
        with pytest.raises(ModelUnavailable):
            collect(model, ask(attempts=1))


@pytest.mark.req("F-GATE-03")
def test_a_success_without_an_answer_is_none_and_is_tried_again(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter
) -> None:
    for body in (b"", b"<html>Sign in to the hotel's network</html>", b'{"ok": true}\n'):
        server.play(Stream((Raw(body),) if body else ()), say(kit, WORDS))

        assert text_of(collect(model, ask())) == WORDS
    assert len(server.requests) == 6


def test_a_very_long_piece_is_read_whole(kit: Kit, server: StrictServer, model: DrivenModelAdapter) -> None:
    long = "lengthy " * 125_000
    server.play(Stream(cut(encode(server, say(kit, long)), 4096)))

    assert text_of(collect(model, ask())) == long


def test_a_round_is_over_with_its_last_event_though_the_connection_stays_open(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter
) -> None:
    server.play((*say(kit, WORDS), Stall(30)))

    assert text_of(collect(model, ask(deadline_s=20))) == WORDS
    assert server.hung_up.wait(10)


@pytest.mark.req("A-GEM-13")
def test_the_wish_to_wait_is_read_in_every_form(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter
) -> None:
    now = datetime.now(UTC)
    wishes = {
        format_datetime(now + timedelta(hours=2), usegmt=True): 7200,
        "80": 80,
        "soon": 5,
        "1e999": 5,
        format_datetime(now - timedelta(days=1), usegmt=True): 5,
    }
    for wish, expected in wishes.items():
        server.play(throttle(kit, retry_after=wish))

        with pytest.raises(ModelUnavailable) as caught:
            collect(model, ask(attempts=1))

        assert expected - 60 <= caught.value.retry_after_s <= expected


def test_two_calls_under_one_id_are_both_handed_over(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter
) -> None:
    one, two = '{"query": "a"}', '{"query": "b"}'
    if kit is GOOGLE:
        parts = [google_events.call(args={"query": each}, signature="s", call_id="c") for each in "ab"]
        server.play(google_events.answer(*parts))
    elif kit is BEDROCK:
        wire = bedrock_events
        server.play(wire.message(wire.tool(one), wire.tool(two), stop="tool_use"))
    elif kit.name == "openai":
        server.play(openai_events.response(openai_events.tool(one), openai_events.tool(two)))
    else:
        tools = [anthropic_events.tool(one), anthropic_events.tool(two)]
        server.play(anthropic_events.message(*tools, stop="tool_use"))

    events = collect(model, ask(tools=(SEARCH,)))

    assert arguments_of(events) == [{"query": "a"}, {"query": "b"}]
    assert end_of(events).stop == "tool_use"


@pytest.mark.req("F-ROUTE-06")
def test_a_model_that_the_provider_does_not_have_is_told_apart_from_a_key_that_is_refused(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter
) -> None:
    for refusal in kit.refusals[True]:
        assert isinstance(refusal, Failure)
        gone = refusal.status == 404 or "identifier" in refusal.message
        server.play(refusal)

        with pytest.raises(ModelUnusable) as caught:
            collect(model, ask())

        assert isinstance(caught.value, ModelGone) is gone


@pytest.mark.req("F-GATE-03")
def test_who_does_not_keep_to_the_allowance_is_cut_off_and_hung_up_on(
    kit: Kit, server: StrictServer, model: DrivenModelAdapter
) -> None:
    server.play((*say(kit, *["on and on and on " * 60] * 40)[:-3], Stall(30)))

    events = collect(model, ask(max_output_tokens=64, deadline_s=20))

    end = end_of(events)
    assert (end.stop, end.metered) == ("max_tokens", False)
    assert ALWAYS_ALLOWED < len(text_of(events)) < 2 * ALWAYS_ALLOWED
    assert server.hung_up.wait(10)


CONNECTED = [
    pytest.param(*each, id=each[0].name)
    for each in ((ANTHROPIC, connect_anthropic), (OPENAI, connect_openai), (GOOGLE, connect_google))
]


@pytest.mark.parametrize(("kit", "connect"), CONNECTED)
def test_neither_prompt_nor_key_follows_a_redirection(kit: Kit, connect: Any) -> None:
    with kit.serve() as elsewhere, kit.serve() as server:
        elsewhere.play(kit.answer)
        place = elsewhere.url.removesuffix("/v1")
        server.choose = lambda _: Failure(307, "", {"location": f"{place}{server.paths[-1]}"})
        model = connect(
            model=MODELS[kit.name],
            api_key=kit.key,
            base_url=server.url,
            clock=RealClock(),
            jitter=lambda: 0.0,
        )

        with pytest.raises(ModelRejected):
            collect(model, ask(attempts=1))

        assert elsewhere.headers_seen == []
