"""The model of a turn, behind an operator's switches."""

from dataclasses import dataclass

from equerry.domain.switches import ModelSwitchedOff
from equerry.engine.model import ModelChoice, ModelRequest, ModelStream
from equerry.ports.model import ModelPort
from equerry.ports.switches import SwitchPort


def guard_model(model: ModelPort, switch: SwitchPort) -> ModelPort:
    """Return the model with a switch before it, which is asked before each round.

    A round then also raises ModelSwitchedOff: an operator has turned the model, or its provider, off. Where
    several models stand in for each other, guard each: another takes over as it would from one that fails.
    """
    return _ModelBehindSwitch(model=model, switch=switch)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ModelBehindSwitch:
    """A model that asks the switch before each round."""

    model: ModelPort
    switch: SwitchPort

    @property
    def choice(self) -> ModelChoice:
        """The model's own."""
        return self.model.choice

    def stream(self, request: ModelRequest) -> ModelStream:
        """Stream one round.

        Raises:
            ModelSwitchedOff: an operator has turned the model, or its provider, off.
        """
        if not self.switch.read().is_model_on(self.choice.provider, self.choice.model):
            raise ModelSwitchedOff
        return self.model.stream(request)
