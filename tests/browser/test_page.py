"""The page as people use it: typing, reading, stopping, approving, looking back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from browser.conftest import open_page
from browser.script import BROKEN, HALF, MARKUP


def say(page: Page, text: str) -> None:
    """Type a message and send it with Enter."""
    page.get_by_label("Your message").fill(text)
    page.keyboard.press("Enter")


def answer(page: Page) -> Locator:
    """Return the last text that the agent, or before it answers the user, said."""
    return page.locator(".turn .text").last


def test_an_answer_is_shown_as_text(page: Page) -> None:
    """What looks like HTML is read, not run; tokens and money of the turn stand below."""
    say(page, "hello")
    expect(answer(page)).to_have_text(f"You said hello, {MARKUP}")
    expect(page.locator(".turn footer")).to_contain_text("1,200 in, 34 out tokens")
    expect(page.locator("main img, main b")).to_have_count(0)
    expect(page).to_have_title("Agent")


def test_an_answer_streams_and_can_be_stopped(page: Page) -> None:
    """Text is there before the answer is; Escape ends the turn, so that the next one can begin."""
    say(page, "slow")
    expect(page.get_by_text(HALF)).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".turn .note")).to_have_text("Stopped.")
    say(page, "go on")
    expect(answer(page)).to_contain_text("You said go on")


def test_a_retry_takes_back_what_was_said(page: Page) -> None:
    """The text of the call that failed is gone, and the reader learns why."""
    say(page, "fail")
    expect(answer(page)).to_have_text(f"You said fail, {MARKUP}")
    expect(page.get_by_text("the model is overloaded")).to_be_visible()
    expect(page.get_by_text("This is void.")).to_have_count(0)


def test_a_failure_is_shown_and_the_question_is_kept(page: Page) -> None:
    """What went wrong stands where the answer would, and what was asked is in the field again."""
    say(page, "break")
    expect(page.locator(".turn .alert")).to_contain_text(BROKEN)
    expect(page.get_by_label("Your message")).to_have_value("break")


def test_tools_and_thinking_are_folded(page: Page) -> None:
    """Each is a line; what a tool was given and what it said is inside."""
    say(page, "look")
    tool = page.locator("details.tool")
    expect(tool.locator(".state")).to_contain_text("done in")
    expect(tool.locator("pre").last).to_be_hidden()
    tool.locator("summary").click()
    expect(tool.locator("pre").first).to_contain_text('"word": "rain"')
    expect(tool.locator("pre").last).to_have_text(f"rain: {MARKUP}")
    expect(page.get_by_text("A tool will know.")).to_be_hidden()
    page.get_by_text("Thinking").click()
    expect(page.get_by_text("A tool will know.")).to_be_visible()


@pytest.mark.parametrize(
    ("button", "outcome"), [("Approve", "sent to Anna"), ("Deny", "did not approve")]
)
def test_a_tool_waits_for_approval(page: Page, button: str, outcome: str) -> None:
    """The arguments are shown first, and the tool does what was decided."""
    say(page, "send")
    question = page.get_by_role("group", name="Approval of send_letter")
    expect(question).to_contain_text('"to": "Anna"')
    question.get_by_role("button", name=button).click()
    expect(question).to_have_count(0)
    expect(answer(page)).to_contain_text(outcome)


def test_the_keyboard_is_enough(page: Page) -> None:
    """Shift and Enter begin a line, Enter sends, Tab reaches the approval, focus comes back."""
    field = page.get_by_label("Your message")
    expect(field).to_be_focused()
    page.keyboard.type("one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two")
    expect(field).to_have_value("one\ntwo")
    field.fill("send")
    page.keyboard.press("Enter")
    approve = page.get_by_role("button", name="Approve")
    expect(approve).to_be_visible()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    expect(approve).to_be_focused()
    page.keyboard.press("Enter")
    expect(field).to_be_focused()
    expect(answer(page)).to_contain_text("sent to Anna")


def test_screen_readers_hear_the_answer(page: Page) -> None:
    """A polite region says the whole answer once it is there."""
    say(page, "aloud")
    expect(page.get_by_role("status")).to_have_text(f"You said aloud, {MARKUP}")


def test_chats_are_listed_opened_and_deleted(page: Page) -> None:
    """A new chat appears at the side, is there again after a reload, and can be removed."""
    say(page, "remember this")
    entry = page.get_by_role("link", name="remember this")
    expect(entry).to_have_attribute("aria-current", "page")
    page.get_by_role("link", name="New chat").click()
    expect(page.locator(".turn")).to_have_count(0)
    entry.click()
    expect(answer(page)).to_contain_text("You said remember this")
    page.reload()
    expect(answer(page)).to_contain_text("You said remember this")
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete remember this").click()
    expect(entry).to_have_count(0)
    expect(page.locator(".turn")).to_have_count(0)


def test_an_answer_goes_on_while_another_chat_is_open(page: Page) -> None:
    """Leaving a chat does not stop its answer; coming back shows it, and its stop button."""
    say(page, "slow")
    expect(page.get_by_text(HALF)).to_be_visible()
    page.get_by_role("link", name="New chat").click()
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    page.go_back()
    expect(page.get_by_text(HALF)).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".turn .note")).to_have_text("Stopped.")


def test_a_run_is_a_timeline(page: Page) -> None:
    """From an answer to its run: calls and tools with tokens and time, and back to all runs."""
    say(page, "look")
    page.get_by_role("link", name="run", exact=True).click()
    expect(page.get_by_role("heading", name="look")).to_be_focused()
    expect(page.locator("#timeline .step-call")).to_have_count(2)
    expect(page.locator("#timeline .step-tool .title")).to_have_text("look_up")
    expect(page.locator("#timeline .step-call").first).to_contain_text("1,200 in, 34 out")
    page.get_by_role("link", name="All runs").click()
    expect(page.locator("#run-list a").first).to_contain_text("look")


def test_a_phone_needs_no_scrolling_sideways(phone: Page) -> None:
    """Chat, approval, drawer, runs and one run fit into 360 pixels."""
    say(phone, "look")
    expect(phone.locator(".turn footer")).to_be_visible()
    say(phone, "send")
    phone.get_by_role("button", name="Approve").click()
    expect(phone.locator(".turn footer")).to_have_count(2)
    assert_fits(phone)
    phone.get_by_role("button", name="Chats").click()
    expect(phone.get_by_role("link", name="New chat")).to_be_visible()
    assert_fits(phone)
    phone.keyboard.press("Escape")
    expect(phone.get_by_role("link", name="New chat")).to_be_hidden()
    phone.get_by_role("link", name="Runs").click()
    phone.locator("#run-list a").first.click()
    expect(phone.locator("#timeline li").first).to_be_visible()
    assert_fits(phone)


def assert_fits(page: Page) -> None:
    """Assert that no element reaches over the right edge, hidden or scrolled to."""
    wide = page.evaluate(
        "[...document.querySelectorAll('main *, aside *')]"
        ".filter(element => element.getBoundingClientRect().right > innerWidth)"
        ".filter(element => !element.closest('.preview, .title, .unseen')).length"
    )
    assert (wide, page.evaluate("document.scrollingElement.scrollWidth")) == (0, 360)


@pytest.fixture
def locked(browser: Browser, locked_address: str) -> Iterator[Page]:
    """The page of a server that wants a token."""
    yield from open_page(browser, locked_address, 1000)


def test_a_token_is_asked_for_and_kept(locked: Page) -> None:
    """A wrong one is refused and asked for again; the right one lasts as long as the tab."""
    dialog = locked.get_by_role("dialog", name="Access token")
    dialog.get_by_label("Token").fill("wrong")
    locked.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_be_visible()
    dialog.get_by_label("Token").fill("open-sesame")
    locked.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    locked.reload()
    say(locked, "hello")
    expect(answer(locked)).to_contain_text("You said hello")
    assert locked.evaluate("localStorage.length") == 0
