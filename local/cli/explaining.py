"""A run's record as a timeline: what happened in that turn, without a word of what was said."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from local.cli.inspecting import describe_inspection

Record = dict[str, Any]
Moment = tuple[datetime, str]


def write_timeline(record: Record) -> str:
    """Return the record for a person to read: who and what, what it was made of, then moment by moment."""
    lines = [*_describe_head(record), "", *_describe_composition(record["composition"])]
    lines += ["", *describe_inspection(record["inspection"])]
    lines += ["", *_describe_moments(record), "", *_describe_end(record)]
    return "\n".join(lines)


def _describe_head(record: Record) -> Iterator[str]:
    yield f"run          {record['runId']}"
    yield f"asked by     {record['userId']} of {record['organisationId']}, on {record['surface'] or '?'}"
    yield f"conversation {record['conversationId']}"
    yield f"profile      {record['profile']}"
    yield f"mode         {record['mode']} ({record['modeReason']}), {_count(record['attempts'], 'attempt')}"
    yield f"trace        {record['traceId'] or 'none'}"


def _describe_composition(made: Record) -> Iterator[str]:
    if not made:
        yield "No worker composed this run."
        return
    if "fastPath" in made:
        yield f"fast path    {_show(made['fastPath'])}"
    if "instructions" in made:
        yield from _describe_instructions(made["instructions"])
        yield f"code         {made['release']}"
        yield f"limits       {_describe_limits(made['limits'])}"
        yield f"history      {_count(made['historyMessages'], 'message')}"


def _describe_instructions(instructions: Record) -> Iterator[str]:
    version = f"{instructions['profile']}@{instructions['version']}"
    yield f"instructions {version}, variant {instructions['variantKey']}"
    degraded = instructions["variables"].get("degraded")
    if degraded:
        yield f"switched off {', '.join(degraded)}"


def _describe_limits(limits: Record) -> str:
    return (
        f"{limits['rounds']} rounds, {limits['toolCalls']} tool calls, {limits['wallS']:g} s,"
        f" {limits['inputTokens']} tokens in and {limits['outputTokens']} out"
    )


def _describe_moments(record: Record) -> Iterator[str]:
    start = datetime.fromisoformat(record["queuedAt"])
    for at, what in sorted(_list_moments(record), key=lambda moment: moment[0]):
        passed = (at - start).total_seconds()
        first, *more = what.split("\n")
        yield f"{passed:+9.3f} s  {first}"
        yield from (f"{'':13}{line}" for line in more)


def _list_moments(record: Record) -> Iterator[Moment]:
    for name, what in (
        ("queuedAt", "accepted"),
        ("startedAt", "answering began" if record["mode"] == "inline" else "a worker began"),
        ("firstTextAt", "first text sent"),
        ("endedAt", f"ended: {record['stopReason']}"),
    ):
        if record[name]:
            yield datetime.fromisoformat(record[name]), what
    for played in record["outcome"].get("rounds", []):
        yield (
            datetime.fromisoformat(played["startedAt"]),
            f"round {played['number']} asked {_name_model(played)}",
        )
        if "endedAt" in played:
            yield datetime.fromisoformat(played["endedAt"]), _describe_round(played)
    for step in record["steps"]:
        yield datetime.fromisoformat(step["startedAt"]), f"{step['tool']} began: {_show(step['arguments'])}"
        if step["finishedAt"]:
            yield datetime.fromisoformat(step["finishedAt"]), _describe_step(step)


def _describe_round(played: Record) -> str:
    number, stop = played["number"], played["stop"] or "broken off"
    return (
        f"round {number} {stop}: {played.get('inputTokens', '?')} in, {played.get('outputTokens', '?')} out"
    )


def _describe_step(step: Record) -> str:
    told = f"{step['tool']} {step['outcome']} in {step['durationMs']} ms: {_show(step['resultSummary'])}"
    if step["failure"]:
        told += f" ({step['failure']})"
    decided = step["decisions"]
    if not decided.get("candidates"):
        return told
    counts = decided["candidates"]
    told += (
        f"\nsearched {', '.join(decided['corpora']) or 'nothing'} under permissions {decided['predicate']}:"
        f" {counts['semantic']} by meaning, {counts['lexical']} by words, {decided['fused']} fused"
    )
    for place, passage in enumerate(decided["returned"], start=1):
        told += f"\n{place}. {passage['passageId']} v{passage['version']}  {_show(passage['scores'])}"
    return told


def _describe_end(record: Record) -> Iterator[str]:
    if not record["endedAt"]:
        yield "It has not ended yet: look again. What a dead worker left is ended within two minutes."
    unreported = [step["tool"] for step in record["steps"] if step["outcome"] is None]
    if unreported:
        yield f"never reported their end: {', '.join(unreported)}"
    verified = record["outcome"].get("verification")
    if verified:
        yield f"citations    {verified['citationsVerified']} verified, {verified['citationsRemoved']} removed"
    sent = record["deliveries"]
    if sent:
        yield (
            f"delivery     {sent['envelopes']} envelopes, {sent['reached']} frames arrived,"
            f" {sent['gone'] + sent['failed']} did not, {sent['unheard']} had no listener"
        )
    yield from _describe_usage(record["usage"])
    if record["errorCode"]:
        yield f"error        {record['errorCode']}"


def _describe_usage(used: Record | None) -> Iterator[str]:
    if used is None:
        return
    tokens, partial = used["tokens"], "" if used["complete"] else ", and what a broken round used"
    price = (
        "no known price" if used["costUsd"] is None else f"{used['costUsd']:.6f} USD of {used['pricedOn']}"
    )
    yield f"usage        {tokens['inputTokens']} tokens in, {tokens['outputTokens']} out{partial}; {price}"
    yield f"retrieved    {used['passagesRetrieved']} passages, {used['charactersRetrieved']} characters"


def _name_model(played: Record) -> str:
    return f"{played.get('provider', '?')}/{played.get('model', '?')}"


def _show(entries: Record) -> str:
    return ", ".join(f"{name} {entry}" for name, entry in entries.items()) or "nothing"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
