"""The published tokens get the published verdicts, here as with whoever else verifies them."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from equerry.adapters.jwt.claims import LEEWAY_S, UserRequired
from equerry.adapters.jwt.identity import JwksIdentityAdapter
from equerry.kernel.errors import EquerryError

from tests.contract.issuer import serve_issuer
from tests.fakes.clock import FixedClock
from tests.unit.architecture.documents import DOCS

PUBLISHED = json.loads((DOCS / "token-vectors.json").read_text(encoding="utf-8"))
VECTORS = {vector["name"]: vector for vector in PUBLISHED["vectors"]}


@pytest.fixture(scope="module")
def verifier() -> Iterator[JwksIdentityAdapter]:
    with serve_issuer() as issuer:
        issuer.answer = json.dumps(PUBLISHED["jwks"]).encode()
        yield JwksIdentityAdapter(
            jwks_url=issuer.url,
            issuer=PUBLISHED["issuer"],
            audience=PUBLISHED["audience"],
            clock=FixedClock(datetime.fromtimestamp(PUBLISHED["now"], UTC)),
        )


def judge(verifier: JwksIdentityAdapter, token: str) -> dict[str, Any]:
    """Return who a token speaks for, or why it is refused, in the words of the file."""
    try:
        return {"user": read_user(verifier, token)}
    except UserRequired:
        caller = verifier.verify_service(token)
        return {"service": {"sub": caller.service_id, "scopes": list(caller.scopes)}}
    except EquerryError as refused:
        return {"refused": refused.code}


def read_user(verifier: JwksIdentityAdapter, token: str) -> dict[str, Any]:
    scope = verifier.verify(token).scope
    return {
        "sub": scope.user_id,
        "org": scope.organisation_id,
        "role": scope.role,
        "projects": list(scope.project_ids),
    }


@pytest.mark.req("A-AUTH-16", "A-AUTH-01", "A-AUTH-02")
@pytest.mark.parametrize("name", VECTORS)
def test_a_published_token_gets_its_published_verdict(verifier: JwksIdentityAdapter, name: str) -> None:
    vector = VECTORS[name]

    assert judge(verifier, vector["token"]) == vector["verdict"]


@pytest.mark.req("A-AUTH-16")
def test_the_vectors_are_of_every_verdict_and_say_by_which_leeway() -> None:
    verdicts = {verdict for vector in PUBLISHED["vectors"] for verdict in vector["verdict"]}

    assert verdicts == {"user", "service", "refused"}
    assert PUBLISHED["leewaySeconds"] == LEEWAY_S
    assert len(VECTORS) == len(PUBLISHED["vectors"]) >= 30
