"""Asks again where a gateway says it cannot answer just now."""

from collections.abc import Callable

import httpx

BUSY = (429, 502, 503, 504)
PAUSES_S = (0.5, 1.0, 2.0, 4.0)
LONGEST_PAUSE_S = 30.0


def ask_patiently(send: Callable[[], httpx.Response], sleep: Callable[[float], None]) -> httpx.Response:
    """Send up to five times, as long as the answer is 429, 502, 503 or 504; return the last answer.

    A `Retry-After` in seconds is honoured, up to 30 s. Only for requests that may be sent twice.
    """
    for pause in PAUSES_S:
        answer = send()
        if answer.status_code not in BUSY:
            return answer
        sleep(_find_pause(answer) or pause)
    return send()


def _find_pause(answer: httpx.Response) -> float | None:
    text = answer.headers.get("retry-after", "")
    return min(float(text), LONGEST_PAUSE_S) if text.isascii() and text.isdigit() else None
