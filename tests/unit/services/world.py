"""The whole of turn serving over fakes, in one process, with every effect countable."""

import itertools
import json
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from equerry.adapters.fixture.model import FixtureModelAdapter
from equerry.adapters.fixture.script import Script, replay, say
from equerry.channel.envelope import Envelope
from equerry.channel.marker import Marker
from equerry.channel.publisher import Publisher
from equerry.channel.timekeeping import KeepTime
from equerry.domain.evidence import Evidence
from equerry.domain.intents import IntentTier, WordsTier
from equerry.domain.limits import TurnLimits
from equerry.domain.principal import Principal, Scope
from equerry.domain.profiles import Profile
from equerry.domain.tenancy import Tenancy
from equerry.engine.model import ModelChoice
from equerry.engine.tool import Tool
from equerry.kernel.identifiers import ConnectionId, ConversationId, OrganisationId, RunId, UserId
from equerry.services.admission import AdmissionService
from equerry.services.answering import AnswerService
from equerry.services.conversations import ConversationService
from equerry.services.delivery import DeliveryService
from equerry.services.ending import EndingService
from equerry.services.fast_answers import FastAnswerService
from equerry.services.fast_path import FastPathService
from equerry.services.intents import WordIntentService
from equerry.services.pulse import PulseService
from equerry.services.reading import RunReadingService
from equerry.services.records import RunRecordService
from equerry.services.recovery import RecoveryService
from equerry.services.replaying import ReplayService
from equerry.services.runs import RunHandling, RunService
from equerry.services.stopping import StoppingService
from equerry.services.subscriptions import SubscriptionService, TicketService
from equerry.services.turns import Acceptance, TurnService

from tests.fakes.activity import MemoryActivityAdapter
from tests.fakes.admission import MemoryAdmissionAdapter
from tests.fakes.artifacts import MemoryArtifactStoreAdapter
from tests.fakes.catalogues import MemoryCatalogueAdapter
from tests.fakes.clock import FixedClock
from tests.fakes.delivery import MemoryChannelAdapter, MemoryConnectionAdapter, MemoryReplayLogAdapter
from tests.fakes.documents import MemoryCorpora, MemoryLexicalIndexAdapter
from tests.fakes.interrupts import MemoryInterruptAdapter
from tests.fakes.leases import MemoryLeaseAdapter
from tests.fakes.metrics import MemoryMetricAdapter
from tests.fakes.profiles import MemoryProfileAdapter
from tests.fakes.queue import MemoryQueueAdapter
from tests.fakes.records import MemoryRunRecordAdapter
from tests.fakes.switches import MemorySwitchAdapter
from tests.fakes.transcripts import (
    MemoryArtifactAdapter,
    MemoryInteractionAdapter,
    MemoryRunAdapter,
    MemoryTranscriptAdapter,
    MemoryTranscripts,
)

if TYPE_CHECKING:
    from equerry.domain.conversations import Conversation

ADA = Scope(organisation_id=OrganisationId("acme"), user_id=UserId("ada"))
BEN = Scope(organisation_id=OrganisationId("acme"), user_id=UserId("ben"))
EVE = Scope(organisation_id=OrganisationId("globex"), user_id=UserId("eve"))
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
PROFILE = Profile(name="docs", version="v1", title="Docs", identity="You help.", guidance="Search first.")
NONCE = "0123456789abcdefABCDEF"


class ProcessKilled(BaseException):
    """The process dies here: nothing after this line runs in it."""


@dataclass
class Mortality:
    """Counts effects and kills the process before or after one of them; a dead process has none."""

    kill_at: int = 0
    after: bool = False
    dead: bool = False
    effects: list[str] = field(default_factory=list)

    def wrap(self, name: str, port: Any) -> Any:
        """Return `port` with every call counted."""
        return _Mortal(name, port, self)

    def run(self, what: str, act: Callable[[], Any]) -> Any:
        if self.dead:
            raise ProcessKilled(what)
        self.effects.append(what)
        dies = len(self.effects) == self.kill_at
        if dies and not self.after:
            self.dead = True
            raise ProcessKilled(what)
        done = act()
        if dies:
            self.dead = True
            raise ProcessKilled(what)
        return done


class _Mortal:
    def __init__(self, name: str, port: Any, fate: Mortality) -> None:
        self._name, self._port, self._fate = name, port, fate

    def __getattr__(self, method: str) -> Any:
        act = getattr(self._port, method)
        if not callable(act):
            return act
        return lambda *args, **named: self._fate.run(f"{self._name}.{method}", lambda: act(*args, **named))


BuildTools = Callable[[Profile, Scope, Evidence, str], tuple[Tool, ...]]


def _no_tools(_profile: Profile, _scope: Scope, _evidence: Evidence, _nonce: str) -> tuple[Tool, ...]:
    return ()


def _keep_no_time(_publisher: Publisher) -> AbstractContextManager[None]:
    """Time stands still, so that effects come in one order."""
    return nullcontext()


@dataclass
class World:
    """Stores that outlive every process, and services as one process has them."""

    script: Script = field(default_factory=lambda: replay([say("Hello ", "there.")]))
    build_tools: BuildTools = _no_tools
    stand_in: ModelChoice | None = None
    clock: FixedClock = field(default_factory=FixedClock)
    store: MemoryTranscripts = field(default_factory=MemoryTranscripts)
    leases: MemoryLeaseAdapter = field(default_factory=MemoryLeaseAdapter)
    limits: TurnLimits = field(default_factory=TurnLimits)
    interrupts: MemoryInterruptAdapter = field(default_factory=MemoryInterruptAdapter)
    log: MemoryReplayLogAdapter = field(default_factory=MemoryReplayLogAdapter)
    artifacts: MemoryArtifactStoreAdapter = field(default_factory=MemoryArtifactStoreAdapter)
    connections: MemoryConnectionAdapter = field(default_factory=MemoryConnectionAdapter)
    channel: MemoryChannelAdapter = field(default_factory=MemoryChannelAdapter)
    queue: MemoryQueueAdapter = field(default_factory=MemoryQueueAdapter)
    new_nonce: Callable[[], str] = lambda: NONCE
    metrics: MemoryMetricAdapter = field(default_factory=MemoryMetricAdapter)
    switch: MemorySwitchAdapter = field(default_factory=MemorySwitchAdapter)
    profiles: MemoryProfileAdapter = field(default_factory=lambda: MemoryProfileAdapter(PROFILE))
    unlisted: Tenancy = field(default_factory=Tenancy)
    catalogues: MemoryCatalogueAdapter = field(default_factory=MemoryCatalogueAdapter)
    library: MemoryCorpora = field(default_factory=MemoryCorpora)
    tier: IntentTier = field(default_factory=WordsTier)
    fate: Mortality = field(default_factory=Mortality)
    entry_fate: Mortality = field(default_factory=Mortality)
    keep_time: KeepTime = _keep_no_time

    def __post_init__(self) -> None:
        self.model = FixtureModelAdapter(self.clock, script=self.script)
        self.admissions = MemoryAdmissionAdapter(self.leases)
        self._ids = itertools.count(1)

    def new_id(self) -> str:
        return str(uuid.UUID(int=next(self._ids)))

    @property
    def delivery(self) -> DeliveryService:
        return self._build_delivery(self.fate)

    def _build_delivery(self, fate: Mortality) -> DeliveryService:
        return DeliveryService(
            log=fate.wrap("log", self.log),
            transcripts=MemoryTranscriptAdapter(self.store),
            artifacts=self.artifacts,
            artifact_records=MemoryArtifactAdapter(self.store, keeps=True),
            connections=self.connections,
            channel=fate.wrap("channel", self.channel),
            clock=self.clock,
            behind=lambda act: act(),
        )

    @property
    def recovery(self) -> RecoveryService:
        return RecoveryService(
            runs=self.fate.wrap("runs", MemoryRunAdapter(self.store, keeps=True)),
            records=self.fate.wrap("records", MemoryRunRecordAdapter(self.store)),
            leases=self.fate.wrap("leases", self.leases),
            admissions=self.fate.wrap("admissions", self.admissions),
            interrupts=self.fate.wrap("interrupts", self.interrupts),
            log=self.fate.wrap("log", self.log),
            delivery=self.delivery,
            metrics=self.metrics,
            clock=self.clock,
        )

    @property
    def guard(self) -> AdmissionService:
        return AdmissionService(
            admissions=self.entry_fate.wrap("admissions", self.admissions),
            leases=self.entry_fate.wrap("leases", self.leases),
            runs=self.entry_fate.wrap("runs", MemoryRunAdapter(self.store)),
            recovery=self.recovery,
            interrupts=self.interrupts,
            limits=self.limits,
            metrics=self.metrics,
            clock=self.clock,
        )

    @property
    def stops(self) -> StoppingService:
        return StoppingService(
            runs=MemoryRunAdapter(self.store),
            leases=self.leases,
            interrupts=self.interrupts,
            recovery=self.recovery,
        )

    @property
    def turns(self) -> TurnService:
        return TurnService(
            transcripts=self.entry_fate.wrap("transcripts", MemoryTranscriptAdapter(self.store)),
            profiles=self.profiles,
            queue=self.entry_fate.wrap("queue", self.queue),
            switch=self.switch,
            guard=self.guard,
            stops=self.stops,
            unlisted=self.unlisted,
            clock=self.clock,
            new_id=self.new_id,
            fast_path=self.fast_path,
        )

    @property
    def fast_path(self) -> FastPathService:
        """Part of the entry point's process."""
        fate = self.entry_fate
        words = fate.wrap("words", MemoryLexicalIndexAdapter(self.library))
        return FastPathService(
            tier=self.tier,
            words=WordIntentService(catalogues=self.catalogues, words=words),
            answers=FastAnswerService(
                runs=fate.wrap("runs", MemoryRunAdapter(self.store, keeps=True)),
                leases=fate.wrap("leases", self.leases),
                endings=self._build_endings(fate),
                clock=self.clock,
                find_trace_id=lambda: TRACE_ID,
            ),
            clock=self.clock,
        )

    @property
    def endings(self) -> EndingService:
        return self._build_endings(self.fate)

    def _build_endings(self, fate: Mortality) -> EndingService:
        return EndingService(
            runs=fate.wrap("runs", MemoryRunAdapter(self.store, keeps=True)),
            records=fate.wrap("records", MemoryRunRecordAdapter(self.store)),
            admissions=fate.wrap("admissions", self.admissions),
            log=fate.wrap("log", self.log),
            delivery=self._build_delivery(fate),
            metrics=self.metrics,
            clock=self.clock,
        )

    @property
    def explaining(self) -> RunRecordService:
        return RunRecordService(
            records=MemoryRunRecordAdapter(self.store),
            activity=MemoryActivityAdapter(self.store),
            clock=self.clock,
        )

    @property
    def worker(self) -> RunService:
        runs = self.fate.wrap("runs", MemoryRunAdapter(self.store, keeps=True))
        leases = self.fate.wrap("leases", self.leases)
        answers = AnswerService(
            transcripts=self.fate.wrap("transcripts", MemoryTranscriptAdapter(self.store)),
            runs=runs,
            profiles=self.profiles,
            model=cast("FixtureModelAdapter", self.fate.wrap("model", self.model)),
            endings=self.endings,
            build_tools=self.build_tools,
            new_nonce=self.new_nonce,
            limits=self.limits,
            clock=self.clock,
            keep_time=self.keep_time,
            find_stand_in=lambda: self.stand_in,
        )
        return RunService(
            runs=runs,
            leases=leases,
            interrupts=self.fate.wrap("interrupts", self.interrupts),
            answers=answers,
            recovery=self.recovery,
            pulses=PulseService(
                leases=self.leases, interrupts=self.interrupts, queue=self.queue, clock=self.clock
            ),
            clock=self.clock,
        )

    @property
    def reading(self) -> RunReadingService:
        return RunReadingService(
            runs=MemoryRunAdapter(self.store),
            log=self.log,
            replays=self.replays,
            recovery=self.recovery,
            clock=self.clock,
        )

    @property
    def replays(self) -> ReplayService:
        return ReplayService(log=self.log, clock=self.clock)

    @property
    def conversations(self) -> ConversationService:
        return ConversationService(
            transcripts=MemoryTranscriptAdapter(self.store),
            runs=MemoryRunAdapter(self.store),
            interactions=MemoryInteractionAdapter(self.store),
            artifacts=MemoryArtifactAdapter(self.store),
            profiles=self.profiles,
            leases=self.leases,
            recovery=self.recovery,
            stops=self.stops,
            tenancies=self.store.tenancies,
            unlisted=self.unlisted,
            limits=self.limits,
            default_profile="docs",
            clock=self.clock,
            new_id=self.new_id,
        )

    @property
    def sockets(self) -> SubscriptionService:
        return SubscriptionService(
            connections=self.connections,
            transcripts=MemoryTranscriptAdapter(self.store),
            runs=MemoryRunAdapter(self.store),
            leases=self.leases,
            replays=self.replays,
            delivery=self.delivery,
            clock=self.clock,
        )

    def open_conversation(self, scope: Scope = ADA) -> ConversationId:
        conversation: Conversation = self.conversations.create(scope)
        return conversation.conversation_id

    def submit(self, conversation_id: ConversationId, text: str = "Well?") -> Acceptance:
        return self.turns.submit(ADA, conversation_id, text)

    def deliver(self, accepted: Acceptance) -> RunHandling:
        """Let a worker take the run from the queue."""
        return self.worker.execute(accepted.run_id, accepted.conversation_id)

    def connect(self, name: str, scope: Scope = ADA) -> ConnectionId:
        """Open a socket the way a page does."""
        connection_id = ConnectionId(name)
        principal = Principal(scope=scope, expires_at=self.clock.now() + timedelta(hours=1))
        tickets = TicketService(
            connections=self.connections, clock=self.clock, new_secret=lambda: f"ticket-{name}"
        )
        ticket = tickets.issue(principal)
        self.channel.open_socket(connection_id)
        self.sockets.connect(connection_id, ticket.ticket)
        return connection_id

    def build_publisher(self, run_id: RunId, conversation_id: ConversationId) -> Publisher:
        """Return what publishes a run's events, as the process that has the run would."""
        return Publisher(
            run_id=run_id,
            conversation_id=conversation_id,
            broadcaster=self.delivery.build_broadcaster(ADA, conversation_id),
            clock=self.clock,
        )

    def frames(self, connection_id: ConnectionId) -> list[dict[str, Any]]:
        """Return what a socket received, in order."""
        return [json.loads(frame) for frame in self.channel.list_frames(connection_id)]

    def envelopes(self, run_id: RunId) -> tuple[Envelope, ...]:
        return self.log.read(Marker(run_id), limit=1_000)

    def types(self, run_id: RunId) -> list[str]:
        return [envelope.type for envelope in self.envelopes(run_id)]
