"""Installed profiles."""

from typing import Protocol

from equerry.domain.profiles import Profile


class ProfilePort(Protocol):
    """Profiles by name."""

    def fetch_profile(self, name: str) -> Profile:
        """Return the profile's current version.

        Raises:
            UnknownProfile: none of that name.
            InvalidProfile: it is installed and does not fit.
        """
        ...
