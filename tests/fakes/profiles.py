"""Profiles in memory."""

from equerry.domain.profiles import Profile, UnknownProfile


class MemoryProfileAdapter:
    """ProfilePort over the profiles it was given."""

    def __init__(self, *profiles: Profile) -> None:
        self._profiles = {profile.name: profile for profile in profiles}

    def fetch_profile(self, name: str) -> Profile:
        if name not in self._profiles:
            known = ", ".join(sorted(self._profiles)) or "none"
            raise UnknownProfile(f"there is no profile {name!r}; installed are: {known}")
        return self._profiles[name]
