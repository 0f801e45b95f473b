"""What a provider may say that does not keep to the output it was allowed."""

from collections.abc import Iterable

from equerry.adapters.rounds.reading import end_round
from equerry.engine.model import ModelEvent, ModelStream, TextDelta, ThinkingDelta

MOST_CHARACTERS_A_TOKEN = 24
"""No prose and no code comes near it on average."""
ALWAYS_ALLOWED = 8192
"""Characters, whatever the allowance: providers have least allowances of their own."""


def bound_words(events: Iterable[ModelEvent], max_output_tokens: int) -> ModelStream:
    """Yield a round's events; one that goes on far beyond its allowance ends as if it had been cut off.

    Servers that speak a provider's protocol need not know its limit. What such a round took is not known.
    Arguments are bounded where they are used.
    """
    most = max(ALWAYS_ALLOWED, max_output_tokens * MOST_CHARACTERS_A_TOKEN)
    said = 0
    for event in events:
        yield event
        if isinstance(event, TextDelta | ThinkingDelta):
            said += len(event.text)
            if said > most:
                yield end_round("max_tokens", None)
                return
