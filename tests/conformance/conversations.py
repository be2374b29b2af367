"""Scenarios in which nothing fails but tools: texts, calls, schemas, thinking, images, usage."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from agentkit.errors import ToolError
from agentkit.messages import Image, Message, Text, Thinking, Usage
from agentkit.tests.chat_replies import Answer, answer, calls, usage
from agentkit.tools.registry import ToolRegistry
from agentkit.tools.tool import tool

from .apis import Thought
from .scenarios import STREAMED, WHOLE, Check, Outcome, Scenario, Seen, taken

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
    "rkJggg=="
)
IMAGE = Image("image/png", PIXEL)
PICTURE = Message("user", (Text("What is this?"), IMAGE))


@tool
async def get_word(word: str) -> str:
    """Look up a word."""
    if word == "missing":
        raise ToolError("no such word")
    return f"{word} means everywhere"


@tool
async def draw(word: str) -> Image:
    """Draw a word."""
    return IMAGE


TOOLS = ToolRegistry([get_word, draw])


class Word(BaseModel):
    """An answer."""

    word: str
    level: int


RIGHT, WRONG = '{"word":"a","level":2}', '{"word":"a"}'


def look_up(*words: str) -> Answer:
    """Return a turn that asks for these words."""
    return calls(*(("get_word", {"word": word}) for word in words))


def streamed_in_pieces(seen: Seen) -> Iterator[str]:
    """The text came in several deltas."""
    if len(seen.deltas or ()) < 2:
        yield f"{len(seen.deltas or ())} deltas"


def result_sent_back(seen: Seen) -> Iterator[str]:
    """The model got what its tool found."""
    if "a means everywhere" not in seen.bodies[-1]:
        yield "the result was not sent"


def one_failed(seen: Seen) -> Iterator[str]:
    """Three results in the order of the calls, and the model was told which one failed."""
    marks = [result.is_error for result in seen.results[0].tool_results]
    if marks != [False, True, False]:
        yield f"failed: {marks}"
    texts = ("a means everywhere", "no such word", "c means everywhere")
    places = [seen.bodies[-1].find(text) for text in texts]
    if -1 in places or places != sorted(places):
        yield f"results at {places}"
    marked = seen.bodies[-1].replace(": ", ":").count(seen.api.failed)
    if marked != 1:
        yield f"{marked} results are marked as failed"


def typed(seen: Seen) -> Iterator[str]:
    """The answer is a value, and corrections are not in the history."""
    result = seen.results[0]
    if result.result != Word(word="a", level=2):
        yield f"result {result.result!r}"
    if [message.text for message in result.new_messages] != [RIGHT]:
        yield f"new messages {result.new_messages}"


def corrected(seen: Seen) -> Iterator[str]:
    """As `typed`, and the model was told which field was wrong."""
    yield from typed(seen)
    if "level" not in seen.bodies[1].partition("does not match")[2]:
        yield "the wrong field was not named"


def image_sent(seen: Seen) -> Iterator[str]:
    """The image went out, that of a tool as well."""
    counts = [body.count(PIXEL) for body in seen.bodies]
    if counts != [1, 2]:
        yield f"images sent: {counts}"


def thinking_returned(turns: int) -> Check:
    """Return a check that each thought is shown, and back at the server in the last request."""

    def check(seen: Seen) -> Iterator[str]:
        for turn in range(turns):
            first = seen.results[turn].steps[0].message.parts[0]
            if not isinstance(first, Thinking) or first.text != f"about {turn}":
                yield f"turn {turn + 1} begins with {first}"
            if seen.api.opaque(2 * turn + 1, f"about {turn}") not in seen.bodies[-1]:
                yield f"thinking of turn {turn + 1} was not sent back"

    return check


def _turns(count: int, title: str) -> Scenario:
    """Return a conversation in which every answer takes a thought, a call and its result."""
    says: list[Thought | Answer] = []
    for turn in range(count):
        says += [Thought(look_up(f"w{turn}"), f"about {turn}"), answer(f"Answer {turn}.")]
    return Scenario(
        title,
        tuple(says),
        Outcome(2 * count, f"Answer {count - 1}.", usage=taken(2)),
        tuple(Message.user(f"Question {turn}") for turn in range(count)),
        check=thinking_returned(count),
    )


CONVERSATIONS = (
    Scenario("plain", ("It means 🌍.",), Outcome(1, "It means 🌍.", usage=taken(1)), ways=WHOLE),
    Scenario(
        "stream",
        ("It means 🌍.",),
        Outcome(1, "It means 🌍.", usage=taken(1)),
        ways=STREAMED,
        check=streamed_in_pieces,
    ),
    Scenario(
        "one tool",
        (look_up("a"), "Done."),
        Outcome(2, "Done.", usage=taken(2)),
        check=result_sent_back,
    ),
    Scenario(
        "three parallel tools, one fails",
        (look_up("a", "missing", "c"), "Done."),
        Outcome(2, "Done.", usage=taken(2)),
        check=one_failed,
    ),
    Scenario(
        "schema, valid", (RIGHT,), Outcome(1, RIGHT, usage=taken(1)), schema=Word, check=typed
    ),
    Scenario(
        "schema, invalid, then corrected",
        (WRONG, RIGHT),
        Outcome(2, RIGHT, usage=taken(2)),
        schema=Word,
        check=corrected,
    ),
    _turns(1, "thinking and a tool"),
    _turns(2, "second turn after tools with thinking"),
    _turns(3, "third turn after tools with thinking"),
    _turns(10, "tenth turn after tools with thinking"),
    Scenario(
        "image, from the user and from a tool",
        (calls(("draw", {"word": "a"})), "A pixel."),
        Outcome(2, "A pixel.", usage=taken(2)),
        (PICTURE,),
        check=image_sent,
    ),
    Scenario(
        "usage, cached and reasoning",
        (answer("Hi.", usage=usage(100, 20, cached=60, reasoning=5)),),
        Outcome(1, "Hi.", usage=Usage(100, 20, cache_read_tokens=60, reasoning_tokens=5)),
    ),
    Scenario("usage missing", (answer("Hi.", usage=None),), Outcome(1, "Hi.")),
    Scenario(
        "cut off at the limit",
        (answer("It mea", finish_reason="length"),),
        Outcome(1, "It mea", "length", taken(1)),
    ),
)
