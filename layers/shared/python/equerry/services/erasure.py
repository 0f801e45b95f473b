"""Erasing a person: from the database in one transaction, then from every other store, and a proof of it."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from equerry.domain.retention import STILL_AT_WORK, ErasureRequest
from equerry.kernel.clock import Clock
from equerry.kernel.errors import EquerryError, Unavailable
from equerry.kernel.kinds import result
from equerry.ports.disposals import Disposal
from equerry.ports.erasure import ErasurePort
from equerry.services.disposals import DisposalService

logger = logging.getLogger(__name__)


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReport:
    """What went: rows by table, and things by store; all zero for somebody of whom nothing is left."""

    request_id: str
    rows: Mapping[str, int]
    remains: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureService:
    """Erases people across organisations; dying anywhere in it, it goes on with the next run.

    Attributes:
        time_s: how long other stores may take; what is left is done by the next run.
    """

    erasures: ErasurePort
    disposals: DisposalService
    clock: Clock
    time_s: float

    def erase(self, request: ErasureRequest) -> ErasureReport:
        """Remove all that is a person's.

        First their leases, sockets and tickets go: a worker that has lost its lease writes no more than
        it was writing, and what that was is looked for again later.

        Raises:
            Unavailable: a store did not answer, or time ran out; the next run goes on with it.
        """
        now = self.clock.now()
        self.erasures.begin(request, at=now)
        person = Disposal(disposal_id=0, kind="person", organisation_id="", user_id=request.user_id)
        fenced = self.disposals.dispose(person)
        rows = self.erasures.erase_rows(request, again_at=now + STILL_AT_WORK)
        remains, finished = self.disposals.drain(time_s=self.time_s, user_id=request.user_id)
        remains = {name: fenced[name] + remains[name] for name in fenced}
        if not finished:
            raise Unavailable("the erasure is not finished; the next run goes on with it")
        self.erasures.complete(request, remains, at=self.clock.now())
        report = ErasureReport(request_id=request.request_id, rows=rows, remains=remains)
        logger.info(
            "person_erased", extra={"request_id": request.request_id, "rows": rows, "remains": remains}
        )
        return report

    def resume(self) -> int:
        """Go on with erasures that began and did not end; returns how many ended now.

        Raises:
            Unavailable: one or more could not be finished; all were tried.
        """
        unfinished = self.erasures.list_unfinished()
        failed = sum(not self._resume(request) for request in unfinished)
        if failed:
            raise Unavailable(f"{failed} erasures could not be finished")
        return len(unfinished)

    def _resume(self, request: ErasureRequest) -> bool:
        try:
            self.erase(request)
        except EquerryError:
            logger.exception("erasure_unfinished", extra={"request_id": request.request_id})
            return False
        return True
