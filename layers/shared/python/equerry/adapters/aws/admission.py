"""Admission in DynamoDB: one read of all that is counted, one transaction good only if it still is so."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from equerry.adapters.aws.errors import ConditionFailed, aws_errors
from equerry.adapters.aws.leases import lease_key, read_lease, write_lease, write_lease_end
from equerry.adapters.aws.transactions import CONDITION, write_together
from equerry.adapters.aws.usage import (
    organisation_key,
    read_claim,
    read_turns,
    read_window,
    submission_key,
    user_key,
    write_claim,
    write_organisation,
    write_refund,
    write_user,
)
from equerry.domain.admission import Admission, AdmissionRecord, AdmissionRequest, judge
from equerry.domain.leases import Lease
from equerry.kernel.clock import Clock
from equerry.kernel.errors import Unavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import TransactWriteItemTypeDef

    from equerry.adapters.aws.attributes import Item

Found = Mapping[str, Any] | None
_ATTEMPTS = 25
_PAUSE_S = 0.02


class DynamoAdmissionAdapter:
    """AdmissionPort over the table of leases and the usage table, keys `pk` and `sk`.

    Turns of one organisation contend for its item: whoever comes second reads and judges again, after a pause
    that grows and that `jitter` (from 0 to 1) spreads.
    """

    def __init__(
        self,
        client: "DynamoDBClient",
        *,
        leases: str,
        usage: str,
        clock: Clock,
        jitter: Callable[[], float],
    ) -> None:
        self._client = client
        self._leases = leases
        self._usage = usage
        self._clock = clock
        self._jitter = jitter

    def admit(self, request: AdmissionRequest) -> Admission:
        """Keep AdmissionPort's promise."""
        what = f"admit run {request.run_id}"
        for attempt in range(_ATTEMPTS):
            items = self._read(request, what)
            user, organisation = items.get("user"), items.get("organisation")
            found = AdmissionRecord(
                user_turns=read_turns(user),
                organisation_turns=read_turns(organisation),
                window=read_window(organisation),
                lease=read_lease(items["lease"]) if "lease" in items else None,
                claim=read_claim(items.get("claim")),
            )
            verdict = judge(request, found)
            if verdict.after is None:
                return verdict.admission
            writes = self._write(request, verdict.after, user, organisation)
            if not write_together(self._client, writes, what=what):
                return verdict.admission
            self._pause(attempt)
        raise Unavailable(f"could not {what}: too many others were admitted at the same time")

    def settle(self, lease: Lease, *, spent: int | None) -> bool:
        """Keep AdmissionPort's promise."""
        reserved = lease.reservation
        if reserved is None or spent is None or spent == reserved.tokens:
            return self._free(lease)
        what = f"settle run {lease.run_id}"
        refund = write_refund(self._usage, lease.scope.organisation_id, reserved, spent=spent)
        for attempt in range(_ATTEMPTS):
            reasons = write_together(
                self._client, [{"Delete": write_lease_end(self._leases, lease)}, refund], what=what
            )
            if not reasons:
                return True
            if reasons[0] == CONDITION:
                return False
            if reasons[1] == CONDITION:  # its bucket left the window and was forgotten
                return self._free(lease)
            self._pause(attempt)
        raise Unavailable(f"could not {what}: too many others wrote at the same time")

    def _read(self, request: AdmissionRequest, what: str) -> dict[str, "Item"]:
        """Return what is there, by what it is."""
        usage = {"organisation": organisation_key(request.scope.organisation_id), "user": user_key(request)}
        if request.submission:
            usage["claim"] = submission_key(request, request.submission)
        wanted: Any = {
            self._usage: {"Keys": list(usage.values()), "ConsistentRead": True},
            self._leases: {"Keys": [lease_key(request.conversation_id)], "ConsistentRead": True},
        }
        found: dict[str, Item] = {}
        names = {key["sk"]["S"]: name for name, key in usage.items()}
        for attempt in range(_ATTEMPTS):
            with aws_errors(what):
                answer = self._client.batch_get_item(RequestItems=wanted)
            for table, items in answer["Responses"].items():
                for item in items:
                    found["lease" if table == self._leases else names[item["sk"]["S"]]] = item
            wanted = answer.get("UnprocessedKeys")
            if not wanted:
                return found
            self._pause(attempt)
        raise Unavailable(f"could not {what}: AWS did not read all that is counted")

    def _write(
        self, request: AdmissionRequest, after: AdmissionRecord, user: Found, organisation: Found
    ) -> "list[TransactWriteItemTypeDef]":
        writes = [
            write_user(self._usage, request, user, after),
            write_organisation(self._usage, request, organisation, after),
        ]
        if after.lease is not None:
            writes.append({"Put": write_lease(self._leases, after.lease)})
        if request.submission is not None and after.claim is not None:
            writes.append(write_claim(self._usage, request, after.claim))
        return writes

    def _free(self, lease: Lease) -> bool:
        try:
            with aws_errors(f"free conversation {lease.conversation_id}"):
                self._client.delete_item(**write_lease_end(self._leases, lease))
        except ConditionFailed:
            return False
        return True

    def _pause(self, attempt: int) -> None:
        self._clock.sleep(_PAUSE_S * min(attempt + 1, 10) * self._jitter())
