"""Conversations on the deployed stack: paged, and put away."""

import pytest

from local.cli.api import Api, ApiRefused
from tests.deployed import start

pytestmark = pytest.mark.stack
P, E = "0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7"


@pytest.mark.req("A-CONV-04", "A-CONV-05", "A-CONV-07", "A-CONV-08", "A-CONV-12", "A-CONV-13")
def test_a_conversation_from_its_page_to_the_archive(ada: Api) -> None:
    context = {"route": f"/projects/{P}/estimates/{E}/lines"}
    made = [ada.post("/conversations", {"context": context, "about": "7"}) for _ in range(3)]
    assert made[0]["context"]["ids"] == {"projectId": P, "estimateId": E}

    first = ada.get("/conversations", limit=2)
    second = ada.get("/conversations", limit=2, cursor=first["cursor"])
    seen = [each["conversationId"] for each in first["conversations"] + second["conversations"]]
    assert seen[:3] == [each["conversationId"] for each in reversed(made)]

    ada.delete(f"/conversations/{seen[0]}")
    listed = [each["conversationId"] for each in ada.get("/conversations")["conversations"]]
    assert seen[0] not in listed
    assert ada.get(f"/conversations/{seen[0]}")["state"] == "archived"
    with pytest.raises(ApiRefused) as refused:
        start(ada, "And now?", seen[0])
    assert (refused.value.status, refused.value.code) == (409, "conversation_archived")
