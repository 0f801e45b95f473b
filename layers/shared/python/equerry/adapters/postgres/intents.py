"""What a question was taken for, in the audit beside the tool calls."""

import json
from typing import TYPE_CHECKING

from equerry.adapters.postgres.identifiers import as_uuid
from equerry.domain.intents import AUDITED_AS, AUDITED_AT
from equerry.domain.opening import OpenedTurn
from equerry.domain.principal import Scope

if TYPE_CHECKING:
    from equerry.adapters.postgres.connections import Rows

_INSERT = """
INSERT INTO assistant_actions
    (run_id, call_id, conversation_id, organisation_id, created_by, position, tool, arguments, outcome,
     result_summary, duration_ms, created_at)
VALUES (%s, %s, %s, %s, %s, %s, %s, '{}', %s, %s::jsonb, %s, %s)
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
            AUDITED_AS,
            as_uuid(opened.run.conversation_id, name="conversation"),
            scope.organisation_id,
            scope.user_id,
            AUDITED_AT,
            AUDITED_AS,
            taken.outcome,
            json.dumps(taken.describe()),
            taken.duration_ms,
            opened.run.created_at,
        ),
    )
