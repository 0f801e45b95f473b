"""What this adapter speaks of its provider's wire."""

from equerry.adapters.rounds.abilities import Abilities

ABILITIES = Abilities(
    images=True,
    documents=False,
    caching="key",
    reasoning=True,
    forced_tool="strict",
    streamed=True,
)
