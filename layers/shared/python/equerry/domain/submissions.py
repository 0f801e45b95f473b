"""A turn that is sent twice under one key is one turn."""

import json
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from equerry.domain.principal import Scope
from equerry.kernel.errors import Conflict, InvalidInput, Unprocessable
from equerry.kernel.identifiers import ConversationId, RunId
from equerry.kernel.kinds import record, value

KEPT = timedelta(hours=24)
MAX_KEY_CHARS = 255
_VISIBLE = re.compile(rf"[!-~]{{1,{MAX_KEY_CHARS}}}")


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What a caller calls one question.

    Attributes:
        digest: of the caller's key, the person and the conversation.
        fingerprint: of what was asked.
    """

    digest: str
    fingerprint: str


@record
@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionClaim:
    """The run that a key stands for, until `kept_until`."""

    submission: Submission
    run_id: RunId
    claimed_at: datetime
    kept_until: datetime

    def is_kept(self, now: datetime) -> bool:
        """Whether the key still stands for this run."""
        return now < self.kept_until


class KeyReused(Unprocessable):
    """The key already stands for another question."""

    code = "idempotency_key_reused"

    def __init__(self) -> None:
        super().__init__("this Idempotency-Key was used for something else; use a new key for a new question")


class SubmissionInProgress(Conflict):
    """The same question under the same key is being accepted right now.

    Attributes:
        first: the run that the key stands for.
    """

    code = "submission_in_progress"

    def __init__(self, first: SubmissionClaim) -> None:
        super().__init__("this question is being accepted; send it again with the same key in a moment")
        self.first = first


def parse_submission(key: str, scope: Scope, conversation_id: ConversationId, *asked: str) -> Submission:
    """Read an `Idempotency-Key`; it means something to its person and in its conversation alone.

    Args:
        asked: all that the caller asked, in order.

    Raises:
        InvalidInput: not 1 to 255 visible ASCII characters; blanks around them do not count.
    """
    trimmed = key.strip(" \t")
    if not _VISIBLE.fullmatch(trimmed):
        raise InvalidInput(
            f"Idempotency-Key must have 1 to {MAX_KEY_CHARS} visible ASCII characters, and no blank between",
            field="Idempotency-Key",
        )
    return Submission(
        digest=_digest(scope.organisation_id, scope.user_id, conversation_id, trimmed),
        fingerprint=_digest(*asked),
    )


def _digest(*parts: str) -> str:
    return sha256(json.dumps(parts).encode()).hexdigest()
