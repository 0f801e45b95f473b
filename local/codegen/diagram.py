"""The flow of one turn, drawn: who tells whom what, in order, and what happens when something dies."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap

LINES = (
    ("reader", "Page", "client core"),
    ("http", "HTTP", "function"),
    ("sockets", "WebSocket", "function"),
    ("postgres", "PostgreSQL", "the truth"),
    ("dynamo", "DynamoDB", "lease, log, sockets"),
    ("queue", "Turn queue", "SQS FIFO"),
    ("worker", "Worker", "function"),
    ("model", "Model", "live or embedded"),
)
"""The columns: key, name, what it is."""

GAP, LEFT, TOP, STEP = 158, 96, 96, 34
WIDTH = LEFT * 2 + GAP * (len(LINES) - 1)
X = {key: LEFT + GAP * place for place, (key, _, _) in enumerate(LINES)}


@dataclass(frozen=True, slots=True)
class Phase:
    """A band of the picture; `steps` are (from, to, words), an answer where `to` is marked with `~`."""

    title: str
    steps: Sequence[tuple[str, str, str]]


PHASES = (
    Phase(
        "accept",
        (
            ("reader", "http", "POST …/messages"),
            ("http", "postgres", "the conversation, under the caller's scope"),
            ("http", "dynamo", "take the lease"),
            ("http", "postgres", "question and queued run, one transaction"),
            ("http", "queue", "{runId, conversationId}: no text, no token"),
            ("http", "~reader", "202 runId"),
        ),
    ),
    Phase(
        "listen",
        (
            ("reader", "sockets", "connect with a ticket, then subscribe"),
            ("sockets", "dynamo", "keep the subscription, then read the log"),
            ("sockets", "~reader", "what was missed, in order"),
        ),
    ),
    Phase(
        "answer",
        (
            ("queue", "worker", "deliver"),
            ("worker", "dynamo", "claim it: fence + 1; renew each 8 s"),
            ("worker", "postgres", "the history; the run is running"),
            ("worker", "model", "prompt, tools"),
            ("model", "~worker", "tool call"),
            ("worker", "postgres", "search: filtered by reader, then ranked"),
            ("worker", "model", "passages"),
            ("model", "~worker", "text, citations"),
            ("worker", "dynamo", "log each envelope if its seq is free"),
            ("worker", "~reader", "then send it: token, tool_start, citations, …"),
        ),
    ),
    Phase(
        "end",
        (
            ("worker", "postgres", "answer, citations, tool actions and end, one transaction"),
            ("worker", "dynamo", "log done, release the lease"),
            ("worker", "~reader", "done"),
        ),
    ),
)

FAILURES = (
    ("The worker is killed", "Its pulse stops. After 30 s without a renewal its lease has lapsed."),
    ("The message comes again", "40 s after the last beat. No provider asked yet: resumed. Otherwise ended."),
    ("The reaper, each minute", "Ends what lapsed: the partial answer is kept, then error, then done."),
    ("A late reader", "Subscribes after N and gets N+1 onward from the log, or a gap, and reloads."),
    ("Stop is pressed", "A flag, seen within half a second: what was written is kept, then done."),
)

STYLE = """
  svg { font: 13px system-ui, -apple-system, 'Segoe UI', sans-serif; background: #fbfaf8; }
  text { fill: #23211e; } .quiet { fill: #6b665e; font-size: 11.5px; }
  .name { font-weight: 650; font-size: 14px; }
  .head { fill: #fff; stroke: #cfc9be; } .life { stroke: #d8d2c7; stroke-dasharray: 2 5; }
  .band { fill: #f1eee8; } .phase { fill: #8a5a12; font-weight: 650; letter-spacing: .04em; }
  .call { stroke: #1f5f8b; } .answer { stroke: #2d7a4f; stroke-dasharray: 6 4; }
  .tip-call { fill: #1f5f8b; } .tip-answer { fill: #2d7a4f; }
  .paper { fill: #fbfaf8; } .on-band { fill: #f1eee8; } .card { fill: #fff6f0; stroke: #e3b99b; }
  .fails { fill: #a3411a; }
  @media (prefers-color-scheme: dark) {
    svg { background: #191815; } text { fill: #ece8e0; } .quiet { fill: #a49d90; }
    .head { fill: #24221e; stroke: #4a463e; } .life { stroke: #45413a; } .band, .on-band { fill: #211f1b; }
    .phase { fill: #e0ad5e; } .call { stroke: #79b8e4; } .answer { stroke: #7ccb9c; }
    .tip-call { fill: #79b8e4; } .tip-answer { fill: #7ccb9c; } .paper { fill: #191815; }
    .card { fill: #2a1f19; stroke: #6b432e; } .fails { fill: #f0a07a; }
  }
"""


def write_diagram() -> str:
    """Return the drawing as SVG; it follows the reader's light or dark setting."""
    body, y = [], TOP
    for place, phase in enumerate(PHASES):
        height = STEP * len(phase.steps) + 26
        if place % 2 == 0:
            body.append(f'<rect class="band" x="0" y="{y}" width="{WIDTH}" height="{height}"/>')
        body.append(f'<text class="phase" x="14" y="{y + 18}">{phase.title}</text>')
        ground = "on-band" if place % 2 == 0 else "paper"
        steps = [_draw_step(y + 40 + STEP * n, ground, *step) for n, step in enumerate(phase.steps)]
        body.extend([*_draw_lifelines(y, height), *steps])
        y += height
    cards, bottom = _draw_failures(y + 30)
    names = [_draw_head(key, name, what) for key, name, what in LINES]
    inside = "\n".join([*names, *body, *cards])
    size = f'viewBox="0 0 {WIDTH} {bottom}" width="{WIDTH}" height="{bottom}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title">'
    title = '<title id="title">The flow of one turn</title>'
    return "\n".join([opening, title, f"<style>{STYLE}</style>", _tips(), inside, "</svg>", ""])


def _tips() -> str:
    marker = (
        '<marker id="{0}" viewBox="0 0 8 8" refX="7" refY="4" orient="auto"'
        ' markerWidth="6.5" markerHeight="6.5">'
        '<path class="tip-{0}" d="M0 0 8 4 0 8z"/></marker>'
    )
    return f"<defs>{marker.format('call')}{marker.format('answer')}</defs>"


def _draw_head(key: str, name: str, what: str) -> str:
    x = X[key]
    return (
        f'<rect class="head" x="{x - 70}" y="22" width="140" height="54" rx="9"/>'
        f'<text class="name" x="{x}" y="45" text-anchor="middle">{name}</text>'
        f'<text class="quiet" x="{x}" y="63" text-anchor="middle">{what}</text>'
    )


def _draw_lifelines(y: int, height: int) -> list[str]:
    return [f'<path class="life" d="M{x} {y}v{height}"/>' for x in X.values()]


def _draw_step(y: int, ground: str, start: str, end: str, words: str) -> str:
    kind = "answer" if end[0] == "~" else "call"
    x1, x2 = X[start], X[end.lstrip("~")]
    inset = 4 if x2 > x1 else -4
    width = len(words) * 6.5 + 10
    middle = _place_label(x1, x2, width)
    return (
        f'<path class="{kind}" fill="none" stroke-width="1.6" marker-end="url(#{kind})"'
        f' d="M{x1 + inset} {y}H{x2 - inset}"/>'
        f'<rect class="{ground}" x="{middle - width / 2:.0f}" y="{y - 21}" width="{width:.0f}" height="17"/>'
        f'<text x="{middle:.0f}" y="{y - 8}" text-anchor="middle">{escape(words)}</text>'
    )


def _place_label(x1: int, x2: int, width: float) -> float:
    """Return the middle of a label: the arrow's own, moved to stay in the picture."""
    return min(max((x1 + x2) / 2, width / 2 + 8), WIDTH - width / 2 - 8)


def _draw_failures(y: int) -> tuple[list[str], int]:
    cards = [f'<text class="phase fails" x="14" y="{y}">when something goes wrong</text>']
    wide = (WIDTH - 28 - 14 * (len(FAILURES) - 1)) / len(FAILURES)
    for place, (title, words) in enumerate(FAILURES):
        x = 14 + place * (wide + 14)
        lines = "".join(
            f'<text x="{x + 14:.0f}" y="{y + 64 + 18 * n}">{escape(line)}</text>'
            for n, line in enumerate(wrap(words, int(wide / 7.4)))
        )
        cards.append(
            f'<rect class="card" x="{x:.0f}" y="{y + 16}" width="{wide:.0f}" height="118" rx="10"/>'
            f'<text class="name fails" x="{x + 14:.0f}" y="{y + 41}">{escape(title)}</text>{lines}'
        )
    return cards, y + 156
