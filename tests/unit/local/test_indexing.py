import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from local.cli.api import Api, ApiRefused, Target
from local.cli.indexing import Indexer
from local.cli.walking import walk
from local.errors import LocalError

TARGET = Target(url="http://api", headers={"Host": "h"}, token="t")
UNREADABLE = b"unreadable"


class MemoryUploads:
    """The upload routes over a dictionary: what is PUT is published at the second look."""

    def __init__(self) -> None:
        self.documents: dict[str, dict[str, Any]] = {}
        self.puts = 0
        self.calls = 0
        self.tokens: list[str | None] = []
        self.unwanted = ""
        self.storage_status = 200
        self.list_statuses: list[int] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.calls += 1
        if request.method == "PUT":
            return self._put(request)
        self.tokens.append(request.headers.get("authorization"))
        if request.method == "DELETE":
            self.documents[request.url.path.rpartition("/")[2]]["status"] = "deleted"
            return httpx.Response(202)
        if request.url.path.endswith("/uploads"):
            return self._slots(json.loads(request.content)["files"])
        if self.list_statuses:
            return httpx.Response(self.list_statuses.pop(0), headers={"Retry-After": "3"})
        return self._list(request.url.params.get("cursor"))

    def _slots(self, files: list[dict[str, Any]]) -> httpx.Response:
        assert len(files) <= 200
        for index, file in enumerate(files):
            if file["path"] == self.unwanted:
                detail = f"files.{index}.sizeBytes: Input should be less than or equal to 25000000"
                return httpx.Response(400, json={"code": "invalid_request", "detail": detail})
        slots = []
        for file in files:
            document_id = f"d-{file['path']}"
            known = self.documents.get(document_id, {})
            same = known.get("sha256") == file["sha256"] and known["status"] == "published"
            slot = {
                "path": file["path"],
                "documentId": document_id,
                "action": "unchanged" if same else "upload",
            }
            if not same:
                slot |= {"url": f"http://storage/{document_id}/{file['sha256']}", "headers": {"x-amz-a": "b"}}
            slots.append(slot)
        return httpx.Response(200, json={"uploads": slots})

    def _put(self, request: httpx.Request) -> httpx.Response:
        self.puts += 1
        assert request.headers["x-amz-a"] == "b"
        assert "authorization" not in request.headers
        if self.storage_status != httpx.codes.OK:
            return httpx.Response(self.storage_status)
        _, document_id, sha256 = request.url.path.split("/", 2)
        failed = request.content == UNREADABLE
        self.documents[document_id] = {
            "documentId": document_id,
            "path": document_id.removeprefix("d-"),
            "sha256": sha256,
            "status": "pending",
            "next": "failed" if failed else "published",
            "reason": "it holds no text" if failed else None,
            "embedded": 0 if failed else 3,
        }
        return httpx.Response(200)

    def _list(self, cursor: str | None) -> httpx.Response:
        everything = list(self.documents.values())
        start = int(cursor or 0)
        page = [dict(document) for document in everything[start : start + 2]]
        for document in everything[start : start + 2]:
            document["status"] = document.pop("next", document["status"])
        more = str(start + 2) if start + 2 < len(everything) else None
        return httpx.Response(200, json={"documents": page, "cursor": more})


@pytest.fixture
def uploads() -> MemoryUploads:
    return MemoryUploads()


def indexer(uploads: MemoryUploads) -> Indexer:
    api = Api(TARGET, httpx.MockTransport(uploads))
    return Indexer(api=api, corpus="docs", visible_to=(), tell=lambda *_: None, sleep=lambda _s: None)


def fill(folder: Path, **files: bytes) -> Path:
    for name, content in files.items():
        (folder / f"{name}.md").write_bytes(content)
    return folder


def test_every_file_is_uploaded_and_awaited(tmp_path: Path, uploads: MemoryUploads) -> None:
    fill(tmp_path, a=b"one", b=b"two", c=b"three")

    outcome = indexer(uploads).index(walk(tmp_path).sources, prune=False)

    assert outcome.new == ["a.md", "b.md", "c.md"]
    assert outcome.embedded == 9
    assert {document["status"] for document in uploads.documents.values()} == {"published"}
    assert set(uploads.tokens) == {"Bearer t"}


def test_an_unchanged_folder_uploads_nothing(tmp_path: Path, uploads: MemoryUploads) -> None:
    fill(tmp_path, a=b"one", b=b"two")
    indexer(uploads).index(walk(tmp_path).sources, prune=False)

    again = indexer(uploads).index(walk(tmp_path).sources, prune=False)

    assert again.unchanged == ["a.md", "b.md"]
    assert (again.new, again.changed, again.embedded) == ([], [], 0)
    assert uploads.puts == 2


def test_a_changed_file_is_told_from_a_new_one(tmp_path: Path, uploads: MemoryUploads) -> None:
    fill(tmp_path, a=b"one")
    indexer(uploads).index(walk(tmp_path).sources, prune=False)
    fill(tmp_path, a=b"one, changed", b=b"two")

    outcome = indexer(uploads).index(walk(tmp_path).sources, prune=False)

    assert (outcome.changed, outcome.new) == (["a.md"], ["b.md"])


def test_a_failed_document_is_reported_with_its_reason(tmp_path: Path, uploads: MemoryUploads) -> None:
    fill(tmp_path, a=b"one", b=UNREADABLE)

    outcome = indexer(uploads).index(walk(tmp_path).sources, prune=False)

    assert outcome.failed == {"b.md": "it holds no text"}
    assert outcome.new == ["a.md"]


def test_a_file_the_server_will_not_have_fails_alone_and_by_name(
    tmp_path: Path, uploads: MemoryUploads
) -> None:
    fill(tmp_path, a=b"one", b=b"two", c=b"three")
    uploads.unwanted = "b.md"

    outcome = indexer(uploads).index(walk(tmp_path).sources, prune=False)

    assert outcome.new == ["a.md", "c.md"]
    assert list(outcome.failed) == ["b.md"]
    assert "sizeBytes" in outcome.failed["b.md"]


def test_a_file_that_changes_on_the_way_fails_alone_and_by_name(
    tmp_path: Path, uploads: MemoryUploads
) -> None:
    fill(tmp_path, a=b"one", b=b"two", c=b"three")
    sources = walk(tmp_path).sources
    fill(tmp_path, b=b"two, and more")
    (tmp_path / "c.md").unlink()

    outcome = indexer(uploads).index(sources, prune=False)

    assert outcome.new == ["a.md"]
    assert outcome.failed["b.md"].startswith("it changed while it was being read")
    assert outcome.failed["c.md"].startswith("it cannot be read any more")


def test_an_upload_that_storage_refuses_is_named(tmp_path: Path, uploads: MemoryUploads) -> None:
    fill(tmp_path, a=b"one")
    uploads.storage_status = 403

    outcome = indexer(uploads).index(walk(tmp_path).sources, prune=False)

    assert outcome.failed == {"a.md": "the upload was refused (403)"}
    assert outcome.new == []


def test_a_gateway_that_stumbles_while_we_wait_is_asked_again(tmp_path: Path, uploads: MemoryUploads) -> None:
    fill(tmp_path, a=b"one")
    uploads.list_statuses = [503, 502]
    pauses: list[float] = []
    patient = Api(TARGET, httpx.MockTransport(uploads), sleep=pauses.append)
    indexing = Indexer(api=patient, corpus="docs", visible_to=(), tell=lambda *_: None, sleep=lambda _s: None)

    assert indexing.index(walk(tmp_path).sources, prune=False).new == ["a.md"]
    assert pauses == [3.0, 3.0]


def test_what_changes_something_is_never_sent_twice() -> None:
    calls: list[str] = []

    def busy(request: httpx.Request) -> httpx.Response:
        calls.append(request.method)
        return httpx.Response(503)

    with pytest.raises(ApiRefused):
        Api(TARGET, httpx.MockTransport(busy), sleep=lambda _s: None).post("/conversations")

    assert calls == ["POST"]


def test_giving_up_says_that_indexing_goes_on(
    tmp_path: Path, uploads: MemoryUploads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("local.cli.indexing.PATIENCE_S", -1.0)
    fill(tmp_path, a=b"one")

    with pytest.raises(LocalError, match="indexing goes on without this command") as caught:
        indexer(uploads).index(walk(tmp_path).sources, prune=False)

    assert "run the same command again" in caught.value.remedy


def test_pruning_spares_what_the_folder_has_and_cannot_send(tmp_path: Path, uploads: MemoryUploads) -> None:
    fill(tmp_path, a=b"one", b=b"two")
    indexer(uploads).index(walk(tmp_path).sources, prune=False)
    fill(tmp_path, b=b"")
    found = walk(tmp_path)

    assert indexer(uploads).index(found.sources, prune=True, keep=found.empty).pruned == []


def test_pruning_removes_what_the_folder_no_longer_has(tmp_path: Path, uploads: MemoryUploads) -> None:
    fill(tmp_path, a=b"one", b=b"two")
    indexer(uploads).index(walk(tmp_path).sources, prune=False)
    (tmp_path / "b.md").unlink()

    outcome = indexer(uploads).index(walk(tmp_path).sources, prune=True)

    assert outcome.pruned == ["b.md"]
    assert uploads.documents["d-b.md"]["status"] == "deleted"


def test_more_files_than_one_call_takes_go_in_several(tmp_path: Path, uploads: MemoryUploads) -> None:
    fill(tmp_path, **{f"f{n}": b"x%d" % n for n in range(201)})

    outcome = indexer(uploads).index(walk(tmp_path).sources, prune=False)

    assert len(outcome.new) == 201


def test_a_refusal_carries_the_problems_words_and_what_to_do(tmp_path: Path) -> None:
    problem = {
        "title": "Forbidden",
        "status": 403,
        "detail": "indexing needs the role admin",
        "code": "admin_required",
    }
    api = Api(TARGET, httpx.MockTransport(lambda _request: httpx.Response(403, json=problem)))

    with pytest.raises(ApiRefused, match="indexing needs the role admin") as caught:
        api.get("/corpora")

    assert caught.value.code == "admin_required"
    assert "--user ada" in caught.value.remedy


def test_a_refusal_that_another_role_would_not_mend_does_not_say_so() -> None:
    problem = {"status": 403, "detail": "the plan is not current", "code": "billing_required"}
    api = Api(TARGET, httpx.MockTransport(lambda _request: httpx.Response(403, json=problem)))

    with pytest.raises(ApiRefused, match="the plan is not current") as caught:
        api.post("/conversations")

    assert caught.value.remedy == ""
