"""GET /config: the platform's switch for everybody, two more levels for whom a token makes known."""

import pytest

from tests.unit.runtime.test_http_app import Api
from tests.unit.services.world import ADA, World


@pytest.fixture
def api() -> Api:
    return Api(World())


@pytest.mark.req("A-KILL-01")
@pytest.mark.parametrize("token", [None, "nobody-issued-this", "machine"])
def test_without_a_person_s_token_it_tells_of_the_platform_alone(api: Api, token: str | None) -> None:
    api.world.switch.set(ADA.organisation_id, "tenant")
    api.world.switch.set("docs", "surface")

    status, said, _ = api("GET", "/config", token=token)

    assert status == 200
    assert (said["enabled"], said["organisationEnabled"], said["profileEnabled"]) == (True, None, None)


@pytest.mark.req("F-INC-01")
def test_with_a_token_it_tells_of_the_organisation_and_the_profile(api: Api) -> None:
    assert levels(api) == (True, True)

    api.world.switch.set(f"someone-else,{ADA.organisation_id}", "tenant")
    assert levels(api) == (False, True)
    assert levels(api, token="eve") == (True, True)

    api.world.switch.set("docs", "surface")
    assert levels(api) == (False, False)
    assert levels(api, profile="another") == (False, True)


def levels(api: Api, *, token: str = "ada", profile: str | None = None) -> tuple[bool, bool]:
    """Return what a person is told of their organisation and of a profile."""
    query = {"profile": profile} if profile else None
    _, said, _ = api("GET", "/config", token=token, query=query)
    return said["organisationEnabled"], said["profileEnabled"]
