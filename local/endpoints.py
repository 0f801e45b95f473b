"""`endpoints.json`: what a client of the local stack needs, written by `up` and read by everything else."""

import json
from dataclasses import dataclass
from urllib.parse import quote

from local.aws import Session
from local.deploy import load_outputs
from local.errors import NotRunning
from local.files import read_json, write_json
from local.issuer import build_mint
from local.places import Places
from local.tokens import load_people


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """Where the stack's HTTP API is. `headers` go with every request: the emulator routes by Host."""

    http_url: str
    headers: dict[str, str]


def write_endpoints(places: Places) -> None:
    """Write the file for its owner alone: it holds tokens and the database's password."""
    outputs = load_outputs(places)
    mint = build_mint(places)
    tokens = [person.to_wire() | {"token": mint.sign(person)[0]} for person in load_people()]
    content = {
        "httpUrl": places.aws_url,
        "httpHeaders": {"Host": f"{outputs['HttpApiId']}.execute-api.localhost:{places.emulator}"},
        "webSocketUrl": outputs["WebSocketUrl"],
        "chatUrl": places.chat_url,
        "databaseUrl": _find_database_url(places, outputs["RuntimeSecretArn"]),
        "awsEndpointUrl": places.aws_url,
        "issuer": places.issuer_url,
        "tokens": tokens,
    }
    write_json(places.endpoints, content, private=True)


def load_endpoints(places: Places) -> Endpoints:
    """Read the API's address.

    Raises:
        NotRunning: no stack has been started from this state folder.
    """
    content = read_json(places.endpoints)
    if not isinstance(content, dict):
        raise NotRunning("the local stack is not running", "make up")
    return Endpoints(http_url=content["httpUrl"], headers=content["httpHeaders"])


def _find_database_url(places: Places, secret_arn: str) -> str:
    text = Session(places).secrets.get_secret_value(SecretId=secret_arn)["SecretString"]
    secret = json.loads(text)
    password = quote(secret["password"], safe="")
    return (
        f"postgresql://{secret['username']}:{password}@{secret['host']}:{secret['port']}/{secret['dbname']}"
    )
