"""Whether a run's reader may still see it: found out beside the run, which never waits for it."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from equerry.domain.principal import Scope
from equerry.kernel.clock import Clock
from equerry.kernel.errors import EquerryError, NotFound
from equerry.kernel.identifiers import ConversationId
from equerry.ports.transcripts import TranscriptPort

logger = logging.getLogger(__name__)

Behind = Callable[[Callable[[], None]], None]
"""Does something in another thread."""

LOOK_EVERY_S = 5.0
"""A conversation may gain a project, and its reader leave one, while a run is told of."""
TRUSTED_S = 20.0
"""An answer older than this counts for nothing; a silent run asks again with each heartbeat, every 15 s."""


def start_thread(act: Callable[[], None]) -> None:
    """Do something in a thread of its own."""
    threading.Thread(target=act, name="readership", daemon=True).start()


@dataclass(slots=True, kw_only=True)
class Readership:
    """The one reader of one conversation, its creator; open to begin with, since they have just asked."""

    transcripts: TranscriptPort
    scope: Scope
    conversation_id: ConversationId
    clock: Clock
    behind: Behind
    looked_s: float
    _is_open: bool = True
    _seen_s: float = field(init=False)
    _looking: bool = False

    def __post_init__(self) -> None:
        self._seen_s = self.looked_s

    def is_open(self) -> bool:
        """Whether they could see the conversation when last asked; starts to ask again when it is time."""
        now_s = self.clock.monotonic_s()
        if now_s - self.looked_s >= LOOK_EVERY_S and not self._looking:
            self.looked_s, self._looking = now_s, True
            self.behind(self._look)
        return self._is_open and self.clock.monotonic_s() - self._seen_s < TRUSTED_S

    def _look(self) -> None:
        asked_s = self.clock.monotonic_s()
        try:
            self.transcripts.fetch_conversation(self.scope, self.conversation_id)
        except NotFound:
            self._is_open, self._seen_s = False, asked_s
        except EquerryError:
            logger.warning("readership_unknown")
        else:
            self._is_open, self._seen_s = True, asked_s
        finally:
            self._looking = False
