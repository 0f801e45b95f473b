"""What can go wrong with one call, and the plans that say when it does."""

import random
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Call:
    """One call on its way: "dynamodb" and "PutItem", "postgres" and "COMMIT", and what it carries."""

    service: str
    operation: str
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    """The service refuses, in its own words; nothing was done."""

    status: int
    code: str
    message: str = "injected by a test"


@dataclass(frozen=True, slots=True)
class CancelTransaction:
    """DynamoDB refuses a transaction, each of its writes for `reason`; nothing was done."""

    reason: str


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection dies before the call arrives; nothing was done."""


@dataclass(frozen=True, slots=True)
class LoseAnswer:
    """The call is carried out, and the connection dies before its answer comes back.

    Attributes:
        then: between the two, of a call of AWS.
    """

    then: Callable[[], object] = lambda: None


@dataclass(frozen=True, slots=True)
class Vanish:
    """The caller is gone, as a lost machine is, and the database is not told: its session stays open."""


@dataclass(frozen=True, slots=True)
class Delay:
    """The call takes its time, then is carried out."""

    seconds: float


Fault = Answer | CancelTransaction | Reset | Vanish | LoseAnswer | Delay
Plan = Callable[[Call], Fault | None]
"""Chooses what goes wrong with a call; asked from several threads."""

DYNAMODB: tuple[Fault, ...] = (
    Answer(400, "ProvisionedThroughputExceededException"),
    Answer(400, "ThrottlingException"),
    Answer(400, "RequestLimitExceeded"),
    Answer(500, "InternalServerError"),
    Reset(),
    LoseAnswer(),
)
SQS: tuple[Fault, ...] = (
    Answer(400, "ThrottlingException"),
    Answer(403, "RequestThrottled"),
    Answer(503, "ServiceUnavailable"),
    Answer(500, "InternalFailure"),
    Reset(),
    LoseAnswer(),
)
SOCKETS: tuple[Fault, ...] = (
    Answer(410, "GoneException"),
    Answer(429, "LimitExceededException"),
    Answer(500, "InternalServerError"),
    Reset(),
    LoseAnswer(),
)
PARAMETERS: tuple[Fault, ...] = (
    Answer(400, "ThrottlingException"),
    Answer(500, "InternalServerError"),
    Reset(),
)
SECRETS: tuple[Fault, ...] = (
    Answer(500, "InternalServiceError"),
    Answer(400, "ThrottlingException"),
    Reset(),
)
POSTGRES: tuple[Fault, ...] = (Reset(), LoseAnswer(), Delay(0.05))
FAULTS: Mapping[str, Sequence[Fault]] = {
    "dynamodb": DYNAMODB,
    "sqs": SQS,
    "execute-api": SOCKETS,
    "ssm": PARAMETERS,
    "secretsmanager": SECRETS,
    "postgres": POSTGRES,
}
"""What each service is known to do to its callers."""


def calm(_call: Call) -> Fault | None:
    """Let everything through."""
    return None


@dataclass
class Storm:
    """A seeded plan: `rate` of all calls go wrong, `most` of them in all.

    A seed always draws the same faults. Which calls they meet depends on the threads: it is no replay.
    """

    seed: int
    rate: float
    most: int = 25
    faults: Mapping[str, Sequence[Fault]] = field(default_factory=lambda: FAULTS)
    met: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311  # reproducible on purpose
        self._lock = threading.Lock()

    def __call__(self, call: Call) -> Fault | None:
        with self._lock:
            if self._random.random() >= self.rate or self.met.total() >= self.most:
                return None
            faults = list(self.faults.get(call.service, ()))
            if call.operation == "TransactWriteItems":
                faults.append(CancelTransaction("TransactionConflict"))
            if not faults:
                return None
            fault = self._random.choice(faults)
            self.met[f"{call.service}.{call.operation}: {fault}"] += 1
            return fault


@dataclass
class Once:
    """Does `act` to the first call that `wanted` picks, and lets the others through."""

    wanted: Callable[[Call], bool]
    act: Callable[[Call], Fault | None]
    struck: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    def __call__(self, call: Call) -> Fault | None:
        with self._lock:
            if self.struck.is_set() or not self.wanted(call):
                return None
            self.struck.set()
        return self.act(call)
