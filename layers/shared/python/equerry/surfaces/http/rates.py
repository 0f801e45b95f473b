"""Rates as headers, in the form of draft-ietf-httpapi-ratelimit-headers."""

from collections.abc import Mapping, Sequence

from equerry.domain.rates import WINDOW, RateStanding


def encode_standings(standings: Sequence[RateStanding]) -> Mapping[str, str]:
    """Return what each rate allows and what is left of it; nothing where nothing was counted."""
    if not standings:
        return {}
    window_s = round(WINDOW.total_seconds())
    return {
        "ratelimit-policy": ", ".join(f'"{s.subject}";q={s.quota};w={window_s}' for s in standings),
        "ratelimit": ", ".join(f'"{s.subject}";r={s.remaining};t={s.reset_s}' for s in standings),
    }
