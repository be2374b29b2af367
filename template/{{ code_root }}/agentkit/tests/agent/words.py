"""What tests of the agent share: a tool, the strictest server, and short ways to look at things."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...messages import Message
from ...tools.tool import tool
from ..fake_chat import FakeChat, Rules

STRICT = Rules(alternation=True)
WORDS = {"ubiquitous": "everywhere at once"}
LOOK_UP = ("get_word", {"word": "ubiquitous"})
KEY = "?apiKey=sk-test-0123456789"


@tool
async def get_word(word: str) -> dict[str, str]:
    """Look a word up."""
    return {"word": word, "meaning": WORDS[word]}


def roles(messages: Sequence[Message]) -> list[str]:
    return [message.role for message in messages]


def sent(fake: FakeChat, number: int = -1) -> list[dict[str, Any]]:
    """Return the messages of a request: counted from 0, or the last one."""
    messages: list[dict[str, Any]] = fake.requests[number]["messages"]
    return messages


def sent_roles(fake: FakeChat, number: int = -1) -> list[str]:
    return [message["role"] for message in sent(fake, number)]


def texts(fake: FakeChat, number: int = -1) -> list[str]:
    """Return what a request's messages say, one text each."""
    return [message["content"] for message in sent(fake, number)]
