"""Where a running local stack is, as `up` has written it into `endpoints.json`."""

from dataclasses import dataclass

from local.errors import NotRunning
from local.files import read_json
from local.places import Places


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """Where the stack's HTTP API is. `headers` go with every request: the emulator routes by Host."""

    http_url: str
    headers: dict[str, str]


def load_endpoints(places: Places) -> Endpoints:
    """Read the API's address.

    Raises:
        NotRunning: no stack has been started from this state folder.
    """
    content = read_json(places.endpoints)
    if not isinstance(content, dict):
        raise NotRunning("the local stack is not running", "make up")
    return Endpoints(http_url=content["httpUrl"], headers=content["httpHeaders"])
