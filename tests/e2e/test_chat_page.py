"""A person asks in a browser, and watches a grounded, cited answer arrive."""

import re

import pytest
from playwright.sync_api import Locator, Page, WebSocketRoute, expect

from tests.observatory import LONG_QUESTION

pytestmark = [pytest.mark.stack, pytest.mark.browser]

QUESTION = "When does the Larkhill observatory open its dome to visitors?"
ANSWERED = re.compile("Thursday evening from eight until eleven")


def ask(page: Page, question: str) -> Locator:
    """Put a question and return the answer that is arriving."""
    before = page.get_by_test_id("answer").count()
    page.get_by_test_id("question").fill(question)
    page.get_by_test_id("question").press("Enter")
    answer = page.get_by_test_id("answer").nth(before)
    expect(answer).to_be_visible()
    return answer


def wait_for_end(answer: Locator) -> str:
    """Return the answer's words once it is complete."""
    expect(answer).to_have_attribute("aria-busy", "false")
    return answer.get_by_test_id("answer-text").inner_text()


@pytest.mark.req("F-CORE-03")
def test_an_answer_streams_in_and_its_citation_opens_the_passage(page: Page) -> None:
    answer = ask(page, QUESTION)
    expect(page.get_by_test_id("status")).to_be_visible()
    expect(answer).to_contain_text(ANSWERED)
    wait_for_end(answer)

    answer.get_by_test_id("citation").first.click()

    passage = page.get_by_test_id("passage")
    expect(passage).to_contain_text("Groups of more than twelve people")
    expect(passage.get_by_test_id("passage-quote")).to_contain_text(ANSWERED)
    page.keyboard.press("Escape")
    expect(passage).to_be_hidden()


def test_everything_works_by_keyboard(page: Page) -> None:
    expect(page.get_by_test_id("question")).to_be_focused()
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    answer = page.get_by_test_id("answer")
    wait_for_end(answer)

    citation = answer.get_by_test_id("citation").first
    citation.focus()
    page.keyboard.press("Enter")

    expect(page.get_by_test_id("passage-quote")).to_be_visible()
    page.keyboard.press("Escape")
    expect(citation).to_be_focused()


def test_a_reload_in_mid_answer_loses_nothing(page: Page) -> None:
    answer = ask(page, LONG_QUESTION)
    expect(answer).to_contain_text(re.compile(r"\w{3}"))

    page.reload()

    answer = page.get_by_test_id("answer")
    text = wait_for_end(answer)
    page.reload()
    expect(page.get_by_test_id("answer")).to_have_count(1)
    assert wait_for_end(page.get_by_test_id("answer")) == text
    assert page.get_by_test_id("citation").count() > 0


@pytest.mark.req("F-CORE-02")
def test_a_dropped_socket_loses_nothing(page: Page, site: str) -> None:
    sockets: list[WebSocketRoute] = []

    def through(socket: WebSocketRoute) -> None:
        sockets.append(socket)
        server = socket.connect_to_server()
        socket.on_message(server.send)
        server.on_message(socket.send)

    page.route_web_socket(re.compile("ticket="), through)
    page.goto(site)
    page.reload()
    answer = ask(page, LONG_QUESTION)
    expect(answer).to_contain_text(re.compile(r"\w{3}"))

    sockets[-1].close(code=1001)

    text = wait_for_end(answer)
    assert len(sockets) > 1
    page.unroute_all()
    page.reload()
    assert wait_for_end(page.get_by_test_id("answer")) == text


def test_stop_ends_the_answer_and_the_next_question_is_taken_at_once(page: Page) -> None:
    answer = ask(page, LONG_QUESTION)
    page.get_by_test_id("stop").click()

    following = ask(page, QUESTION)

    expect(answer.get_by_test_id("ending")).to_be_visible()
    expect(following).to_contain_text(ANSWERED)


def test_a_second_tab_sees_the_same_answer(page: Page) -> None:
    answer = ask(page, LONG_QUESTION)
    second = page.context.new_page()
    second.goto(page.url)

    text = wait_for_end(answer)

    assert wait_for_end(second.get_by_test_id("answer")) == text


def test_another_organisation_learns_nothing(page: Page) -> None:
    wait_for_end(ask(page, QUESTION))
    mine = page.url.partition("#")[2]
    links = page.get_by_test_id("conversation-list").get_by_role("link")
    expect(links.and_(page.locator(f'[href$="{mine}"]'))).to_have_count(1)
    page.get_by_test_id("account").select_option("mira")
    expect(page.get_by_test_id("answer")).to_have_count(0)

    answer = ask(page, QUESTION)

    assert "Thursday" not in wait_for_end(answer)
    expect(answer.get_by_test_id("citation")).to_have_count(0)
    assert page.url.partition("#")[2] != mine
    expect(links.first).to_be_visible()
    expect(links.and_(page.locator(f'[href$="{mine}"]'))).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone(page: Page, scheme: str) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    answer = ask(page, QUESTION)
    wait_for_end(answer)

    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    answer.get_by_test_id("citation").first.click()
    expect(page.get_by_test_id("passage-quote")).to_be_in_viewport()
