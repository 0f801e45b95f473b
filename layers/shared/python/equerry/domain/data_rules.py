"""How long everything is kept, and what ends it: one row for each table, each kind of item and each prefix.

Erasure and offboarding go by these rows, in their order: what depends on something stands before it.
"""

from dataclasses import dataclass
from typing import Literal

from equerry.kernel.kinds import value

Store = Literal["postgres", "dynamodb", "s3"]
Keeping = Literal[
    "conversation_days",
    "with_conversation",
    "action_days",
    "superseded_days",
    "until_withdrawn",
    "until_offboarded",
    "until_done",
    "for_good",
    "counter_hours",
    "a_day",
    "while_it_runs",
    "while_connected",
    "export_days",
]
Erasure = Literal[
    "by_creator", "with_conversation", "by_reader", "by_person", "by_run", "expires", "holds_no_person"
]
Offboarding = Literal["by_organisation", "by_run", "outlives_it"]
Backup = Literal["truth", "rebuildable", "passing"]


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class DataRule:
    """The life of one table, kind of item or prefix.

    Attributes:
        name: a PostgreSQL table, a DynamoDB table as the stack calls it, or a prefix of the bucket.
        kept: how long; docs/data-life.md says what each word means.
        erased: what of it goes with a person.
        offboarded: what of it goes with an organisation.
        backup: `truth` is backed up, `rebuildable` is made again from it, `passing` is worth neither.
    """

    store: Store
    name: str
    kept: Keeping
    erased: Erasure
    offboarded: Offboarding
    backup: Backup


def _table(
    name: str, kept: Keeping, erased: Erasure, offboarded: Offboarding = "by_organisation"
) -> DataRule:
    return DataRule(
        store="postgres", name=name, kept=kept, erased=erased, offboarded=offboarded, backup="truth"
    )


def _items(name: str, kept: Keeping, erased: Erasure, offboarded: Offboarding) -> DataRule:
    return DataRule(
        store="dynamodb", name=name, kept=kept, erased=erased, offboarded=offboarded, backup="passing"
    )


RULES: tuple[DataRule, ...] = (
    _table("assistant_drafts", "with_conversation", "by_creator"),
    _table("assistant_messages", "with_conversation", "with_conversation"),
    _table("assistant_artifacts", "with_conversation", "with_conversation"),
    _table("assistant_interactions", "with_conversation", "with_conversation"),
    _table("assistant_steps", "with_conversation", "with_conversation"),
    _table("assistant_run_records", "with_conversation", "with_conversation"),
    _table("assistant_runs", "with_conversation", "with_conversation"),
    _table("assistant_conversations", "conversation_days", "by_creator"),
    _table("assistant_actions", "action_days", "by_creator"),
    _table("assistant_usage", "action_days", "by_creator"),
    # Of a passage, text and permissions are the truth; its vector and its words are made again from them.
    _table("assistant_passages", "superseded_days", "by_reader"),
    _table("assistant_documents", "until_withdrawn", "by_reader"),
    _table("assistant_corpora", "until_offboarded", "holds_no_person"),
    _table("assistant_tenancies", "until_offboarded", "holds_no_person"),
    _table("assistant_org_offboarding", "until_done", "holds_no_person", "outlives_it"),
    _table("assistant_disposals", "until_done", "expires", "outlives_it"),
    _table("assistant_deletions", "for_good", "holds_no_person", "outlives_it"),
    _items("Leases", "while_it_runs", "by_person", "by_organisation"),
    _items("Connections", "while_connected", "by_person", "by_organisation"),
    _items("Replay", "a_day", "by_run", "by_run"),
    _items("RunFlags", "a_day", "by_run", "by_run"),
    _items("Usage", "counter_hours", "by_person", "by_organisation"),
    DataRule(
        store="s3",
        name="artifacts/",
        kept="with_conversation",
        erased="with_conversation",
        offboarded="by_organisation",
        backup="truth",
    ),
    DataRule(
        store="s3",
        name="corpora/",
        kept="until_withdrawn",
        erased="by_reader",
        offboarded="by_organisation",
        backup="truth",
    ),
    DataRule(
        store="s3",
        name="exports/",
        kept="export_days",
        erased="expires",
        offboarded="outlives_it",
        backup="passing",
    ),
)


def list_rules(store: Store) -> tuple[DataRule, ...]:
    """Return the rules of one store, in the order in which its parts are removed."""
    return tuple(rule for rule in RULES if rule.store == store)
