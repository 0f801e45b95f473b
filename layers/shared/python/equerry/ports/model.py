"""Language models."""

from typing import Protocol

from equerry.domain.conversations import ModelChoice
from equerry.engine.model import ModelRequest, ModelStream
from equerry.kernel.errors import EquerryError, Unavailable


class ModelUnavailable(Unavailable):
    """The provider is overloaded, throttling, unreachable or broke off; another attempt may succeed."""

    code = "model_unavailable"


class ModelRejected(EquerryError):
    """The provider says the request or the account is wrong; repeating it changes nothing."""

    code = "model_rejected"


class ModelPort(Protocol):
    """One configured model.

    Stop reasons, usage, role rules, schema rules and errors are normalised here and nowhere else.
    """

    @property
    def choice(self) -> ModelChoice: ...

    def stream(self, request: ModelRequest) -> ModelStream:
        """Stream one round.

        Yields exactly one `RoundEnd`, last. Tool calls are yielded whole. A stream that ends without its
        provider's own terminal event is an error, never a short answer. Closing the stream closes the
        provider's. Failures before the first event are retried within `request.deadline_s`;
        after it they are raised.

        Raises:
            ModelUnavailable: see there.
            ModelRejected: see there.
        """
        ...
