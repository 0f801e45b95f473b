from pathlib import Path

import jwt
import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from local.cli.main import app
from local.issuer import build_app
from local.keys import KeyRing
from local.memberships import FILE, Memberships
from local.tokens import AUDIENCE, Mint, load_people

ISSUER = "http://127.0.0.1:3308"
CHAT = "http://127.0.0.1:3307"
ADA = {"userId": "ada", "organisationId": "northwind", "role": "admin"}


@pytest.fixture
def mint(tmp_path: Path) -> Mint:
    return Mint(ISSUER, KeyRing(tmp_path / "keys"))


@pytest.fixture
def client(mint: Mint) -> TestClient:
    return TestClient(build_app(mint, load_people(), [CHAT]), base_url=ISSUER)


def verify(token: str, jwks: dict[str, list[dict[str, str]]]) -> dict[str, object]:
    kid = jwt.get_unverified_header(token)["kid"]
    key = next(key for key in jwks["keys"] if key["kid"] == kid)
    claims: dict[str, object] = jwt.decode(
        token, jwt.PyJWK(key), algorithms=["EdDSA"], audience=AUDIENCE, issuer=ISSUER
    )
    return claims


def test_a_demo_user_gets_a_token_that_the_key_set_verifies(client: TestClient) -> None:
    answer = client.post("/token", json=ADA)

    claims = verify(answer.json()["token"], client.get("/.well-known/jwks.json").json())
    assert claims["sub"] == "ada"
    assert (claims["typ"], claims["org"], claims["role"]) == ("user", "northwind", "admin")
    assert "scope" not in claims
    assert answer.json()["expiresAt"] == claims["exp"]
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "asked",
    [
        {"userId": "ada", "organisationId": "lakeside"},
        {"userId": "ben", "organisationId": "northwind", "role": "admin"},
        {"userId": "stranger", "organisationId": "northwind"},
        ["ada"],
    ],
)
def test_anybody_else_is_refused(client: TestClient, asked: object) -> None:
    assert client.post("/token", json=asked).status_code == 403


def test_a_body_that_is_no_json_is_refused(client: TestClient) -> None:
    assert client.post("/token", content=b"{").status_code == 403


def test_only_the_chat_page_may_read_a_token_from_another_origin(client: TestClient) -> None:
    ours = client.post("/token", json=ADA, headers={"Origin": CHAT})
    theirs = client.post("/token", json=ADA, headers={"Origin": "http://elsewhere.example"})

    assert ours.headers["access-control-allow-origin"] == CHAT
    assert "access-control-allow-origin" not in theirs.headers


def test_a_name_that_merely_resolves_to_this_machine_is_refused(client: TestClient) -> None:
    assert client.post("/token", json=ADA, headers={"Host": "rebound.example"}).status_code == 400


def test_a_rotation_breaks_no_token_in_use(mint: Mint, client: TestClient) -> None:
    old, _ = mint.sign(load_people()[0])
    mint.keys.rotate()
    new, _ = mint.sign(load_people()[0])

    jwks = client.get("/.well-known/jwks.json").json()
    assert verify(old, jwks)["sub"] == verify(new, jwks)["sub"] == "ada"
    assert jwt.get_unverified_header(old)["kid"] != jwt.get_unverified_header(new)["kid"]


def test_a_key_before_the_last_one_is_forgotten(mint: Mint) -> None:
    first = mint.keys.load_signing_key().kid
    mint.keys.rotate()
    mint.keys.rotate()

    assert first not in [key["kid"] for key in mint.keys.build_jwks()["keys"]]


def ask_directory(client: TestClient, organisation: str, user: str) -> tuple[int, object]:
    answer = client.get(f"/directory/organisations/{organisation}/users/{user}/projects")
    return answer.status_code, answer.json().get("projectIds")


def test_the_directory_tells_of_the_demo_users_projects_and_knows_nobody_else(client: TestClient) -> None:
    assert ask_directory(client, "northwind", "ada") == (200, ["apollo", "gaia"])
    assert ask_directory(client, "lakeside", "mira") == (200, [])
    assert ask_directory(client, "lakeside", "ada") == (404, None)


def test_who_joins_or_leaves_is_answered_so_at_the_next_question(client: TestClient, tmp_path: Path) -> None:
    memberships = Memberships(tmp_path / FILE)

    memberships.change_projects("northwind", "ada", leave=["apollo"])
    memberships.change_projects("northwind", "grace", join=["gaia", "apollo", "gaia"])
    assert ask_directory(client, "northwind", "ada") == (200, ["gaia"])
    assert ask_directory(client, "northwind", "grace") == (200, ["apollo", "gaia"])
    assert ask_directory(client, "lakeside", "grace") == (404, None)

    memberships.change_projects("northwind", "ada", join=["apollo"])
    memberships.change_projects("northwind", "grace", leave=["gaia", "apollo", "unheard-of"])
    assert ask_directory(client, "northwind", "ada") == (200, ["apollo", "gaia"])
    assert ask_directory(client, "northwind", "grace") == (200, [])


def test_the_command_line_changes_the_directory_and_a_token_may_join_a_project(
    client: TestClient, tmp_path: Path
) -> None:
    environment = {"EQUERRY_STATE_DIR": str(tmp_path)}

    def say(*words: str) -> str:
        done = CliRunner().invoke(app, words, env=environment)
        assert done.exit_code == 0, done.output
        return done.stdout

    say("token", "--user", "grace", "--org", "northwind", "--project", "apollo", "--project", "gaia")
    assert ask_directory(client, "northwind", "grace") == (200, ["apollo", "gaia"])
    say("token", "--user", "grace", "--org", "northwind")
    assert say("local", "projects", "grace", "--org", "northwind") == "apollo\ngaia\n"
    assert say("local", "projects", "grace", "--org", "northwind", "--leave", "apollo") == "gaia\n"
    assert ask_directory(client, "northwind", "grace") == (200, ["gaia"])


@pytest.mark.parametrize("name", ["a,b", "", "a/b", "ä"])
def test_a_project_that_no_directory_could_name_is_refused(tmp_path: Path, name: str) -> None:
    words = ["local", "projects", "grace", "--org", "northwind", "--join", name]

    done = CliRunner().invoke(app, words, env={"EQUERRY_STATE_DIR": str(tmp_path)})

    assert (done.exit_code, "--join" in done.stderr) == (2, True)
    assert not (tmp_path / FILE).exists()
