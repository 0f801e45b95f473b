"""Each stage is synthesised once for all tests."""

import pytest

from tests.infra.stages import SynthesisedStage, synthesise


@pytest.fixture(scope="session")
def production() -> SynthesisedStage:
    """The production stage that ships as an example."""
    return synthesise("production")


@pytest.fixture(scope="session")
def local() -> SynthesisedStage:
    """The stage that runs on one machine."""
    return synthesise("local")


@pytest.fixture(params=["production", "local"])
def stage(request: pytest.FixtureRequest) -> SynthesisedStage:
    """Either stage, for promises that hold in both."""
    found: SynthesisedStage = request.getfixturevalue(request.param)
    return found
