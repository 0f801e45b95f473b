"""A real browser at the deployed stack's chat page."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.deployed import Deployed
from tests.observatory import DOCUMENTS, write_documents

ARTEFACTS = Path(__file__).parents[2] / "test-artefacts"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE_MS = 60_000


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The machine's own Chromium, headless."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None and os.environ.get("CI") != "true":
        pytest.skip(f"no Chromium on this machine: none of {', '.join(_NAMES)} is on PATH")
    assert found, "CI must have a Chromium"
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(_FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def site(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The chat page's address, over the observatory's documents."""
    folder = tmp_path_factory.mktemp("observatory")
    write_documents(folder)
    outcome = deployed.index(folder, corpus="docs")
    assert outcome.failed == {}
    assert len(outcome.new) + len(outcome.unchanged) == len(DOCUMENTS)
    # Slowly enough that a test can look, reload, drop and stop in mid-answer.
    with deployed.slow_answers(word_delay_ms=60):
        yield deployed.chat_url


@pytest.fixture
def page(browser: Browser, site: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A fresh browser profile at the page; what the page logged as an error fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 860})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(site)
    yield page
    ARTEFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTEFACTS / f"{request.node.name}.png")
    context.close()
    assert errors == []
