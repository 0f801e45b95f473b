"""What a question was taken for, in the audit beside the tool calls."""

import json
from typing import TYPE_CHECKING

from equerry.adapters.postgres.identifiers import as_uuid
from equerry.domain.opening import OpenedTurn
from equerry.domain.principal import Scope

if TYPE_CHECKING:
    from equerry.adapters.postgres.connections import Rows

TOOL = "fast_path"
# Behind every range of positions that tool calls and what follows them count up in.
_POSITION = 9_000_000
_INSERT = """
INSERT INTO assistant_actions
    (run_id, call_id, conversation_id, organisation_id, created_by, position, tool, arguments, ok,
     duration_ms, created_at)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s::jsonb, %s, %s, %s)
"""


def audit_classification(rows: "Rows", scope: Scope, opened: OpenedTurn) -> None:
    """Write the audit row of a hit or a miss in the caller's transaction; nothing where nobody looked."""
    taken = opened.classification
    if taken is None:
        return
    rows.execute(
        _INSERT,
        (
            as_uuid(opened.run.run_id, name="run"),
            TOOL,
            as_uuid(opened.run.conversation_id, name="conversation"),
            scope.organisation_id,
            scope.user_id,
            _POSITION,
            TOOL,
            json.dumps(taken.describe()),
            not taken.is_failure,
            taken.duration_ms,
            opened.run.created_at,
        ),
    )
