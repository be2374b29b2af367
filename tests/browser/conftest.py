"""A browser and a server, one of each for all tests; without a browser the tests are skipped."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright

from agentkit import Agent, create_run_context
from agentkit.observability.logger import Logger
from agentkit.server import ServerSettings, create_app
from browser.script import PageModel, look_up, send_letter

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    "--disable-sync",
)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A browser without a window. Where `CHROMIUM` names one, it has to start."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"there is no browser: none of {', '.join(NAMES)} was found")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server whose agent is the scripted one."""
    yield from serve(tmp_path_factory.mktemp("debug"), ServerSettings())


@pytest.fixture(scope="package")
def locked_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that wants the token `open-sesame`."""
    tokens = ServerSettings({"open-sesame": None})
    yield from serve(tmp_path_factory.mktemp("debug"), tokens)


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """The page in a tab of its own, 1,000 pixels wide; what goes wrong in it fails the test."""
    yield from open_page(browser, address, 1000)


@pytest.fixture
def phone(browser: Browser, address: str) -> Iterator[Page]:
    """The page on a phone that is 360 pixels wide."""
    yield from open_page(browser, address, 360)


def open_page(browser: Browser, address: str, width: int) -> Iterator[Page]:
    """Yield the page at an address, and close it."""
    context = browser.new_context(viewport={"width": width, "height": 700}, locale="en-US")
    context.set_default_timeout(5_000)
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(address)
    yield page
    context.close()
    assert problems == []


def serve(debug_dir: Path, settings: ServerSettings) -> Iterator[str]:
    """Yield the address of a server that runs in a thread."""
    ctx = create_run_context(Logger("page", "error"), debug_dir)
    agent = Agent(PageModel(), ctx=ctx, tools=[look_up, send_letter])
    config = uvicorn.Config(create_app(agent, settings), log_level="error")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        server.should_exit = True
        thread.join()
