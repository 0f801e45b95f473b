"""Writes `endpoints.json`: what a client of the local stack needs, from what was deployed."""

import json
from urllib.parse import quote

from local.aws import Session
from local.deploy import load_outputs
from local.files import write_json
from local.places import Places
from local.tokens import build_mint, load_people


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


def _find_database_url(places: Places, secret_arn: str) -> str:
    text = Session(places).secrets.get_secret_value(SecretId=secret_arn)["SecretString"]
    secret = json.loads(text)
    password = quote(secret["password"], safe="")
    return (
        f"postgresql://{secret['username']}:{password}@{secret['host']}:{secret['port']}/{secret['dbname']}"
    )
