"""What the service says of itself, without a token."""

from collections.abc import Callable
from dataclasses import dataclass

from equerry.channel.events import CONTRACT_VERSION
from equerry.domain.switches import Switches
from equerry.surfaces.http.exchange import HttpAnswer, HttpRequest
from equerry.surfaces.http.models import ConfigAnswer, HealthAnswer, VersionAnswer
from equerry.surfaces.http.routing import Parameter, Route


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRoutes:
    """Health, version, configuration and the contract itself."""

    version: str
    commit: str
    lambda_version: str
    default_profile: str
    is_enabled: Callable[[], bool]
    read_switches: Callable[[], Switches]
    build_contract: Callable[[], str]

    def build(self) -> tuple[Route, ...]:
        """Return the routes."""
        return (
            Route(
                method="GET",
                path="/health",
                operation="getHealth",
                summary="The entry points answer",
                handle=self.fetch_health,
                answer=HealthAnswer,
                authenticated=False,
            ),
            Route(
                method="GET",
                path="/config",
                operation="getConfig",
                summary="What a page needs before it has a token",
                handle=self.fetch_config,
                answer=ConfigAnswer,
                query=(
                    Parameter(
                        name="profile",
                        description="With a token: the profile to tell of; the default one unless given.",
                    ),
                ),
                authenticated=False,
                recognises=True,
            ),
            Route(
                method="GET",
                path="/openapi.json",
                operation="getContract",
                summary="This document",
                handle=self.fetch_contract,
                authenticated=False,
            ),
            Route(
                method="GET",
                path="/version",
                operation="getVersion",
                summary="What is running",
                handle=self.fetch_version,
                answer=VersionAnswer,
                authenticated=False,
                documented=False,
            ),
        )

    def fetch_health(self, _request: HttpRequest) -> HttpAnswer:
        """GET /health."""
        return HttpAnswer(status=200, body=HealthAnswer(status="ok"), headers=_FRESH)

    def fetch_config(self, request: HttpRequest) -> HttpAnswer:
        """GET /config: the platform's switch; for a known caller, the organisation's and a profile's too."""
        organisation_enabled = profile_enabled = None
        if request.caller is not None:
            switches = self.read_switches()
            organisation_enabled = switches.is_tenant_on(request.caller.scope.organisation_id)
            profile_enabled = switches.is_surface_on(request.query.get("profile") or self.default_profile)
        answer = ConfigAnswer(
            contract_version=CONTRACT_VERSION,
            default_profile=self.default_profile,
            enabled=self.is_enabled(),
            organisation_enabled=organisation_enabled,
            profile_enabled=profile_enabled,
        )
        return HttpAnswer(status=200, body=answer, headers=_FRESH)

    def fetch_contract(self, _request: HttpRequest) -> HttpAnswer:
        """GET /openapi.json."""
        return HttpAnswer(status=200, body=self.build_contract())

    def fetch_version(self, _request: HttpRequest) -> HttpAnswer:
        """GET /version."""
        answer = VersionAnswer(version=self.version, commit=self.commit, lambda_version=self.lambda_version)
        return HttpAnswer(status=200, body=answer, headers=_FRESH)


_FRESH = {"cache-control": "no-store"}
