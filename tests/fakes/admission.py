"""Admission in memory."""

from equerry.domain.admission import Admission, AdmissionRecord, AdmissionRequest, judge
from equerry.domain.budget import SpendWindow
from equerry.domain.leases import Lease
from equerry.domain.rates import RecentTurns
from equerry.domain.submissions import SubmissionClaim
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import OrganisationId, UserId

from tests.fakes.leases import MemoryLeaseAdapter


class MemoryAdmissionAdapter:
    """AdmissionPort over dictionaries and the lock of the leases."""

    def __init__(self, leases: MemoryLeaseAdapter) -> None:
        self.leases = leases
        self.windows: dict[OrganisationId, SpendWindow] = {}
        self.out = False
        self._organisations: dict[OrganisationId, RecentTurns] = {}
        self._users: dict[tuple[OrganisationId, UserId], RecentTurns] = {}
        self._claims: dict[str, SubmissionClaim] = {}

    def admit(self, request: AdmissionRequest) -> Admission:
        self._answer()
        scope, submission = request.scope, request.submission
        person = (scope.organisation_id, scope.user_id)
        with self.leases.lock:
            found = AdmissionRecord(
                user_turns=self._users.get(person, RecentTurns()),
                organisation_turns=self._organisations.get(scope.organisation_id, RecentTurns()),
                window=self.windows.get(scope.organisation_id, SpendWindow()),
                lease=self.leases.held.get(request.conversation_id),
                claim=self._claims.get(submission.digest) if submission else None,
            )
            verdict = judge(request, found)
            if (after := verdict.after) is not None:
                self._users[person] = after.user_turns
                self._organisations[scope.organisation_id] = after.organisation_turns
                self.windows[scope.organisation_id] = after.window
                self.leases.held[request.conversation_id] = verdict.admission.lease
                if submission and after.claim:
                    self._claims[submission.digest] = after.claim
            return verdict.admission

    def settle(self, lease: Lease, *, spent: int | None) -> bool:
        self._answer()
        with self.leases.lock:
            if not self.leases.is_held(lease):
                return False
            del self.leases.held[lease.conversation_id]
            reserved, organisation = lease.reservation, lease.scope.organisation_id
            if reserved is not None and spent is not None:
                change = spent - reserved.tokens
                self.windows[organisation] = self.windows[organisation].charge(reserved.hour, change)
            return True

    def _answer(self) -> None:
        if self.out:
            raise Unavailable("the counters do not answer")
