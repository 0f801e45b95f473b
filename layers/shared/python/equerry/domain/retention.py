"""How long an organisation's data lives, and what the product says of an organisation."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from equerry.kernel.errors import InvalidInput
from equerry.kernel.identifiers import OrganisationId, UserId
from equerry.kernel.kinds import message, record, value

OrganisationStatus = Literal["active", "disabled", "provisioning", "failed", "unknown"]
"""Only `disabled` ever lets anything be purged, and only `active` stops a clock."""
SHORTEST_CONVERSATION_DAYS = 30
SHORTEST_ACTION_DAYS = 90
LONGEST_DAYS = 3650
DELETION_LATE = timedelta(days=30)
"""DynamoDB forgets by itself, days late at worst: older items need no second look."""
STILL_AT_WORK = timedelta(minutes=20)
"""No worker lives longer; what one wrote after its run's rows went is looked for again after this."""
_ID = re.compile(r"[\w.@|:+=~-]{1,128}", re.ASCII)
_REQUEST = re.compile(r"[\x21-\x7e]{1,128}", re.ASCII)


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionWindows:
    """Days each kind is kept; None, which an organisation's own may have, stands for the platform's.

    Raises:
        ValueError: a window is outside its limits.
    """

    conversation_days: int = 365
    action_days: int = 730
    superseded_days: int = 30
    purge_after_days: int = 90

    def __post_init__(self) -> None:
        least = {
            "conversation_days": SHORTEST_CONVERSATION_DAYS,
            "action_days": SHORTEST_ACTION_DAYS,
            "superseded_days": 1,
            "purge_after_days": 1,
        }
        for name, low in least.items():
            days = getattr(self, name)
            if not low <= days <= LONGEST_DAYS:
                raise ValueError(f"{name} must be {low} to {LONGEST_DAYS}, got {days}")


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class Shortening:
    """An organisation's own windows; None is the platform's, and so is one that is longer."""

    organisation_id: OrganisationId
    conversation_days: int | None
    action_days: int | None


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class OffboardingClock:
    """Since when an organisation has been seen disabled, and whether its purge has begun."""

    first_disabled_at: datetime
    purge_started_at: datetime | None

    def is_due(self, now: datetime, *, after_days: int) -> bool:
        """Whether it is to be purged: its window is over, or a purge that began has not ended."""
        return self.purge_started_at is not None or now - self.first_disabled_at >= timedelta(days=after_days)


@message
@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureRequest:
    """Whose data is to go, and the request it goes by."""

    user_id: UserId
    request_id: str


def parse_erasure(user_id: object, request_id: object) -> ErasureRequest:
    """Read a request to erase a person.

    Raises:
        InvalidInput: no id that a token could have named, or no request id of 1 to 128 visible characters.
    """
    if not isinstance(user_id, str) or not _ID.fullmatch(user_id):
        raise InvalidInput("userId must be a person's id", field="userId")
    if not isinstance(request_id, str) or not _REQUEST.fullmatch(request_id):
        raise InvalidInput("requestId must be 1 to 128 characters without spaces", field="requestId")
    return ErasureRequest(user_id=UserId(user_id), request_id=request_id)


def parse_organisation(organisation_id: object) -> OrganisationId:
    """Read an organisation's id.

    Raises:
        InvalidInput: no id that a token could have named.
    """
    if not isinstance(organisation_id, str) or not _ID.fullmatch(organisation_id):
        raise InvalidInput("organisationId must be an organisation's id", field="organisationId")
    return OrganisationId(organisation_id)
