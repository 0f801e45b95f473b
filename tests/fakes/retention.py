"""The sweep's deletions over the stores in memory."""

from dataclasses import dataclass, field
from datetime import datetime

from equerry.domain.retention import Shortening
from equerry.kernel.identifiers import OrganisationId

from tests.fakes.documents import MemoryCorpora
from tests.fakes.transcripts import MemoryTranscripts


@dataclass(frozen=True)
class MemoryRetentionAdapter:
    """RetentionPort in memory; the audit outlives the conversation, as in the database."""

    transcripts: MemoryTranscripts = field(default_factory=MemoryTranscripts)
    corpora: MemoryCorpora = field(default_factory=MemoryCorpora)
    shortenings: list[Shortening] = field(default_factory=list)

    def list_shortenings(self) -> tuple[Shortening, ...]:
        return tuple(self.shortenings)

    def delete_conversations(
        self, *, unchanged_since: datetime, limit: int, organisation_id: OrganisationId | None = None
    ) -> int:
        store = self.transcripts
        old = sorted(
            (kept.updated_at, identity)
            for identity, (owner, kept) in store.conversations.items()
            if kept.updated_at < unchanged_since and organisation_id in (None, owner[0])
        )[:limit]
        for _, identity in old:
            del store.conversations[identity]
            store.messages.pop(identity, None)
            for run_id in [run.run_id for run in store.runs.values() if run.conversation_id == identity]:
                del store.runs[run_id]
                store.records.pop(run_id, None)
                store.steps.pop(run_id, None)
        return len(old)

    def delete_audit(
        self, *, older_than: datetime, limit: int, organisation_id: OrganisationId | None = None
    ) -> int:
        store = self.transcripts
        actions = [
            key
            for key, (owner, row) in store.audit.items()
            if row.at < older_than and organisation_id in (None, owner)
        ][:limit]
        used = [
            key
            for key, (owner, _, at) in store.usages.items()
            if at < older_than and organisation_id in (None, owner[0])
        ][: limit - len(actions)]
        for place in actions:
            del store.audit[place]
        for run_id in used:
            del store.usages[run_id]
        return len(actions) + len(used)

    def delete_superseded_passages(
        self, *, superseded_before: datetime, limit: int, organisation_id: OrganisationId | None = None
    ) -> int:
        old = [
            (kept, stored)
            for kept in self.corpora.passages.values()
            for stored in kept
            if stored.superseded_at and stored.superseded_at < superseded_before
        ][:limit]
        for kept, stored in old:
            kept.remove(stored)
        return len(old)

    def delete_withdrawn_documents(
        self, *, withdrawn_before: datetime, limit: int, organisation_id: OrganisationId | None = None
    ) -> int:
        return 0
