"""The migrator as the deployment calls it: secrets in, roles and schema out, and again without effect."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.postgres.addresses import DatabaseAddress
from equerry.adapters.postgres.roles import PLATFORM, RUNTIME, ensure_roles
from equerry.runtime.migrator import migrate
from migrator import custom_resource
from moto import mock_aws

from local.postgres import EmbeddedPostgres
from tests.contract.databases import MIGRATIONS, PASSWORDS, Database, build_database

pytestmark = pytest.mark.postgres


@pytest.fixture
def fresh(postgres: EmbeddedPostgres) -> Iterator[Database]:
    """A database without a schema; the server's roles get their usual passwords back."""
    database = build_database(postgres, migrate=False)
    yield database
    with psycopg.connect(database.owner_url, autocommit=True) as owner:
        ensure_roles(owner, PASSWORDS)


@pytest.fixture
def _aws() -> Iterator[None]:
    with mock_aws():
        yield


def build_environment(owner: DatabaseAddress, passwords: dict[str, str]) -> dict[str, str]:
    """Put the three secrets where the deployment would, and return the function's environment."""
    secrets = AwsClients().secrets
    accounts = {"owner": (owner.username, owner.password)} | {
        name: (role, passwords[role]) for name, role in (("runtime", RUNTIME), ("platform", PLATFORM))
    }
    arns = {}
    for name, (username, password) in accounts.items():
        text = json.dumps(
            {
                "host": owner.host,
                "port": owner.port,
                "dbname": owner.dbname,
                "username": username,
                "password": password,
            }
        )
        arns[name] = secrets.create_secret(Name=name, SecretString=text)["ARN"]
    return {
        "EQUERRY_STAGE": "test",
        "MIGRATIONS_PATH": str(MIGRATIONS),
        **{f"{name.upper()}_SECRET_ARN": arn for name, arn in arns.items()},
    }


@pytest.mark.usefixtures("_aws")
def test_it_brings_an_empty_database_to_the_schema_and_then_does_nothing(fresh: Database) -> None:
    passwords = {RUNTIME: "rotated-1", PLATFORM: "rotated-2"}
    environ = build_environment(DatabaseAddress.from_url(fresh.owner_url), passwords)

    first, second = migrate(environ), migrate(environ)

    assert first == tuple(sorted(file.stem for file in MIGRATIONS.glob("*.sql")))
    assert second == ()
    for role, password in passwords.items():
        with psycopg.connect(
            host="127.0.0.1", port=fresh.server.port, dbname=fresh.name, user=role, password=password
        ) as session:
            assert session.execute("SELECT count(*) FROM assistant_runs").fetchone() == (0,)


@pytest.mark.usefixtures("_aws")
def test_a_failure_says_why_and_holds_no_secret(fresh: Database) -> None:
    owner = DatabaseAddress.from_url(fresh.owner_url.replace("equerry_owner:", "equerry_owner:wrong"))
    environ = build_environment(owner, {RUNTIME: "hidden-1", PLATFORM: "hidden-2"})

    with pytest.raises(psycopg.OperationalError, match="password authentication failed") as refused:
        migrate(environ)

    for secret in (owner.password, "hidden-1", "hidden-2"):
        assert secret not in str(refused.value)


@pytest.mark.usefixtures("_aws")
def test_a_migration_that_fails_fails_the_deployment_with_its_reason_and_can_be_mended(
    fresh: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = Path(shutil.copytree(MIGRATIONS, tmp_path / "migrations"))
    broken = copied / "9999.later.sql"
    broken.write_text("CREATE TABLE later (id int);\nALTER TABLE no_such_table ADD COLUMN x int;")
    environ = build_environment(
        DatabaseAddress.from_url(fresh.owner_url), {RUNTIME: "hidden-1", PLATFORM: "hidden-2"}
    )
    for name, text in (environ | {"MIGRATIONS_PATH": str(copied)}).items():
        monkeypatch.setenv(name, text)
    request = {"RequestType": "Create", "ResourceProperties": {"Migrations": {}, "Secrets": []}}

    failed = custom_resource.handle(request, None)
    broken.write_text("CREATE TABLE later (id int);")
    mended = custom_resource.handle(request, None)

    assert failed["Status"] == "FAILED"
    assert 'relation "no_such_table" does not exist' in failed["Reason"]
    assert not any(secret in failed["Reason"] for secret in ("hidden-1", "hidden-2"))
    assert (mended["Status"], mended["Data"]) == ("SUCCESS", {"Applied": "9999.later"})


@pytest.mark.usefixtures("_aws")
def test_an_edited_migration_fails_the_deployment_by_its_name(
    fresh: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = Path(shutil.copytree(MIGRATIONS, tmp_path / "migrations"))
    environ = build_environment(
        DatabaseAddress.from_url(fresh.owner_url), {RUNTIME: "hidden-1", PLATFORM: "hidden-2"}
    )
    for name, text in (environ | {"MIGRATIONS_PATH": str(copied)}).items():
        monkeypatch.setenv(name, text)
    request = {"RequestType": "Create", "ResourceProperties": {"Migrations": {}, "Secrets": []}}
    assert custom_resource.handle(request, None)["Status"] == "SUCCESS"
    first = min(copied.glob("*.sql"))

    first.write_text(first.read_text() + "\n-- a harmless remark\n")
    failed = custom_resource.handle(request, None)

    assert failed["Status"] == "FAILED"
    assert failed["Reason"].startswith(f"MigrationEdited: migration {first.stem} was edited")
