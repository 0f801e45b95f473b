"""What an operator's commands send to the retention function, and the stand-in that it asks."""

import io
import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.response import StreamingBody
from botocore.stub import Stubber
from equerry.kernel.errors import EquerryError, Unavailable
from equerry.services.offboarding import OrganisationNotDisabled
from starlette.testclient import TestClient

from local.cli.life import Keeper, NotDone, claim_file
from local.cli.life_commands import build_sweep, open_keeper, read_outputs, retention
from local.errors import BadInput, LocalError
from local.issuer import build_app
from local.keys import KeyRing
from local.tokens import Mint, load_people

ISSUER = "http://127.0.0.1:3308"
HERE = Path("export.jsonl")


@pytest.mark.parametrize(
    ("code", "hint"),
    [("TooManyRequestsException", "it is at work"), ("AccessDeniedException", "check the credentials")],
)
def test_a_function_that_cannot_be_called_is_told_with_what_to_do(code: str, hint: str) -> None:
    functions = boto3.client("lambda")
    calls = Stubber(functions)
    calls.add_client_error("invoke", code)
    calls.activate()
    keeper = Keeper(
        functions=functions, objects=boto3.client("s3"), function_name="retention", bucket="uploads"
    )

    with pytest.raises(LocalError) as refused:
        keeper.send({"kind": "sweep"})

    assert hint in refused.value.remedy


def test_a_stage_without_a_region_is_refused_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))

    with pytest.raises(LocalError) as caught:
        open_keeper("production", None)

    assert "--region" in caught.value.remedy


def test_a_stage_whose_first_deployment_has_not_ended_is_told_as_that() -> None:
    with pytest.raises(LocalError, match=r"RetentionFunctionName.*CREATE_IN_PROGRESS") as caught:
        read_outputs({"StackStatus": "CREATE_IN_PROGRESS"}, "local")

    assert "deployment has ended" in caught.value.remedy


def test_the_outputs_of_a_stage_name_its_function_and_its_bucket() -> None:
    said = {"RetentionFunctionName": "keep", "UploadsBucketName": "uploads", "Other": "x"}
    outputs = [{"OutputKey": key, "OutputValue": text} for key, text in said.items()]

    assert read_outputs({"Outputs": outputs}, "local") == ("keep", "uploads")


@pytest.mark.req("A-CLI-01", "A-CLI-02", "A-CLI-03")
@pytest.mark.parametrize(
    ("options", "event"),
    [
        ({}, {"kind": "sweep"}),
        ({"dry_run": True}, {"kind": "sweep", "dryRun": True}),
        ({"org": "acme"}, {"kind": "sweep", "organisationId": "acme"}),
        ({"org": "acme", "dry_run": True}, {"kind": "sweep", "organisationId": "acme", "dryRun": True}),
        ({"offboard": "acme"}, {"kind": "organisation-disabled", "organisationId": "acme"}),
        (
            {"offboard": "acme", "export": HERE},
            {"kind": "organisation-disabled", "organisationId": "acme", "export": True},
        ),
    ],
)
def test_each_form_is_an_event(options: dict[str, Any], event: dict[str, Any]) -> None:
    assert build_sweep(**{"org": None, "offboard": None, "export": None, "dry_run": False} | options) == event


@pytest.mark.parametrize(
    "options",
    [
        {"export": HERE},
        {"offboard": "acme", "dry_run": True},
        {"offboard": "acme", "org": "acme"},
        {"org": "a/b"},
        {"offboard": ""},
    ],
)
def test_forms_that_contradict_themselves_send_nothing(options: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        build_sweep(**{"org": None, "offboard": None, "export": None, "dry_run": False} | options)


def build_keeper(said: str, *, error: str | None = None, body: bytes = b"") -> Keeper:
    functions, objects = boto3.client("lambda"), boto3.client("s3")
    answer: dict[str, Any] = {"Payload": StreamingBody(io.BytesIO(said.encode()), len(said))}
    calls = Stubber(functions)
    calls.add_response("invoke", answer | ({"FunctionError": error} if error else {}))
    calls.activate()
    reads = Stubber(objects)
    reads.add_response("get_object", {"Body": StreamingBody(io.BytesIO(body), len(body))})
    reads.activate()
    return Keeper(functions=functions, objects=objects, function_name="retention", bucket="uploads")


def test_what_the_function_says_is_returned() -> None:
    assert build_keeper('{"finished": true}').send({"kind": "sweep"}) == {"finished": True}


@pytest.mark.parametrize("said", ['{"errorMessage": "the organisation is active"}', '"Task timed out"', "{}"])
def test_a_refusal_is_told_in_the_function_s_words(said: str) -> None:
    with pytest.raises(NotDone) as refused:
        build_keeper(said, error="Unhandled").send({"kind": "sweep"})

    assert str(refused.value) in said or "does not say why" in str(refused.value)


@pytest.mark.parametrize(
    ("failure", "hint"),
    [
        (OrganisationNotDisabled("active"), "nothing was removed"),
        (Unavailable("the purge is not finished"), "goes on with the next run"),
    ],
)
def test_what_a_refusal_left_begun_is_told(failure: EquerryError, hint: str) -> None:
    said = json.dumps({"errorMessage": str(failure)})

    with pytest.raises(NotDone) as refused:
        build_keeper(said, error="Unhandled").send({"kind": "organisation-disabled"})

    assert hint in refused.value.remedy


def test_an_organisation_of_which_nothing_is_kept_is_known_by_it() -> None:
    said = '{"organisations": ["acme"]}'

    assert build_keeper(said).keeps("acme")
    assert not build_keeper(said).keeps("nope")


def test_an_export_is_written_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "export.jsonl"

    build_keeper("{}", body=b'{"a":1}\n').fetch_export("exports/acme/x", file)

    assert json.loads(file.read_text()) == {"a": 1}
    assert file.stat().st_mode & 0o077 == 0


def test_an_export_that_cannot_be_written_says_where_it_is(tmp_path: Path) -> None:
    with pytest.raises(LocalError) as failure:
        build_keeper("{}").fetch_export("exports/acme/x", tmp_path / "no" / "such")

    assert failure.value.remedy == "it is s3://uploads/exports/acme/x"


@pytest.mark.req("A-CLI-01")
@pytest.mark.parametrize("name", ["there.jsonl", "folder", "no/such"])
def test_nothing_is_purged_for_an_export_that_could_not_be_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "there.jsonl").write_text("the first export")

    with pytest.raises(BadInput, match="--export"):
        retention(offboard="acme", export=tmp_path / name)

    assert (tmp_path / "there.jsonl").read_text() == "the first export"


def test_a_purge_that_fails_leaves_no_file_behind(tmp_path: Path) -> None:
    file = tmp_path / "export.jsonl"
    keeper = build_keeper('{"errorMessage": "it is active"}', error="Unhandled")

    with pytest.raises(NotDone), claim_file(file):
        keeper.send({"kind": "sweep"})

    assert not file.exists()


def test_the_file_of_an_export_is_its_owner_s_from_the_start(tmp_path: Path) -> None:
    file = tmp_path / "export.jsonl"

    with claim_file(file):
        assert file.stat().st_mode & 0o077 == 0

    assert file.exists()


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    mint = Mint(ISSUER, KeyRing(tmp_path / "issuer"))
    return TestClient(build_app(mint, load_people(), []), base_url=ISSUER)


def ask(client: TestClient, organisation: str) -> str:
    token = client.post("/service-token", json={}).json()["token"]
    answer = client.get(f"/organisations/{organisation}", headers={"authorization": f"Bearer {token}"})
    return str(answer.json()["status"])


def test_the_stand_in_says_what_its_file_says(client: TestClient, tmp_path: Path) -> None:
    assert (ask(client, "northwind"), ask(client, "nowhere")) == ("active", "unknown")

    (tmp_path / "organisations.toml").write_text('northwind = "disabled"\n')

    assert ask(client, "northwind") == "disabled"


def test_the_stand_in_answers_nobody_without_a_service_token(client: TestClient) -> None:
    user = {"userId": "ada", "organisationId": "northwind", "role": "admin"}
    token = client.post("/token", json=user).json()["token"]

    for given in ({}, {"authorization": f"Bearer {token}"}, {"authorization": "Bearer x"}):
        assert client.get("/organisations/northwind", headers=given).status_code == 401
