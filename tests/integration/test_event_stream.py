"""A run is read to its end as server-sent events, through the gateway."""

import json

import httpx
import pytest

from local.cli.api import PREFIX, TIMEOUT, Api
from tests.deployed import start

pytestmark = pytest.mark.stack


def test_a_reader_without_a_socket_comes_back_until_it_has_the_whole_run(ada: Api) -> None:
    _, run_id = start(ada, "How long does the mirror of the Aldous telescope have to cool?")
    identity = {**ada.target.headers, "Authorization": f"Bearer {ada.target.token}"}
    events: list[dict[str, object]] = []
    last_id = "0"

    with httpx.Client(headers=identity, timeout=TIMEOUT, verify=ada.target.trust or True) as client:
        for _ in range(60):
            address = f"{ada.target.url}{PREFIX}/runs/{run_id}/events"
            answer = client.get(address, headers={"Last-Event-ID": last_id})
            if answer.status_code == 204:
                break
            assert answer.status_code == 200, answer.text
            assert answer.headers["content-type"].startswith("text/event-stream")
            assert answer.headers["cache-control"] == "no-store"
            for line in answer.text.splitlines():
                field, _, rest = line.partition(": ")
                last_id = rest if field == "id" else last_id
                if field == "data":
                    events.append(json.loads(rest))

    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["type"] == "done"
    assert events == ada.get(f"/runs/{run_id}/envelopes", after=0)["envelopes"]
