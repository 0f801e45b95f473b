"""Starting and dying: nothing is left behind, whoever is killed."""

import json
import os
import signal
import stat
import time
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from local.deploy import load_outputs
from local.errors import PortTaken
from local.files import read_json
from local.places import Places
from local.ports import find_free_port, is_listening
from local.progress import Progress
from local.stack import Stack
from local.supervisor import find_supervisor
from tests.deployed import Deployed

pytestmark = pytest.mark.stack


def test_the_endpoints_file_is_private_and_complete(deployed: Deployed) -> None:
    path = deployed.places.endpoints

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    content = json.loads(path.read_text())
    assert set(content) == {
        *("httpUrl", "httpHeaders", "webSocketUrl", "chatUrl", "databaseUrl", "awsEndpointUrl", "issuer"),
        "tokens",
    }
    organisations = [entry["organisationId"] for entry in content["tokens"]]
    assert len(set(organisations)) == 2
    assert len(organisations) > 2


def test_the_database_address_is_the_runtime_roles(deployed: Deployed) -> None:
    import psycopg

    with psycopg.connect(read_json(deployed.places.endpoints)["databaseUrl"]) as session:
        row = session.execute(
            "SELECT current_user, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
        ).fetchone()

    assert row == ("equerry_runtime", False, False)


def test_coming_up_again_is_quick_and_changes_nothing(deployed: Deployed) -> None:
    before = find_supervisor(deployed.places)
    shown = StringIO()

    started = Stack(deployed.places, Progress(console=Console(file=shown))).up()

    assert not started
    assert shown.getvalue().splitlines() == ["✓ running already", "✓ deployed already, nothing changed"]
    assert find_supervisor(deployed.places) == before


def test_parts_die_with_their_supervisor(tmp_path: Path) -> None:
    places = _places(tmp_path)
    stack = Stack(places, Progress())
    stack.start()
    supervisor = find_supervisor(places)
    assert supervisor is not None

    os.kill(supervisor, signal.SIGKILL)

    ports = (places.chat, places.issuer, places.emulator, places.postgres)
    deadline = time.monotonic() + 15
    while any(is_listening(port) for port in ports) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [port for port in ports if is_listening(port)] == []
    assert stack.start()
    assert stack.down()
    assert not any(is_listening(port) for port in ports)
    assert not stack.down()


def test_a_taken_port_is_named(tmp_path: Path, deployed: Deployed) -> None:
    places = _places(tmp_path, issuer=deployed.places.issuer)

    with pytest.raises(PortTaken, match=f"port {places.issuer}") as caught:
        Stack(places, Progress()).start()

    assert "EQUERRY_ISSUER_PORT" in caught.value.remedy
    assert find_supervisor(places) is None


def _places(state: Path, issuer: int | None = None) -> Places:
    return Places(
        state=state,
        chat=find_free_port(),
        issuer=issuer or find_free_port(),
        emulator=find_free_port(),
        postgres=find_free_port(),
    )


@pytest.mark.skipif(
    os.environ.get("EQUERRY_ENFORCE_IAM") != "true", reason="roles are not enforced in this lane"
)
def test_who_was_granted_nothing_may_do_nothing(deployed: Deployed) -> None:
    import boto3
    from botocore.exceptions import ClientError

    places = deployed.places
    options: Any = {
        "endpoint_url": places.aws_url,
        "verify": str(places.certificate),
        "region_name": "us-east-1",
    }
    iam = boto3.client("iam", **options)
    iam.create_user(UserName="nobody")
    key = iam.create_access_key(UserName="nobody")["AccessKey"]
    nobody = boto3.Session(key["AccessKeyId"], key["SecretAccessKey"])

    with pytest.raises(ClientError, match="AccessDenied"):
        nobody.client("s3", **options).list_objects_v2(Bucket=load_outputs(places)["UploadsBucketName"])
