"""Who answers a structured completion: what its profile says, else the ordinary choice."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from equerry.adapters.aws.parameters import Parameter, ParameterReader
from equerry.domain.completion import CompletionRefused, CompletionRequest
from equerry.domain.completion_profiles import CompletionProfile, IsUsable
from equerry.domain.routing import EXTRACTIVE, PARAMETER, ModelTable, Purpose, Route, Stated, read_stated
from equerry.domain.routing import ONLY_DIRECT as ONLY_ENVIRONMENT
from equerry.engine.model import ModelChoice
from equerry.runtime.gateway import KEPT_S
from equerry.services.completion import ChosenModel
from equerry.services.gateway import GatewayService

PURPOSE: Purpose = "extraction"
Warn = Callable[[str], None]


@dataclass(slots=True, kw_only=True)
class ProfileSource:
    """What is said of profiles: by variables of their names, else by the parameters those lead to."""

    environ: Mapping[str, str]
    parameters: ParameterReader

    def read(self, profile: CompletionProfile) -> Stated:
        """Return what is chosen; `UNSET` counts as nothing."""
        stem = profile.variable.upper()
        direct = read_stated(self.environ.get(f"{stem}_PROVIDER"), self.environ.get(f"{stem}_MODEL_ID"))
        named = read_stated(
            self._find_text(f"{stem}_PROVIDER_SSM_PARAMETER"),
            self._find_text(f"{stem}_MODEL_ID_SSM_PARAMETER"),
        )
        provider = named.provider if named.provider not in ONLY_ENVIRONMENT[PARAMETER] else None
        return Stated(provider=direct.provider or provider, model=direct.model or named.model)

    def list_parameters(self, profiles: Iterable[CompletionProfile]) -> tuple[Parameter, ...]:
        """Return what is to be read before the first request."""
        variables = (
            f"{profile.variable.upper()}_{part}_SSM_PARAMETER"
            for profile in profiles
            for part in ("PROVIDER", "MODEL_ID")
        )
        return tuple(
            Parameter(name=name, kept_s=KEPT_S) for at in variables if (name := self.environ.get(at))
        )

    def _find_text(self, variable: str) -> str | None:
        name = self.environ.get(variable)
        return self.parameters.find_text(Parameter(name=name, kept_s=KEPT_S)) if name else None


@dataclass(slots=True, kw_only=True)
class CompletionModels:
    """Chooses a model for each request.

    Attributes:
        has_key: whether a provider could be asked at all.
        warn: logs an event by its name.
    """

    gateway: GatewayService
    table: ModelTable
    profiles: Mapping[str, CompletionProfile]
    source: ProfileSource
    has_key: Callable[[str], bool]
    warn: Warn

    def choose(self, request: CompletionRequest) -> ChosenModel:
        """See ChooseModel."""
        ordinary = self.gateway.find_route(PURPOSE)
        arms, reasoning = ordinary.arms, None
        if request.model_profile is not None:
            profile = self._find_profile(request.model_profile)
            arms, reasoning = self._list_arms(profile, ordinary), profile.reasoning
        if arms[0] == EXTRACTIVE:
            raise CompletionRefused(
                "completion_failed",
                "no model that writes text is configured: an operator sets [model] in the stage's file, "
                "or starts the local stack with EQUERRY_MODEL_PROVIDER; until then nobody gets an answer",
            )
        others = (arm for arm in arms[1:] if arm != EXTRACTIVE and not request.find_unsupported(arm.provider))
        # Nothing but a profile says how hard to think.
        route = Route(arms=(arms[0], *others))
        routed = replace(self.gateway, find_route=lambda _: route)
        return ChosenModel(choice=arms[0], model=routed.open(PURPOSE), reasoning=reasoning)

    def _find_profile(self, name: str) -> CompletionProfile:
        if name not in self.profiles:
            raise CompletionRefused("invalid_request", "modelProfile is none of those configured here")
        return self.profiles[name]

    def _list_arms(self, profile: CompletionProfile, ordinary: Route) -> tuple[ModelChoice, ...]:
        """Return who answers, and who does where that one's key turns out to be of no use."""
        stated, shared = self.source.read(profile), ordinary.arms[0]
        resolved = profile.resolve(stated, shared, is_usable=self._is_usable)
        for event in resolved.events:
            self.warn(event)
        another: IsUsable = lambda choice: choice != resolved.choice and self._is_usable(choice)  # noqa: E731
        second = profile.resolve(stated, shared, is_usable=another).choice
        return tuple(dict.fromkeys((resolved.choice, second, *ordinary.arms)))

    def _is_usable(self, choice: ModelChoice) -> bool:
        return self.table.is_allowed(choice) and self.has_key(choice.provider)
