"""The HTTP API, event in and answer out, over fakes."""

import json
from base64 import b64encode
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from equerry.admin.activity import ActivityScreen
from equerry.domain.principal import Principal, Scope
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import OrganisationId, UserId
from equerry.runtime.http_app import HttpApp
from equerry.services.artifacts import ArtifactService
from equerry.services.billing import BillingService
from equerry.services.documents import DocumentService
from equerry.services.subscriptions import TicketService
from equerry.surfaces.http.registry import Deployment, HttpServices, build_routes
from equerry.surfaces.http.routing import PREFIX, Route

from tests.fakes.activity import MemoryActivityAdapter
from tests.fakes.documents import MemoryDocumentAdapter, MemoryPassageAdapter
from tests.fakes.entitlements import MemoryEntitlementAdapter
from tests.fakes.identity import MemoryIdentityAdapter
from tests.fakes.transcripts import MemoryTranscriptAdapter
from tests.fakes.uploads import MemoryUploadAdapter
from tests.unit.services.world import ADA, BEN, EVE, World

UNKNOWN = "00000000-0000-0000-0000-0000000000ff"
ROOT = Scope(organisation_id=OrganisationId("acme"), user_id=UserId("root"), role="admin")


class Api:
    """Calls the app as the gateway does."""

    def __init__(self, world: World, *, bills: bool = False) -> None:
        self.world = world
        identity = MemoryIdentityAdapter(world.clock)
        self.identity = identity
        for token, scope in (("ada", ADA), ("ben", BEN), ("eve", EVE), ("root", ROOT)):
            expires_at = world.clock.now() + timedelta(hours=1)
            identity.admit(token, Principal(scope=scope, expires_at=expires_at))
        identity.admit_service("machine")
        identity.admit_without_organisation("nobody")
        documents = MemoryDocumentAdapter()
        self.turns = world.turns
        activity = ActivityScreen(activity=MemoryActivityAdapter(world.store), clock=world.clock)
        services = HttpServices(
            conversations=world.conversations,
            turns=self.turns,
            reading=world.reading,
            tickets=TicketService(
                connections=world.connections, clock=world.clock, new_secret=lambda: "a-ticket"
            ),
            artifacts=ArtifactService(
                transcripts=MemoryTranscriptAdapter(world.store), artifacts=world.artifacts
            ),
            documents=DocumentService(
                documents=documents,
                passages=MemoryPassageAdapter(documents.store),
                uploads=MemoryUploadAdapter(world.clock),
                pipeline_version="1",
            ),
            read_switches=world.switch.read,
            show_activity=activity.show,
            show_fatigue=activity.show_fatigue,
            records=world.explaining,
        )
        deployment = Deployment(
            version="1.2.3",
            commit="abc",
            lambda_version="7",
            default_profile="docs",
            websocket_url="wss://socket.example/live",
        )
        self.routes = build_routes(services, deployment)
        self.entitlements = MemoryEntitlementAdapter()
        billing = BillingService(entitlements=self.entitlements if bills else None, clock=world.clock)
        self._app = HttpApp(self.routes, identity, billing)

    def __call__(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        token: str | None = "ada",
        query: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
        raw: str | bytes | None = None,
    ) -> tuple[int, Any, dict[str, str]]:
        sent = dict(headers or {})
        if token is not None:
            sent["authorization"] = f"Bearer {token}"
        text = raw if raw is not None else (json.dumps(body) if body is not None else None)
        event = {
            "version": "2.0",
            "routeKey": "ANY /api/assistant/{proxy+}",
            "rawPath": PREFIX + path,
            "rawQueryString": "",
            "headers": sent,
            "queryStringParameters": query,
            "requestContext": {
                "http": {"method": method, "path": PREFIX + path},
                "requestId": "gateway-1",
                "stage": "$default",
            },
            "body": b64encode(text).decode() if isinstance(text, bytes) else text,
            "isBase64Encoded": isinstance(text, bytes),
        }
        answer = self._app(event, SimpleNamespace())
        received = {k.lower(): v for k, v in answer["headers"].items()}
        is_text = received.get("content-type", "").startswith("text/")
        content = answer["body"] if is_text else json.loads(answer["body"] or "null")
        return answer["statusCode"], content, received


@pytest.fixture
def api() -> Api:
    return Api(World())


def opened(api: Api, *, token: str = "ada") -> str:
    status, created, _ = api("POST", "/conversations", {}, token=token)
    assert status == 201
    return str(created["conversationId"])


def test_the_main_job_over_http(api: Api) -> None:
    conversation = opened(api)

    status, accepted, _ = api("POST", f"/conversations/{conversation}/messages", {"text": "Well?"})
    assert status == 202
    assert set(accepted) == {"runId", "conversationId", "messageIds", "mode"}
    status, shown, _ = api("GET", f"/conversations/{conversation}")
    assert (status, shown["activeRunId"]) == (200, accepted["runId"])
    api.world.worker.execute(accepted["runId"], accepted["conversationId"])
    status, run, _ = api("GET", f"/runs/{accepted['runId']}", query={"wait": "25"})

    assert (status, run["status"], run["message"]["text"]) == (200, "ended", "Hello there.")
    status, shown, _ = api("GET", f"/conversations/{conversation}")
    assert shown["activeRunId"] is None
    assert [message["role"] for message in shown["messages"]] == ["user", "assistant"]
    status, listed, _ = api("GET", "/conversations")
    assert [entry["conversationId"] for entry in listed["conversations"]] == [conversation]
    assert listed["conversations"][0]["title"] == "Well?"
    status, replay, _ = api("GET", f"/runs/{accepted['runId']}/envelopes", query={"after": "5"})
    assert [envelope["type"] for envelope in replay["envelopes"]] == ["message", "done"]
    assert replay["ended"] is True


def test_a_ticket_names_the_socket_and_is_never_cached(api: Api) -> None:
    status, ticket, headers = api("POST", "/tickets")

    assert status == 201
    assert ticket["webSocketUrl"] == "wss://socket.example/live"
    assert headers["cache-control"] == "no-store"


@pytest.mark.req("F-ENTRY-04")
def test_entry_points_exist_for_everything_a_surface_does(api: Api) -> None:
    operations = {route.operation for route in api.routes}

    assert {"submitTurn", "cancelRun", "getConversation", "listArtifacts", "recordInteraction"} <= operations


def test_interactions_and_artifacts(api: Api) -> None:
    conversation = opened(api)

    status, _, _ = api(
        "POST", f"/conversations/{conversation}/interactions", {"kind": "copied", "data": {"n": 1}}
    )
    assert status == 202
    told = {"kind": "headline", "bucket": "applied", "about": "suggestion-7"}
    assert api("POST", f"/conversations/{conversation}/interactions", told)[0] == 202
    kept = [(one.kind, one.bucket, one.about) for one in api.world.store.interactions.values()]
    assert kept == [("copied", "interacted", None), ("headline", "applied", "suggestion-7")]
    assert api("GET", f"/conversations/{conversation}/artifacts")[:2] == (200, {"artifacts": []})


@pytest.mark.parametrize(
    ("told", "field"), [({"bucket": "liked"}, "bucket"), ({"about": "two words"}, "about")]
)
def test_an_interaction_is_of_one_of_four_buckets_and_about_something_that_can_be_named(
    api: Api, told: dict[str, object], field: str
) -> None:
    path = f"/conversations/{opened(api)}/interactions"

    status, problem, _ = api("POST", path, {"kind": "copied"} | told)

    assert (status, problem["code"]) == (400, "invalid_request")
    assert field in problem["detail"]


@pytest.mark.parametrize(
    ("data", "field"), [({"note": "x" * 1_001}, "data.note"), ({"n" * 65: 1}, f"data.{'n' * 65}.[key]")]
)
def test_what_is_told_of_an_interaction_is_short(api: Api, data: dict[str, object], field: str) -> None:
    path = f"/conversations/{opened(api)}/interactions"

    status, problem, _ = api("POST", path, {"kind": "copied", "data": data})

    assert (status, problem["code"]) == (400, "invalid_request")
    assert field in problem["detail"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", f"/conversations/{UNKNOWN}", None),
        ("POST", f"/conversations/{UNKNOWN}/messages", {"text": "x"}),
        ("GET", f"/conversations/{UNKNOWN}/artifacts", None),
        ("POST", f"/conversations/{UNKNOWN}/interactions", {"kind": "x"}),
        ("GET", f"/runs/{UNKNOWN}", None),
        ("GET", f"/runs/{UNKNOWN}/envelopes", None),
        ("POST", f"/runs/{UNKNOWN}/cancel", None),
        ("GET", f"/passages/{UNKNOWN}", None),
    ],
)
def test_a_foreign_id_is_answered_exactly_like_an_unknown_one(
    api: Api, method: str, path: str, body: object
) -> None:
    conversation = opened(api)
    accepted = api("POST", f"/conversations/{conversation}/messages", {"text": "Well?"})[1]
    foreign = path.replace(UNKNOWN, accepted["runId"] if "/runs/" in path else conversation)

    status, unknown, _ = api(method, path, body, token="eve")
    foreign_status, refused, _ = api(method, foreign, body, token="eve")

    assert status == foreign_status == 404
    for problem in (unknown, refused):
        problem.pop("instance")
    assert unknown == refused
    assert unknown["code"] == "not_found"


@pytest.mark.parametrize(
    ("method", "path", "body", "named"),
    [
        ("GET", "/conversations/not-an-id", None, "conversationId"),
        ("GET", "/conversations/00000000-0000-0000-0000-0000000000FF", None, "conversationId"),
        ("GET", "/runs/1", None, "runId"),
        ("POST", "/conversations", {"profile": 3}, "profile"),
        ("POST", "/conversations", {"colour": "red"}, "colour"),
        ("POST", "/conversations", [], "body"),
        ("GET", "/corpora/UPPER/documents", None, "corpusId"),
        ("POST", "/corpora/handbook/uploads", {"files": []}, "files"),
    ],
)
def test_malformed_input_names_what_was_wrong(
    api: Api, method: str, path: str, body: object, named: str
) -> None:
    status, problem, headers = api(method, path, body, token="root")

    assert status == 400
    assert headers["content-type"] == "application/problem+json"
    assert problem["code"] == "invalid_request"
    assert named in problem["detail"]


@pytest.mark.parametrize("raw", ["", "{", "nonsense", "[" * 50_000])
def test_a_body_that_is_no_json_is_refused(api: Api, raw: str) -> None:
    status, problem, _ = api("POST", "/conversations", raw=raw)

    assert (status, problem["code"]) == (400, "invalid_request")


@pytest.mark.parametrize("wait", ["-1", "26", "soon", "1.5", "²"])
def test_a_wait_that_does_not_fit_is_refused(api: Api, wait: str) -> None:
    status, problem, _ = api("GET", f"/runs/{UNKNOWN}", query={"wait": wait})

    assert (status, problem["detail"].split()[0]) == (400, "wait")


@pytest.mark.parametrize(
    ("token", "status", "code"),
    [
        (None, 401, "unauthenticated"),
        ("stranger", 401, "unauthenticated"),
        ("machine", 403, "user_required"),
        ("nobody", 403, "organisation_required"),
    ],
)
def test_who_may_not_enter_is_told_how(api: Api, token: str | None, status: int, code: str) -> None:
    answered, problem, headers = api("GET", "/conversations", token=token)

    assert (answered, problem["code"]) == (status, code)
    assert ("www-authenticate" in headers) == (status == 401)


def test_a_scheme_that_is_not_bearer_is_refused(api: Api) -> None:
    status, _, _ = api("GET", "/conversations", token=None, headers={"Authorization": "Basic eDp5"})

    assert status == 401


@pytest.mark.req("A-SPEC-02", "A-SPEC-03", "A-SPEC-10")
def test_what_needs_no_token(api: Api) -> None:
    assert api("GET", "/health", token=None)[:2] == (200, {"status": "ok"})
    _, version, headers = api("GET", "/version", token=None)
    assert version == {"version": "1.2.3", "commit": "abc", "lambdaVersion": "7"}
    assert headers["cache-control"] == "no-store"
    assert api("GET", "/config", token=None)[1] == {
        "contractVersion": 1,
        "defaultProfile": "docs",
        "enabled": True,
        "organisationEnabled": None,
        "profileEnabled": None,
    }
    assert api("GET", "/openapi.json", token=None)[0] == 200


@pytest.mark.req("A-SPEC-01", "A-SPEC-04", "A-SPEC-05", "A-SPEC-11")
def test_the_contract_describes_the_routes_that_serve(api: Api) -> None:
    _, contract, _ = api("GET", "/openapi.json", token=None)

    assert contract["openapi"] == "3.1.0"
    described = {(method.upper(), path) for path, entry in contract["paths"].items() for method in entry}
    served = {(route.method, route.path) for route in api.routes}
    assert served - described == {("GET", "/version")}
    assert described <= served
    assert contract == api("GET", "/openapi.json", token=None)[1]


def test_an_address_that_does_not_exist(api: Api) -> None:
    status, problem, _ = api("GET", "/nothing/here")

    assert (status, problem["code"]) == (404, "not_found")


def test_members_may_not_manage_documents(api: Api) -> None:
    status, problem, _ = api("GET", "/corpora/handbook/documents")

    assert (status, problem["code"]) == (403, "admin_required")


def test_announcing_files_says_which_to_send_and_where(api: Api) -> None:
    file = {"path": "guide/a.md", "sha256": "0" * 64, "sizeBytes": 12}

    status, answer, _ = api("POST", "/corpora/handbook/uploads", {"files": [file]}, token="root")

    assert status == 200
    (upload,) = answer["uploads"]
    assert (upload["path"], upload["action"]) == ("guide/a.md", "upload")
    assert upload["url"]
    status, listed, _ = api("GET", "/corpora/handbook/documents", token="root")
    assert [(d["path"], d["status"]) for d in listed["documents"]] == [("guide/a.md", "pending")]
    assert api("GET", "/corpora/handbook/documents", token="eve")[0] == 403


@pytest.mark.parametrize(("letter", "most"), [("a", 1024), ("é", 512), ("\N{KEY}", 256)])
def test_a_path_has_at_most_1024_bytes_of_utf_8(api: Api, letter: str, most: int) -> None:
    def announce(path: str) -> tuple[int, str]:
        file = {"path": path, "sha256": "0" * 64, "sizeBytes": 12}
        status, answer, _ = api("POST", "/corpora/handbook/uploads", {"files": [file]}, token="root")
        return status, answer.get("detail", "")

    assert announce(letter * most) == (200, "")
    status, detail = announce(letter * (most + 1))
    assert status == 400
    assert "path" in detail
    assert "1024" in detail


@pytest.mark.parametrize("path", ["../etc/passwd", "/abs.md", "a//b.md", "a\\b.md", "./a.md"])
def test_a_path_that_leaves_its_folder_is_refused(api: Api, path: str) -> None:
    file = {"path": path, "sha256": "0" * 64, "sizeBytes": 12}

    status, problem, _ = api("POST", "/corpora/handbook/uploads", {"files": [file]}, token="root")

    assert status == 400
    assert "path" in problem["detail"]


def test_a_document_can_be_withdrawn_once(api: Api) -> None:
    file = {"path": "a.md", "sha256": "0" * 64, "sizeBytes": 12}
    _, answer, _ = api("POST", "/corpora/handbook/uploads", {"files": [file]}, token="root")
    address = f"/corpora/handbook/documents/{answer['uploads'][0]['documentId']}"

    assert api("DELETE", address)[0] == 403
    assert api("DELETE", address.replace("handbook", "other"), token="root")[0] == 404
    assert api("DELETE", address, token="root")[0] == 202
    assert api("DELETE", address, token="root")[0] == 404


@pytest.mark.req("A-ERR-01", "A-ERR-03", "A-ERR-04")
def test_a_failure_nobody_foresaw_says_nothing_but_its_reference(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError('FATAL: password authentication failed for user "equerry_runtime"')

    monkeypatch.setattr(type(api.world.store), "fetch", broken)

    status, problem, headers = api("GET", f"/conversations/{UNKNOWN}", headers={"x-request-id": "mine-42"})

    assert (status, problem["code"], problem["reference"]) == (500, "internal_error", "mine-42")
    assert headers["x-request-id"] == "mine-42"
    assert "password" not in json.dumps(problem)


@pytest.mark.req("A-ERR-02")
def test_a_store_that_is_down_is_503_with_a_time_to_come_back(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: object, **__: object) -> None:
        raise Unavailable("the database does not answer")

    monkeypatch.setattr(type(api.world.store), "fetch", down)

    status, problem, headers = api("GET", f"/conversations/{UNKNOWN}")

    assert (status, problem["code"], headers["retry-after"]) == (503, "service_unavailable", "5")
    assert problem["reference"] == "gateway-1"


def test_a_reference_that_could_forge_a_log_line_is_replaced(api: Api) -> None:
    _, _, headers = api("GET", "/health", token=None, headers={"x-request-id": "a\nb"})

    assert headers["x-request-id"] == "gateway-1"


def test_a_turn_in_progress_is_a_conflict(api: Api) -> None:
    conversation = opened(api)
    api("POST", f"/conversations/{conversation}/messages", {"text": "Well?"})

    status, problem, _ = api("POST", f"/conversations/{conversation}/messages", {"text": "And?"})

    assert (status, problem["code"]) == (409, "turn_in_progress")


def test_an_address_beyond_the_first_routes_is_looked_up_among_all_which_are_made_once() -> None:
    whole = Api(World())
    made: list[str] = []

    def list_routes() -> tuple[Route, ...]:
        made.append("all")
        return whole.routes

    first = [route for route in whole.routes if route.operation == "submitTurn"]
    billing = BillingService(entitlements=None, clock=whole.world.clock)
    whole._app = HttpApp(first, whole.identity, billing, list_routes=list_routes)

    asked = whole("POST", f"/conversations/{UNKNOWN}/messages", {"text": "Why?"})
    assert (asked[0], made) == (404, [])
    assert whole("GET", "/health")[0] == 200
    assert whole("GET", "/nowhere")[0] == 404
    assert whole("GET", f"/conversations/{UNKNOWN}")[0] == 404
    assert made == ["all"]
