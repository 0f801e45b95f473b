"""Events that are JSON and not what their protocol says: every one is a typed failure, or is read past."""

import copy
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest
from equerry.adapters.anthropic.events import MessageReader
from equerry.adapters.bedrock.events import ConverseReader
from equerry.adapters.codex.events import RunReader
from equerry.adapters.google.events import ContentReader
from equerry.adapters.openai.events import ResponseReader
from equerry.adapters.rounds.failures import AttemptFailed
from equerry.adapters.rounds.reading import end_round, find_arguments, parse_event
from equerry.engine.model import ModelEvent, RoundEnd, TextDelta, ThinkingDelta, ToolCallReady

from tests.contract.models.subjects import ANTHROPIC, BEDROCK, GOOGLE, KITS, OPENAI, Kit
from tests.strict.replies import Event, Item

Told = list[tuple[str, Any]]
ODD: tuple[object, ...] = (None, [], {}, "x", "", -1, 1.5, True, [1], {"a": 1})
_GONE = object()


def read_anthropic(told: Told) -> list[ModelEvent]:
    reader = MessageReader()
    events = list(reader.read((name, json.dumps(data)) for name, data in told))
    return [*events, end_round(reader.stop, reader.usage)]


READERS: dict[str, Callable[[Told], Sequence[ModelEvent]]] = {
    ANTHROPIC.name: read_anthropic,
    OPENAI.name: lambda told: list(ResponseReader().read(data for _, data in told)),
    BEDROCK.name: lambda told: list(ConverseReader(calls_allowed=True).read({n: d} for n, d in told)),
    GOOGLE.name: lambda told: list(ContentReader().read(data for _, data in told)),
}


def list_places(node: object, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in JSON, by its path."""
    if at:
        yield at
    entries: Iterable[tuple[Any, object]] = ()
    if isinstance(node, dict):
        entries = node.items()
    elif isinstance(node, list):
        entries = enumerate(node)
    for name, inner in entries:
        yield from list_places(inner, (*at, name))


def alter(data: Any, at: tuple[Any, ...], odd: object) -> Any:
    changed = copy.deepcopy(data)
    holder = changed
    for name in at[:-1]:
        holder = holder[name]
    if odd is _GONE:
        del holder[at[-1]]
    else:
        holder[at[-1]] = odd
    return changed


def list_altered(items: Sequence[Item]) -> Iterator[Told]:
    """The same round with each place of it, in turn, holding what should not be there, or nothing."""
    told = [(item.name, item.data) for item in items if isinstance(item, Event)]
    for number, (name, data) in enumerate(told):
        for at in list_places(data):
            for odd in (*ODD, _GONE):
                yield [*told[:number], (name, alter(data, at, odd)), *told[number + 1 :]]


def require_sound(events: Sequence[ModelEvent]) -> None:
    end = events[-1]
    assert isinstance(end, RoundEnd)
    usage = end.usage
    counts = (usage.input_tokens, usage.output_tokens, usage.cached_input_tokens, usage.cache_write_tokens)
    assert all(type(count) is int and count >= 0 for count in (*counts, usage.reasoning_tokens))
    for event in events:
        if isinstance(event, TextDelta | ThinkingDelta):
            assert isinstance(event.text, str)
            assert event.text
        elif isinstance(event, ToolCallReady):
            assert end.stop == "tool_use"
            assert isinstance(event.call.tool, str)
            assert isinstance(event.call.call_id, str)


@pytest.mark.parametrize("kit", KITS, ids=lambda kit: kit.name)
@pytest.mark.req("F-GATE-03", "F-GATE-04")
def test_no_event_whatever_is_in_it_is_taken_for_a_bug_of_ours(kit: Kit) -> None:
    read = READERS[kit.name]
    broken = 0
    for round_ in (kit.answer, kit.call, (*kit.answer[:2], kit.in_band)):
        for told in list_altered(round_):
            try:
                require_sound(read(told))
            except AttemptFailed:
                broken += 1
    assert broken > 50


@pytest.mark.req("F-GATE-03", "F-GATE-04")
def test_no_line_of_the_command_s_is_taken_for_a_bug_of_ours() -> None:
    counts = {"input_tokens": 9, "cached_input_tokens": 2, "output_tokens": 3}
    lines: list[Item] = [
        Event("line", {"type": "item.completed", "item": {"type": "reasoning", "text": "Hm."}}),
        Event("line", {"type": "item.completed", "item": {"type": "agent_message", "text": "So."}}),
        Event("line", {"type": "turn.completed", "usage": counts}),
    ]
    for told in list_altered(lines):
        reader = RunReader(offered=frozenset(), calls_allowed=False)
        try:
            require_sound(list(reader.read(json.dumps(data).encode() for _, data in told)))
        except AttemptFailed:
            continue


def list_unmetered(kit: Kit) -> Iterator[Told]:
    """The answer with a usage that says nothing, and with one that makes no sense."""
    told = [(item.name, item.data) for item in kit.answer]
    odds: tuple[object, ...] = (None, {}, "plenty")
    for odd in odds:
        yield [(name, _replace(data, odd)) for name, data in told]


def _replace(data: Any, odd: object) -> Any:
    if isinstance(data, list):
        return [_replace(inner, odd) for inner in data]
    if not isinstance(data, dict):
        return data
    return {
        name: odd if name in ("usage", "usageMetadata") else _replace(inner, odd)
        for name, inner in data.items()
    }


@pytest.mark.parametrize("kit", KITS, ids=lambda kit: kit.name)
@pytest.mark.req("F-GATE-05")
def test_a_round_whose_tokens_were_not_told_is_not_said_to_have_taken_none(kit: Kit) -> None:
    for told in list_unmetered(kit):
        try:
            end = READERS[kit.name](told)[-1]
        except AttemptFailed:
            continue
        assert isinstance(end, RoundEnd)
        assert not end.metered


def test_blocks_that_grow_into_each_other_are_never_sorted_out_by_guessing() -> None:
    told = [(item.name, dict(item.data)) for item in ANTHROPIC.call if isinstance(item, Event)]
    grows = next(place for place, (name, _) in enumerate(told) if name == "content_block_delta")
    told[grows][1]["index"] = 1

    with pytest.raises(AttemptFailed, match="had not begun"):
        read_anthropic(told)


def test_a_message_that_ends_inside_a_block_has_no_whole_call() -> None:
    told = [(item.name, item.data) for item in ANTHROPIC.call if isinstance(item, Event)]
    last = max(place for place, (name, _) in enumerate(told) if name == "content_block_stop")

    with pytest.raises(AttemptFailed, match="in the middle of a block"):
        read_anthropic(told[:last] + told[last + 1 :])


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": -Infinity}', "[" * 100_000, '{"a":' * 100_000])
def test_what_python_reads_and_json_is_not_is_refused(text: str) -> None:
    assert find_arguments(text) is None
    with pytest.raises(AttemptFailed):
        parse_event(text)
