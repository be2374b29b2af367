"""The page: how it is served, and what its files must never hold. No browser here."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from ...errors import ConfigError
from ...observability.run_context import RunContext
from ...server import ServerSettings, page
from ...server.page import STATIC, TYPES, page_router
from .serving import TOKENS, client, running, scripted

FILES = {path.name: path.read_text(encoding="utf-8") for path in sorted(STATIC.iterdir())}
SCRIPTS = [name for name in FILES if name.endswith(".js")]
HTML = FILES["index.html"]
IDS = re.findall(r'\bid="([^"]+)"', HTML)


@pytest.fixture
async def http(ctx: RunContext) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a server that wants tokens, and has none."""
    async with running(scripted(ctx), ServerSettings(TOKENS)) as app, client(app) as http:
        yield http


async def test_the_page_is_served_at_the_root(http: httpx2.AsyncClient) -> None:
    """Without a token, since the page is where a user enters it."""
    reply = await http.get("/")
    assert (reply.status_code, reply.text) == (200, HTML)
    assert reply.headers["Content-Type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize("path", ["/", "/static/page.js"])
async def test_the_page_may_load_only_its_own_files(http: httpx2.AsyncClient, path: str) -> None:
    """The policy allows no inline script, no other origin and no frame."""
    headers = (await http.get(path)).headers
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
    assert "frame-ancestors 'none'" in policy
    assert not re.search("unsafe|http|[*]", policy)
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("name", FILES)
async def test_every_file_is_served_as_what_it_is(http: httpx2.AsyncClient, name: str) -> None:
    """A file has the media type of its suffix; a browser refuses scripts that lack theirs."""
    reply = await http.get(f"/static/{name}")
    assert reply.text == FILES[name]
    assert reply.headers["Content-Type"].startswith(TYPES[Path(name).suffix])


@pytest.mark.parametrize("name", ["missing.js", "..%2Fpage.py", "%2e%2e/page.py", "..%5Cpage.py"])
async def test_nothing_else_is_served(http: httpx2.AsyncClient, name: str) -> None:
    """A name that is none of the page's files, or that leads out of their folder, is not found."""
    assert (await http.get(f"/static/{name}")).status_code == 404


async def test_a_file_that_did_not_change_is_not_sent_again(http: httpx2.AsyncClient) -> None:
    """A browser that has the file is told so."""
    tag = (await http.get("/")).headers["ETag"]
    reply = await http.get("/", headers={"If-None-Match": tag})
    assert (reply.status_code, reply.content) == (304, b"")


def test_files_that_were_not_installed_are_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build that left them out is told how to add them."""
    monkeypatch.setattr(page, "STATIC", tmp_path)
    with pytest.raises(ConfigError, match="package-data"):
        page_router()


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_turn_no_text_into_markup_or_code(name: str) -> None:
    """None of the ways by which a browser parses a text as HTML or as a script is used."""
    ways = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|setHTML|srcdoc|"
        r"createContextualFragment|\beval\(|\bFunction\(|javascript:"
    )
    assert re.search(ways, FILES[name]) is None


@pytest.mark.parametrize("name", FILES)
def test_files_refer_to_nothing_outside(name: str) -> None:
    """There is no address of another host; the name of SVG's vocabulary is none."""
    text = FILES[name].replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert re.search(r"https?:|[\"'(]//|@import|url\(", text) is None


def test_the_page_has_no_inline_script_or_style() -> None:
    """The policy would block it."""
    assert re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=", HTML) is None


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_find_what_they_ask_for(name: str) -> None:
    """Each id and each module that a script names exists."""
    assert set(re.findall(r'\b(?:byId|mark)\("([^"]+)"', FILES[name])) <= set(IDS)
    assert set(re.findall(r'from "\./([^"]+)"', FILES[name])) <= set(FILES)


def test_the_page_finds_what_it_refers_to() -> None:
    """Ids are unique, labels and descriptions name one, and linked files exist."""
    assert len(IDS) == len(set(IDS))
    named = re.findall(r'(?:aria-labelledby|aria-describedby|aria-controls|for)="([^"]+)"', HTML)
    assert set(named) <= set(IDS)
    assert set(re.findall(r'="static/([^"]+)"', HTML)) <= set(FILES)


def test_files_are_short() -> None:
    """No file is longer than what can be read in one go."""
    assert {name for name, text in FILES.items() if len(text.splitlines()) > 250} == set()
