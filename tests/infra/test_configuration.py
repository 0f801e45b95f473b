"""A configuration that cannot be deployed is refused at synth, with every problem and what would do."""

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from infra.config import (
    AlarmsConfig,
    AuroraDatabase,
    CostAlarmConfig,
    DatabaseAddress,
    ExistingNetwork,
    NewNetwork,
)
from infra.loading import STAGES, load, parse
from infra.reading import ConfigurationRefused

Table = dict[str, Any]


def stage(name: str, **changes: Any) -> Table:
    """One of the stages that ship, with entries changed; a dotted name reaches into a table, None removes."""
    table = tomllib.loads((STAGES / f"{name}.toml").read_text())
    for path, entry in changes.items():
        *folders, last = path.split("__")
        target = table
        for folder in folders:
            target = target.setdefault(folder, {})
        if entry is None:
            target.pop(last, None)
        else:
            target[last] = entry
    return table


def refusal(table: Mapping[str, Any]) -> str:
    """What the configuration is refused with."""
    with pytest.raises(ConfigurationRefused) as refused:
        parse(table, source="test")
    return str(refused.value)


def context(**given: str) -> Callable[[str], object]:
    """A CDK context."""
    return given.get


@pytest.mark.parametrize("path", sorted(STAGES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_stage_that_ships_is_valid(path: Path) -> None:
    assert load(context(stage=path.stem)).stage == path.stem


def test_the_local_stage_is_the_default() -> None:
    found = load(context())

    assert isinstance(found.database, DatabaseAddress)
    assert found.local is not None


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("production", {"stage": "Prod!"}, "stage: must be a lower-case name"),
        ("production", {"stage": None}, "stage: is missing"),
        ("production", {"region": "frankfurt"}, "region: must be an AWS region such as eu-central-1"),
        ("production", {"account": "12"}, "account: must be twelve digits, got '12'"),
        ("production", {"production": "yes"}, "production: must be true or false, got 'yes'"),
        ("production", {"retrieval_backend": "opensearch"}, "'opensearch' is not built yet; use 'postgres'"),
        ("production", {"retrieval_backend": "faiss"}, "must be one of postgres, opensearch, got 'faiss'"),
        ("production", {"allowed_origins": ["*"]}, "allowed_origins: must hold origins such as"),
        ("production", {"allowed_origins": "https://a.example"}, "allowed_origins: must be a list"),
        ("production", {"runtime__python": "3.9"}, "must be one of 3.11, 3.12, 3.13, 3.14, got '3.9'"),
        ("production", {"runtime__architecture": "mips"}, "must be one of arm64, x86_64, got 'mips'"),
        (
            "production",
            {"model__provider": "gpt"},
            "must be one of extractive, bedrock, anthropic, openai, google, fixture, got 'gpt'",
        ),
        ("production", {"model__provider": "fixture"}, "is for the local stage only"),
        ("production", {"model__provider": "anthropic"}, "model.secret_arn: is missing"),
        # A key in the place of its ARN is not repeated: this ends up in a build's log.
        ("production", {"model__secret_arn": "sk-123"}, "must be a Secrets Manager ARN, got something else"),
        ("production", {"model__base_url": "http://models"}, "model.base_url: must be an https address"),
        (
            "production",
            {"model__prices": ["openai/gpt-x 3"]},
            "model.prices: must hold prices like openai/gpt-x",
        ),
        (
            "production",
            {"model__retirements": ["openai/x 2027-02-30"]},
            "model.retirements: 'openai/x 2027-02-30'",
        ),
        ("production", {"auth__jwks_url": "http://login"}, "auth.jwks_url: must be the https address"),
        ("production", {"auth__issuer": None}, "auth.issuer: is missing; give the tokens' iss claim"),
        ("production", {"database__min_capacity": 0.3}, "from 0 to 256 in steps of 0.5, got 0.3"),
        ("production", {"database__min_capacity": 16}, "must not exceed max_capacity (8), got 16"),
        ("production", {"database__backup_retention_days": 0}, "must be a whole number from 1 to 35, got 0"),
        ("production", {"network__cidr": "ten"}, "network.cidr: must be a range such as 10.40.0.0/20"),
        ("production", {"network__vpc_id": "vpc-1"}, "network.availability_zones: must hold at least 2"),
        ("production", {"limits__reserve_concurrency": False}, "may be false only with production = false"),
        ("production", {"limits__worker_timeout_s": 900}, "must be a whole number from 30 to 840, got 900"),
        (
            "production",
            {"limits__worker_timeout_s": 284},
            "must be at least 285, 45 s more than turns.wall_s (240)",
        ),
        ("production", {"turns__wall_s": 256}, "limits.worker_timeout_s: must be at least 301"),
        ("production", {"limits__log_retention_days": 17}, "must be one of 1, 3, 5, 7, 14, 30"),
        ("production", {"limits__http_reserved_concurrency": 0}, "from 1 to 1000, got 0"),
        ("production", {"site__token_url": "http://a"}, "site.token_url: must be the https address"),
        ("production", {"limits": 5}, "limits: must be a table, got 5"),
        ("production", {"colour": "red"}, "colour: is not a setting here; known settings:"),
        ("production", {"limits__colour": "red"}, "limits.colour: is not a setting here"),
        ("local", {"network__cidr": "10.0.0.0/16"}, "network: the local stage has none; leave it out"),
        ("local", {"database__port": 0}, "database.port: must be a whole number from 1 to 65535, got 0"),
        ("local", {"database__owner_password": None}, "database.owner_password: is missing"),
    ],
)
def test_what_cannot_be_deployed_is_refused(name: str, changes: Table, said: str) -> None:
    assert said in refusal(stage(name, **changes))


def test_all_problems_are_told_at_once() -> None:
    said = refusal(stage("production", region="x", model__provider="y", limits__request_burst=-1))

    assert said.count("\n  - ") == 3


def test_a_subnet_is_needed_for_each_zone() -> None:
    table = stage(
        "production",
        network__vpc_id="vpc-1",
        network__availability_zones=["eu-central-1a", "eu-central-1b"],
        network__private_subnet_ids=["subnet-1", "subnet-2", "subnet-3"],
    )

    assert "must name one subnet a zone, got 3 for 2 zones" in refusal(table)


def test_an_existing_network_is_taken_as_given() -> None:
    table = stage(
        "production",
        network__vpc_id="vpc-1",
        network__availability_zones=["eu-central-1a", "eu-central-1b"],
        network__private_subnet_ids=["subnet-1", "subnet-2"],
    )

    database = parse(table, source="test").database

    assert isinstance(database, AuroraDatabase)
    assert isinstance(database.network, ExistingNetwork)


OWN = "111122223333"
TOPIC = f"arn:aws:sns:eu-central-1:{OWN}:operations"


@pytest.mark.parametrize(
    ("account", "topic", "said"),
    [
        pytest.param(
            "999988887777",
            TOPIC,
            f"must be a topic of account 999988887777, got one of {OWN}",
            marks=pytest.mark.req("A-ALARM-05"),
        ),
        pytest.param(
            None, TOPIC, "alarms.alarm_sns_topic_arn: needs `account`", marks=pytest.mark.req("A-ALARM-05")
        ),
        (
            OWN,
            TOPIC.replace("eu-central-1", "us-east-1"),
            "must be a topic of the stage's region, got one of",
        ),
        (OWN, f"{TOPIC}:0e1f", "alarms.alarm_sns_topic_arn: must be the complete ARN of an SNS topic"),
        (OWN, "operations", "alarms.alarm_sns_topic_arn: must be the complete ARN of an SNS topic"),
    ],
)
def test_alarms_go_to_no_other_account_s_topic(account: str | None, topic: str, said: str) -> None:
    assert said in refusal(stage("production", account=account, alarms__alarm_sns_topic_arn=topic))


@pytest.mark.req("A-COST-04")
@pytest.mark.parametrize(
    "topic",
    [
        f"arn:aws:sns:us-east-1:{OWN}:costs:5f7b1c9e-0000-4000-8000-000000000000",  # a subscription
        f"arn:aws:sns:eu-central-1:{OWN}:costs",
        "arn:aws:sns:us-east-1:costs",
        f"arn:aws:sqs:us-east-1:{OWN}:costs",
        "costs",
    ],
)
def test_the_cost_alarm_takes_a_complete_topic_of_the_billing_region_only(topic: str) -> None:
    said = refusal(stage("production", alarms__cost_alarm_sns_topic_arn=topic))

    assert "alarms.cost_alarm_sns_topic_arn: must be the complete ARN of an SNS topic in us-east-1" in said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"alarms__bedrock_monthly_cost_threshold": -1}, "bedrock_monthly_cost_threshold: must be a whole"),
        ({"alarms__cost_alarm_emails": ["ops"]}, "cost_alarm_emails: must hold e-mail addresses, got 'ops'"),
        ({"alarms__colour": "red"}, "alarms.colour: is not a setting here"),
    ],
)
def test_an_alarm_that_cannot_be_is_refused(changes: Table, said: str) -> None:
    assert said in refusal(stage("production", **changes))


@pytest.mark.req("A-COST-02", "A-COST-03")
def test_by_default_a_month_at_bedrock_is_news_at_500_dollars_and_nobody_s() -> None:
    alarms = parse(stage("production"), source="test").alarms

    assert alarms == AlarmsConfig(
        topic_arn=None,
        cost=CostAlarmConfig(threshold_usd=500, emails=(), topic_arn=None),
        retrieved_characters=5_000_000,
    )


@pytest.mark.req("A-COST-02")
def test_a_threshold_of_nothing_watches_no_cost_and_neither_does_the_local_stage() -> None:
    off = stage("production", alarms__bedrock_monthly_cost_threshold=0)

    assert parse(off, source="test").alarms.cost is None
    assert parse(stage("local"), source="test").alarms.cost is None


def test_a_database_may_pause_and_a_network_is_new_by_default() -> None:
    database = parse(stage("production", database__min_capacity=0, network=None), source="test").database

    assert isinstance(database, AuroraDatabase)
    assert database.min_capacity == 0
    assert isinstance(database.network, NewNetwork)


def test_overrides_are_laid_over_a_stage_table_by_table(tmp_path: Path) -> None:
    overrides = tmp_path / "overrides.toml"
    overrides.write_text('[database]\nport = 5555\nowner_password = "x"\n')

    database = load(context(stage="local", overrides=str(overrides))).database

    assert isinstance(database, DatabaseAddress)
    assert (database.port, database.owner_username) == (5555, "equerry_owner")


def test_an_unknown_stage_names_the_known_ones() -> None:
    with pytest.raises(ConfigurationRefused, match="stages: local, production"):
        load(context(stage="staging"))


def test_a_file_that_is_not_there_or_not_toml_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("= 3")

    with pytest.raises(ConfigurationRefused, match="No such file"):
        load(context(config=str(tmp_path / "absent.toml")))
    with pytest.raises(ConfigurationRefused, match="is not TOML"):
        load(context(config=str(broken)))
