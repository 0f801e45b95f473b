"""What is counted, as items of the usage table: one an organisation, one a person, one a caller's key.

All of an organisation's items share its partition. `revision` grows with every admission and guards it;
refunds leave it alone, because one that comes in between can only make room.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from equerry.adapters.aws.attributes import (
    forget_after,
    instant,
    number,
    read_instant,
    read_number,
    read_text,
    text,
)
from equerry.domain.admission import AdmissionRecord, AdmissionRequest
from equerry.domain.budget import KEPT_HOURS, Reservation, SpendWindow
from equerry.domain.rates import RecentTurns
from equerry.domain.submissions import Submission, SubmissionClaim
from equerry.kernel.identifiers import OrganisationId, RunId

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import TransactWriteItemTypeDef

    from equerry.adapters.aws.attributes import Item

_KEPT = timedelta(hours=KEPT_HOURS)


def organisation_key(organisation_id: OrganisationId) -> "Item":
    """Return the key of an organisation's turns and budget."""
    return {"pk": text(organisation_id), "sk": text("ORGANISATION")}


def user_key(asked: AdmissionRequest) -> "Item":
    """Return the key of a person's turns."""
    return {"pk": text(asked.scope.organisation_id), "sk": text(f"USER#{asked.scope.user_id}")}


def submission_key(asked: AdmissionRequest, submission: Submission) -> "Item":
    """Return the key of a caller's key."""
    return {"pk": text(asked.scope.organisation_id), "sk": text(f"SUBMISSION#{submission.digest}")}


def read_turns(item: Mapping[str, Any] | None) -> RecentTurns:
    """Return when an item's turns were accepted."""
    moments = item["recent_turns"]["L"] if item else ()
    return RecentTurns(tuple(read_instant({"at": moment}, "at") for moment in moments))


def read_window(item: Mapping[str, Any] | None) -> SpendWindow:
    """Return an organisation's buckets."""
    spent = item["spent_by_hour"]["M"] if item else {}
    return SpendWindow({int(hour): read_number(spent, hour) for hour in spent})


def read_claim(item: Mapping[str, Any] | None) -> SubmissionClaim | None:
    """Return the run that a caller's key stands for."""
    if item is None:
        return None
    return SubmissionClaim(
        submission=Submission(
            digest=read_text(item, "sk").removeprefix("SUBMISSION#"),
            fingerprint=read_text(item, "fingerprint"),
        ),
        run_id=RunId(read_text(item, "run_id")),
        claimed_at=read_instant(item, "claimed_at"),
        kept_until=read_instant(item, "kept_until"),
    )


def write_user(
    table: str, asked: AdmissionRequest, seen: Mapping[str, Any] | None, after: AdmissionRecord
) -> "TransactWriteItemTypeDef":
    """Return the write of a person's turns, good only if nobody wrote since `seen`."""
    condition, values = _unchanged(seen)
    item = {
        **user_key(asked),
        "user_id": text(asked.scope.user_id),
        "revision": number(_revision(seen) + 1),
        "recent_turns": _turns(after.user_turns),
        "expires_at": forget_after(asked.now + _KEPT),
    }
    put: Any = {"TableName": table, "Item": item, "ConditionExpression": condition}
    return {"Put": put | ({"ExpressionAttributeValues": values} if values else {})}


def write_organisation(
    table: str, asked: AdmissionRequest, seen: Mapping[str, Any] | None, after: AdmissionRecord
) -> "TransactWriteItemTypeDef":
    """Return the charge to an organisation, good only if nobody was admitted since `seen`."""
    if seen is None:
        return _first_charge(table, asked, after)
    reservation = _reservation(after)
    forgotten = read_window(seen).list_forgettable(asked.now)
    names = {"#now": str(reservation.hour), **{f"#h{n}": str(hour) for n, hour in enumerate(forgotten)}}
    drop = ", ".join(f"spent_by_hour.#h{n}" for n in range(len(forgotten)))
    condition, values = _unchanged(seen)
    return {
        "Update": {
            "TableName": table,
            "Key": organisation_key(asked.scope.organisation_id),
            "UpdateExpression": (
                "SET spent_by_hour.#now = if_not_exists(spent_by_hour.#now, :none) + :tokens,"
                " revision = :next, recent_turns = :turns, expires_at = :expires"
                + (f" REMOVE {drop}" if drop else "")
            ),
            "ConditionExpression": condition,
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values
            | {
                ":none": number(0),
                ":tokens": number(reservation.tokens),
                ":next": number(_revision(seen) + 1),
                ":turns": _turns(after.organisation_turns),
                ":expires": forget_after(asked.now + _KEPT),
            },
        }
    }


def write_claim(table: str, asked: AdmissionRequest, claim: SubmissionClaim) -> "TransactWriteItemTypeDef":
    """Return the claim of a key, good only if it is free, expired, or stands for what is superseded."""
    return {
        "Put": {
            "TableName": table,
            "Item": {
                **submission_key(asked, claim.submission),
                "user_id": text(asked.scope.user_id),
                "fingerprint": text(claim.submission.fingerprint),
                "run_id": text(claim.run_id),
                "claimed_at": instant(claim.claimed_at),
                "kept_until": instant(claim.kept_until),
                "expires_at": forget_after(claim.kept_until),
            },
            "ConditionExpression": "attribute_not_exists(pk) OR kept_until <= :now OR run_id = :superseded",
            "ExpressionAttributeValues": {
                ":now": instant(asked.now),
                ":superseded": text(asked.superseded or "none"),
            },
        }
    }


def write_refund(
    table: str, organisation_id: OrganisationId, reservation: Reservation, *, spent: int
) -> "TransactWriteItemTypeDef":
    """Return the change that leaves `spent` of a reservation in its bucket, good only if that is there."""
    return {
        "Update": {
            "TableName": table,
            "Key": organisation_key(organisation_id),
            "UpdateExpression": "SET spent_by_hour.#hour = spent_by_hour.#hour + :change",
            "ConditionExpression": "attribute_exists(spent_by_hour.#hour)",
            "ExpressionAttributeNames": {"#hour": str(reservation.hour)},
            "ExpressionAttributeValues": {":change": number(spent - reservation.tokens)},
        }
    }


def _first_charge(table: str, asked: AdmissionRequest, after: AdmissionRecord) -> "TransactWriteItemTypeDef":
    reservation = _reservation(after)
    return {
        "Put": {
            "TableName": table,
            "Item": {
                **organisation_key(asked.scope.organisation_id),
                "revision": number(1),
                "recent_turns": _turns(after.organisation_turns),
                "spent_by_hour": {"M": {str(reservation.hour): number(reservation.tokens)}},
                "expires_at": forget_after(asked.now + _KEPT),
            },
            "ConditionExpression": "attribute_not_exists(pk)",
        }
    }


def _unchanged(seen: Mapping[str, Any] | None) -> "tuple[str, Item]":
    if seen is None:
        return "attribute_not_exists(pk)", {}
    return "revision = :seen", {":seen": number(_revision(seen))}


def _revision(seen: Mapping[str, Any] | None) -> int:
    return read_number(seen, "revision") if seen else 0


def _turns(turns: RecentTurns) -> Any:
    return {"L": [instant(moment) for moment in turns.at]}


def _reservation(after: AdmissionRecord) -> Reservation:
    if after.lease is None or after.lease.reservation is None:
        raise AssertionError("an admission has a lease and a reservation")
    return after.lease.reservation
