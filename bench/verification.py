"""What it costs to know who asks: a token verified where the request is handled.

    python -m bench.verification

Prints the time of one verification with the issuer's keys at hand, and of the first one, which fetches them.
An authoriser would spend the same, and put one more invocation of a function before each request.
"""

import statistics
import time

from equerry.adapters.jwt.identity import JwksIdentityAdapter
from equerry.runtime.clock import SystemClock

from tests.contract.issuer import serve_issuer

ROUNDS = 2_000


def main() -> None:
    """Measure, print."""
    with serve_issuer() as issuer:
        clock = SystemClock()
        verifier = JwksIdentityAdapter(
            jwks_url=issuer.url, issuer=issuer.name, audience="equerry", clock=clock
        )
        now = int(time.time())
        claims = {
            "iss": issuer.name,
            "aud": ["equerry"],
            "sub": "ada",
            "typ": "user",
            "org": "acme",
            "role": "member",
            "iat": now,
            "exp": now + 900,
        }
        token = issuer.sign(claims)
        first_ms = measure_ms(verifier, token)
        taken = sorted(measure_ms(verifier, token) for _ in range(ROUNDS))
    print(f"first, with a fetch of the keys   {first_ms:8.2f} ms")
    print(f"then, median of {ROUNDS:,}          {statistics.median(taken):8.2f} ms")
    print(f"then, 99th percentile             {taken[int(ROUNDS * 0.99)]:8.2f} ms")


def measure_ms(verifier: JwksIdentityAdapter, token: str) -> float:
    """Return how long one verification takes."""
    began = time.perf_counter()
    verifier.verify(token)
    return 1000 * (time.perf_counter() - began)


if __name__ == "__main__":
    main()
