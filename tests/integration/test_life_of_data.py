"""Erasing, sweeping and offboarding from the command line, over the deployed stack."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local.aws import Session
from local.cli.api import Api, ApiRefused, Target
from local.cli.life import LONGEST_S, Keeper
from local.deploy import load_outputs
from local.files import read_json
from local.organisations import FILE
from local.tokens import Person, build_mint
from tests.deployed import Deployed, start, wait_for_end
from tests.integration.test_command_line import equerry

pytestmark = pytest.mark.stack


@pytest.fixture
def said_of_organisations(deployed: Deployed) -> Iterator[Path]:
    """The file the stand-in for the product goes by; absent before and after."""
    file = deployed.places.state / FILE
    file.unlink(missing_ok=True)
    yield file
    file.unlink(missing_ok=True)


def open_api(stack: Deployed, user: str, organisation: str) -> Api:
    """Return the API as somebody no other test knows."""
    person = Person(user_id=user, organisation_id=organisation, role="member", name=user)
    content = read_json(stack.places.endpoints)
    token = build_mint(stack.places).sign(person)[0]
    return Api(Target(url=content["httpUrl"], headers=content["httpHeaders"], token=token, trust=stack.trust))


def converse(stack: Deployed, user: str, organisation: str) -> str:
    with open_api(stack, user, organisation) as api:
        conversation, run = start(api, "What is there to know?")
        wait_for_end(api, run)
    return conversation


def say(stack: Deployed, *words: str) -> Any:
    done = equerry(stack, *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.req("A-ERASE-01", "A-ERASE-09")
def test_a_person_is_erased_and_a_second_time_there_is_nothing(deployed: Deployed) -> None:
    conversation = converse(deployed, "vanishing", "leaving-people")

    first = say(deployed, "erase", "user", "vanishing", "--request", "r-1")
    second = say(deployed, "erase", "user", "vanishing", "--request", "r-2")

    assert first["rows"]["assistant_conversations"] == 1
    assert first["remains"]["items"] > 0
    assert set(second["rows"].values()) | set(second["remains"].values()) == {0}
    with (
        open_api(deployed, "vanishing", "leaving-people") as api,
        pytest.raises(ApiRefused),
    ):
        api.get(f"/conversations/{conversation}")


@pytest.mark.req("A-CLI-01", "A-CLI-02", "A-CLI-03", "A-OFFB-05", "A-OFFB-08")
def test_an_organisation_is_purged_once_the_product_calls_it_disabled(
    deployed: Deployed, said_of_organisations: Path, tmp_path: Path
) -> None:
    converse(deployed, "anybody", "leaving")
    dry = say(deployed, "sweep", "retention", "--dry-run")
    swept = say(deployed, "sweep", "retention", "--org", "leaving")
    refused = equerry(deployed, "sweep", "retention", "--offboard", "leaving")
    said_of_organisations.write_text('leaving = "disabled"\n')
    export = tmp_path / "leaving.jsonl"

    purged = say(deployed, "sweep", "retention", "--offboard", "leaving", "--export", str(export))

    assert "leaving" in dry["organisations"]
    assert dry["windows"]["conversation_days"] == 365
    assert (swept["conversations"], swept["finished"]) == (0, True)
    assert (refused.returncode, "only a disabled one" in refused.stderr) == (1, True)
    assert purged["removed"]["assistant_conversations"] == 1
    exported = [json.loads(line) for line in export.read_text().splitlines()]
    assert {line["table"] for line in exported} >= {"assistant_conversations", "assistant_messages"}
    assert "leaving" not in say(deployed, "sweep", "retention", "--dry-run")["organisations"]


@pytest.mark.req("A-RETN-09")
def test_the_scheduled_event_does_every_step_over_the_real_stores(deployed: Deployed) -> None:
    converse(deployed, "somebody", "staying")

    said = open_local_keeper(deployed).send({"source": "aws.events"})

    assert said["retention"]["finished"]
    assert said["erasures"] == 0
    assert said["offboarding"]["untouched"] >= 1  # the stand-in knows of demo users' organisations alone


def open_local_keeper(stack: Deployed) -> Keeper:
    session, outputs = Session(stack.places), load_outputs(stack.places)
    return Keeper(
        functions=session.patient_functions(LONGEST_S),
        objects=session.s3,
        function_name=outputs["RetentionFunctionName"],
        bucket=outputs["UploadsBucketName"],
    )
