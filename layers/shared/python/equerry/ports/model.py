"""Language models."""

from typing import Literal, Protocol

from equerry.engine.model import ModelChoice, ModelRequest, ModelStream
from equerry.kernel.errors import EquerryError, Unavailable

FailureCause = Literal["throttled", "overloaded", "timeout", "connection", "broken"]
"""Why a provider did not answer: it asks for fewer requests, says that it is failing, says nothing in
time, cannot be reached, or breaks its own protocol."""


class ModelUnavailable(Unavailable):
    """The provider is overloaded, throttling, unreachable or broke off; another attempt may succeed.

    Attributes:
        attempts: how many were made.
    """

    code = "model_unavailable"

    def __init__(
        self, detail: str, *, retry_after_s: int = 5, cause: FailureCause = "broken", attempts: int = 1
    ) -> None:
        super().__init__(detail, retry_after_s=retry_after_s)
        self.cause = cause
        self.attempts = attempts


class ModelRejected(EquerryError):
    """The provider says that the request is wrong; repeating it, here or elsewhere, changes nothing."""

    code = "model_rejected"


class ModelUnusable(ModelRejected):
    """The key, its account or the model's name is refused; another model may answer the same request."""

    code = "model_unusable"


class ModelGone(ModelUnusable):
    """The provider has no such model, or has it no more; another model may answer the same request."""

    code = "model_gone"


class InputUnsupported(ModelRejected):
    """The provider reads no input of this kind; nothing was sent to it."""

    def __init__(self, detail: str, *, kind: Literal["image_input", "documents"]) -> None:
        super().__init__(detail)
        self.code = f"{kind}_unsupported"


class ModelCancelled(EquerryError):
    """The round was cancelled from outside."""

    code = "model_cancelled"


class ModelPort(Protocol):
    """One configured model.

    Stop reasons, usage, role rules, schema rules and errors are normalised here and nowhere else.
    """

    @property
    def choice(self) -> ModelChoice: ...

    def stream(self, request: ModelRequest) -> ModelStream:
        """Stream one round.

        Yields exactly one `RoundEnd`, last. Tool calls are yielded whole, and only those of a round that
        stopped for them. A stream that ends without its provider's own terminal event is an error, never
        a short answer. Closing the stream closes the provider's. Failures before the first event (the
        provider's signs of life do not count) are retried within `request.deadline_s` and
        `request.attempts`; after it they are raised. It ends by the deadline and soon after a
        cancellation, whatever the provider does. `Restarted` comes only where `request.may_restart`.

        Raises:
            ModelUnavailable: see there.
            ModelRejected, ModelUnusable, ModelGone, InputUnsupported: see there.
            ModelCancelled: see there.
        """
        ...
