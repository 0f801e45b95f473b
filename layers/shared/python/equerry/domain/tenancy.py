"""What an organisation may use of a deployment, and who of it may ask where."""

from dataclasses import dataclass

from equerry.domain.principal import Role
from equerry.domain.profiles import Profile
from equerry.kernel.errors import Refused
from equerry.kernel.kinds import record


class AssistantNotEnabled(Refused):
    """The organisation does not have the assistant."""

    code = "assistant_not_enabled"

    def __init__(self) -> None:
        super().__init__("the assistant is not enabled for your organisation")


class SurfaceNotAllowed(Refused):
    """The assistant does not answer this person there."""

    code = "surface_not_allowed"

    def __init__(self, surface: str) -> None:
        super().__init__(f"this assistant is not for you on the surface {surface[:64]!r}")


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class Tenancy:
    """An organisation's standing; None stands for every surface, every profile."""

    enabled: bool = True
    surfaces: tuple[str, ...] | None = None
    profiles: tuple[str, ...] | None = None

    def require_enabled(self) -> None:
        """Raise AssistantNotEnabled unless the organisation has the assistant."""
        if not self.enabled:
            raise AssistantNotEnabled

    def require_surface(self, surface: str) -> None:
        """Raise SurfaceNotAllowed unless the organisation has the surface."""
        if self.surfaces is not None and surface not in self.surfaces:
            raise SurfaceNotAllowed(surface)

    def require_profile(self, profile: Profile, surface: str, role: Role) -> None:
        """Raise SurfaceNotAllowed unless the profile is theirs, on this surface, for this role."""
        is_theirs = self.profiles is None or profile.name in self.profiles
        if not (is_theirs and surface in profile.surfaces and role in profile.roles):
            raise SurfaceNotAllowed(surface)
