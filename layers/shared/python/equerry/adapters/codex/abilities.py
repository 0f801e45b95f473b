"""What this adapter speaks of its provider's wire."""

from equerry.adapters.rounds.abilities import Abilities

ABILITIES = Abilities(
    images=False,
    documents=False,
    caching="automatic",
    reasoning=False,
    forced_tool="asked",
    streamed=False,
)
