"""Whether retrieval is whole after a restore, over all documents of this project.

    python -m bench.restore_drill

Indexes them, asks for every heading, dumps the database, restores it into an empty one, takes vectors, words
and their indexes away there, rebuilds them from the passages' text, and asks again. Exits with 1 unless both
searches score the same as before.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from equerry.adapters.embedded.minilm import MiniLmEmbeddingAdapter
from equerry.evaluation.labelled_set import LabelledQuestion

from bench.databases import open_database
from local.places import ROOT
from local.restore_drill import Asked, ask, index_documents, rebuild, restore, score

RESTORED = "equerry_restored"


def main() -> int:
    """Index, ask, restore, rebuild, ask again, compare."""
    embedding = MiniLmEmbeddingAdapter(threads=2)
    with open_database() as database, tempfile.TemporaryDirectory() as folder:
        paths = sorted((ROOT / "docs").rglob("*.md"))
        cases = index_documents(database.connections, embedding, paths)
        before = ask(database.connections, embedding, cases)
        restored_url = restore(database.superuser_url, RESTORED, Path(folder) / "equerry.dump")
        passages = rebuild(restored_url, embedding)
        restored = database.reconnect(RESTORED)
        after = ask(restored, embedding, cases)
        restored.close()
    print(f"{passages} passages restored and rebuilt, {len(cases)} questions")
    return compare(cases, before, after)


def compare(cases: Sequence[LabelledQuestion], before: Asked, after: Asked) -> int:
    """Print both searches' scores before and after; return 1 if any differs."""
    then, now = score(cases, before), score(cases, after)
    print(f"{'':10} {'recall@10':>20} {'MRR@10':>20} {'same ranking':>14}")
    for name in then:
        old, new = getattr(before, name), getattr(after, name)
        same = sum(old[case.question] == new[case.question] for case in cases)
        print(
            f"{name:10} {then[name].recall:9.4f} {now[name].recall:9.4f}  {then[name].mrr:9.4f}"
            f" {now[name].mrr:9.4f} {same:8} / {len(cases)}"
        )
    return int(then != now)


if __name__ == "__main__":
    sys.exit(main())
