"""Conversations on the deployed stack: paged, put away, stopped and asked again at once."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from local.cli.api import Api, ApiRefused
from tests.deployed import Deployed, read_until, start, subscribe, wait_for_end
from tests.observatory import LONG_QUESTION

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


@pytest.mark.timeout(400)
def test_stop_in_one_tab_and_send_in_another_works_at_once(indexed: Deployed, ada: Api) -> None:
    with indexed.slow_answers(), indexed.api("ada") as other_tab:
        conversation, run_id = start(ada, LONG_QUESTION)
        with indexed.socket(ada) as socket:
            subscribe(socket, conversation, run_id)
            read_until(socket, "token")
            other_tab.post(f"/runs/{run_id}/cancel")
            _, following = start(ada, "What is forbidden inside the dome?", conversation)

        assert wait_for_end(ada, run_id)["stopReason"] == "cancelled"
    assert wait_for_end(ada, following)["stopReason"] == "end_turn"


@pytest.mark.timeout(400)
@pytest.mark.req("A-LEASE-01")
def test_of_questions_from_several_tabs_at_once_one_is_accepted(indexed: Deployed, ada: Api) -> None:
    conversation = ada.post("/conversations", {})["conversationId"]

    def send(_number: int) -> str:
        with indexed.api("ada") as tab:
            try:
                return str(start(tab, LONG_QUESTION, conversation)[1])
            except ApiRefused as refused:
                return refused.code

    # Slow enough that the turn of the first still lives when the gateway lets the last one in.
    with indexed.slow_answers(), ThreadPoolExecutor(3) as tabs:
        told = list(tabs.map(send, range(3)))
        assert told.count("turn_in_progress") == 2
        (run_id,) = [each for each in told if each != "turn_in_progress"]
        assert wait_for_end(ada, run_id)["stopReason"] == "end_turn"
