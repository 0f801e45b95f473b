"""`equerry index`: from a folder to published documents."""

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from local.cli.api import Api, ApiRefused
from local.cli.walking import Source
from local.errors import LocalError

BATCH = 200
UPLOADS_AT_ONCE = 8
POLL_S = 0.5
PATIENCE_S = 180.0
SETTLED = ("published", "failed")
NAMED_FILE = re.compile(r"\bfiles\.(\d+)\b")

Document = dict[str, Any]


@dataclass(slots=True)
class Outcome:
    """What became of each file; paths, except `failed`, which maps a path to the reason."""

    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    pruned: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    embedded: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexer:
    """Indexes files into one corpus. `tell` hears (settled, of how many) while the indexer works."""

    api: Api
    corpus: str
    visible_to: tuple[str, ...]
    tell: Callable[[int, int], None]
    sleep: Callable[[float], None] = time.sleep

    def index(self, sources: Sequence[Source], *, prune: bool, keep: Sequence[str] = ()) -> Outcome:
        """Upload what is new or changed and wait until all of it is published or has failed.

        Pruning spares the paths in `keep`, which the folder has and which cannot be sent.

        Raises:
            LocalError: nothing moved for three minutes.
            ApiRefused: the caller may not index.
        """
        known = self._find_known()
        outcome = Outcome()
        waiting: dict[str, Source] = {}
        for start in range(0, len(sources), BATCH):
            waiting |= self._upload(sources[start : start + BATCH], known, outcome)
            self.tell(0, len(waiting))
        if prune:
            self._prune(known, {source.path for source in sources} | set(keep), outcome)
        self._wait(waiting, outcome)
        return outcome

    def _upload(
        self, batch: Sequence[Source], known: dict[str, Document], outcome: Outcome
    ) -> dict[str, Source]:
        slots = self._ask_for_slots(list(batch), outcome)
        by_path = {source.path: source for source in batch}
        outcome.unchanged += [slot["path"] for slot in slots if slot["action"] == "unchanged"]
        uploads = [slot for slot in slots if slot["action"] != "unchanged"]
        sent: dict[str, Source] = {}
        for slot, failure in zip(uploads, self._put(uploads, by_path), strict=True):
            if failure:
                outcome.failed[slot["path"]] = failure
                continue
            seen = known.get(slot["path"], {}).get("status") not in (None, "deleted")
            (outcome.changed if seen else outcome.new).append(slot["path"])
            sent[slot["documentId"]] = by_path[slot["path"]]
        return sent

    def _ask_for_slots(self, batch: list[Source], outcome: Outcome) -> list[dict[str, Any]]:
        """Return where each file goes; a file the server will not have fails alone."""
        visible = {"visibleTo": list(self.visible_to)} if self.visible_to else {}
        while batch:
            files = [
                {"path": source.path, "sha256": source.sha256, "sizeBytes": source.size_bytes, **visible}
                for source in batch
            ]
            try:
                slots: list[dict[str, Any]] = self.api.post(f"{self._address}/uploads", {"files": files})[
                    "uploads"
                ]
            except ApiRefused as refused:
                outcome.failed[_take_named(batch, refused).path] = str(refused)
            else:
                return slots
        return []

    def _put(self, slots: list[dict[str, Any]], sources: dict[str, Source]) -> list[str | None]:
        """Upload; return for each slot why it failed, or None."""

        def put(slot: dict[str, Any]) -> str | None:
            try:
                content = _read_again(sources[slot["path"]])
                self.api.put_bytes(slot["url"], content, slot.get("headers") or {})
            except (_Changed, ApiRefused) as error:
                return str(error)
            except OSError as error:
                return f"it cannot be read any more ({error.strerror})"
            return None

        with ThreadPoolExecutor(UPLOADS_AT_ONCE) as pool:
            return list(pool.map(put, slots))

    def _prune(self, known: dict[str, Document], kept: set[str], outcome: Outcome) -> None:
        for path, document in known.items():
            if path not in kept and document["status"] != "deleted":
                self.api.delete(f"{self._address}/documents/{quote(document['documentId'], safe='')}")
                outcome.pruned.append(path)

    def _wait(self, waiting: dict[str, Source], outcome: Outcome) -> None:
        total, left = len(waiting), dict(waiting)
        deadline = time.monotonic() + PATIENCE_S
        while left:
            settled = [document for document in self._list() if _is_settled(document, left)]
            for document in settled:
                source = left.pop(document["documentId"])
                self._settle(document, source, outcome)
            self.tell(total - len(left), total)
            if settled:
                deadline = time.monotonic() + PATIENCE_S
            elif time.monotonic() > deadline:
                raise LocalError(
                    f"{len(left)} of {total} documents still wait, and nothing has moved for three minutes;"
                    " what was uploaded stays in the queue, and indexing goes on without this command",
                    "run the same command again to look: what is published by then counts as unchanged;"
                    " `equerry local status` tells how the local stack is",
                )
            if left:
                self.sleep(POLL_S)

    def _settle(self, document: Document, source: Source, outcome: Outcome) -> None:
        outcome.embedded += document.get("embedded") or 0
        if document["status"] == "failed":
            outcome.failed[source.path] = document.get("reason") or "no reason was given"
            for paths in (outcome.new, outcome.changed):
                if source.path in paths:
                    paths.remove(source.path)

    def _find_known(self) -> dict[str, Document]:
        try:
            return {document["path"]: document for document in self._list()}
        except ApiRefused as refused:
            if refused.code == "not_found":  # a corpus is made by its first upload
                return {}
            raise

    @property
    def _address(self) -> str:
        return f"/corpora/{quote(self.corpus, safe='')}"

    def _list(self) -> Iterator[Document]:
        cursor = ""
        while True:
            query = {"cursor": cursor} if cursor else {}
            page = self.api.get(f"{self._address}/documents", **query)
            yield from page["documents"]
            cursor = page.get("cursor") or ""
            if not cursor:
                return


class _Changed(Exception):
    """A file is not what was announced any more."""


def _read_again(source: Source) -> bytes:
    content = source.file.read_bytes()
    if hashlib.sha256(content).hexdigest() != source.sha256:
        raise _Changed("it changed while it was being read; run the same command again")
    return content


def _take_named(batch: list[Source], refused: ApiRefused) -> Source:
    """Take out the file a refusal is about; raises the refusal if it names none."""
    named = NAMED_FILE.search(str(refused))
    if named is None or int(named[1]) >= len(batch):
        raise refused
    return batch.pop(int(named[1]))


def _is_settled(document: Document, waiting: dict[str, Source]) -> bool:
    """Say whether it is about the very content we sent: an earlier version's word does not count."""
    source = waiting.get(document["documentId"])
    return source is not None and document["sha256"] == source.sha256 and document["status"] in SETTLED
