"""One answer to one input, for the company's other services; no conversation, no tools, nothing kept."""

from dataclasses import dataclass

from equerry.engine.model import ModelChoice, ModelRequest, Prompt, RoundEnd, RoundStop, TextDelta
from equerry.engine.thread import Thread
from equerry.kernel.errors import Unavailable
from equerry.kernel.kinds import message, result
from equerry.kernel.usage import Usage
from equerry.ports.model import ModelPort


class ModelNotConfigured(Unavailable):
    """This deployment has no model that writes text of its own."""

    code = "model_not_configured"
    retryable = False


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionRequest:
    """What to write; `input_text` is never blank, `max_tokens` at least 1."""

    input_text: str
    instructions: str = ""
    max_tokens: int = 1024


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What the model wrote; with any stop but `end_turn` the text may be cut off or missing."""

    text: str
    stop: RoundStop
    usage: Usage
    model: ModelChoice


@dataclass(frozen=True, slots=True)
class CompletionService:
    """Asks the configured model; None where the configured one only answers out of documents."""

    model: ModelPort | None

    def complete(self, request: CompletionRequest, *, deadline_s: float) -> Completion:
        """Ask once and wait for the whole answer.

        Raises:
            ModelNotConfigured: see there.
            ModelUnavailable: the provider is not answering within `deadline_s`.
            ModelRejected: the provider says the request or the account is wrong.
        """
        if self.model is None:
            raise ModelNotConfigured(
                "no model that writes text is configured: set MODEL_PROVIDER, MODEL_ID and MODEL_SECRET_ARN"
                " through the stage's model configuration"
            )
        asked = ModelRequest(
            prompt=Prompt(stable=request.instructions),
            thread=Thread().say(request.input_text),
            max_output_tokens=request.max_tokens,
            deadline_s=deadline_s,
        )
        events = list(self.model.stream(asked))
        (end,) = (event for event in events if isinstance(event, RoundEnd))
        text = "".join(event.text for event in events if isinstance(event, TextDelta))
        return Completion(text=text, stop=end.stop, usage=end.usage, model=self.model.choice)
