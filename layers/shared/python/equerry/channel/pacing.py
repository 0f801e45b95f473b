"""How often text goes out; apart from the publisher, because it is also a limit that a deployment states."""

TEXT_INTERVAL_S = 0.08
"""At most one text frame in this time, and none later: under the tenth of a second that is felt as a wait."""
