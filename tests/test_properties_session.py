"""Properties of sealing and compaction: they hold for any history and any budget."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.messages import Image, Message, Text, Thinking, ToolCall, ToolResult
from agentkit.observability.logger import Logger
from agentkit.session.compactor import SimpleHistoryCompactor
from agentkit.session.seal import OPENING, seal
from agentkit.session.store import Compaction, Row, row_from_json, row_to_json
from agentkit.session.summary import SummarizingHistoryCompactor

ANY_MACHINE = settings(deadline=None)  # a slow machine is no failure

ids = st.sampled_from(["a", "b", "0"])  # few, so that they repeat
texts = st.one_of(
    st.sampled_from(["", " \n", "word"]),
    st.integers(0, 900).map(lambda length: "x" * length),
    st.text(max_size=5),
)
text_parts = texts.map(Text)
images = st.just(Image("image/png", "aGk="))
thoughts = st.builds(Thinking, texts, st.just({"anthropic": "signature"}))
calls = st.builds(ToolCall, ids, st.just("t"), st.dictionaries(st.just("k"), texts, max_size=1))
contents = st.lists(st.one_of(text_parts, images), max_size=2).map(tuple)
results = st.builds(ToolResult, ids, st.just("t"), contents)
system_messages = texts.map(Message.system)
user_messages = st.lists(st.one_of(text_parts, images), max_size=2).map(
    lambda parts: Message("user", tuple(parts))
)
assistant_messages = st.lists(st.one_of(text_parts, thoughts, calls), max_size=3).map(
    lambda parts: Message("assistant", tuple(parts))
)
tool_messages = st.lists(results, max_size=3).map(lambda parts: Message("tool", tuple(parts)))


@st.composite
def exchanges(draw: st.DrawFn) -> list[Message]:
    """A question, steps whose calls are answered, and perhaps an answer."""
    messages = [draw(user_messages.filter(lambda message: bool(message.parts)))]
    for _ in range(draw(st.integers(0, 3))):
        made = draw(st.lists(calls, min_size=1, max_size=3))
        messages.append(Message("assistant", tuple(made)))
        answers = [ToolResult(call.id, call.name, draw(contents)) for call in made]
        messages.append(Message("tool", tuple(answers)))
    if draw(st.booleans()):
        messages.append(Message.assistant(draw(texts)))
    return messages


messy = st.lists(
    st.one_of(system_messages, user_messages, assistant_messages, tool_messages), max_size=12
)
orderly = st.lists(exchanges(), max_size=6).map(lambda parts: [m for part in parts for m in part])
histories = st.builds(
    lambda prompt, head, body: prompt + head + body,
    st.lists(system_messages, max_size=1),
    orderly,
    st.one_of(orderly, messy),
)
budgets = st.one_of(st.integers(1, 100), st.integers(1, 20_000))


def assert_sendable(messages: Sequence[Message]) -> None:
    """Read a list the way the strictest providers do."""
    body = list(messages)
    while body and body[0].role == "system":
        body.pop(0)
    assert not body or body[0].role == "user"
    for before, message in zip([None, *body], body, strict=False):
        assert message.parts
        assert message.role != "system"
        assert (
            message.role not in ("user", "assistant") or not before or before.role != message.role
        )
        asked = [call.id for call in before.tool_calls] if before else []
        answered = [result.call_id for result in message.tool_results]
        assert asked == answered
        assert (message.role == "tool") == bool(asked)
        if message.role == "assistant":
            assert message.tool_calls or any(
                isinstance(part, Image) or (isinstance(part, Text) and part.text.strip())
                for part in message.parts
            )
    assert not body or not body[-1].tool_calls


def newest_user(messages: Sequence[Message]) -> Message | None:
    return next((m for m in reversed(messages) if m.role == "user" and m.parts), None)


def weight(messages: Sequence[Message]) -> int:
    return sum(message.weight for message in messages)


def compact(messages: Sequence[Message], budget: int) -> list[Message]:
    quiet = Logger("test", stream=io.StringIO())
    return asyncio.run(SimpleHistoryCompactor(budget, quiet).compact(messages))


@ANY_MACHINE
@given(histories)
def test_any_history_can_be_sealed(history: list[Message]) -> None:
    """The sealed list is sendable, and sealing it again returns the same objects."""
    sealed = seal(history)
    assert_sendable(sealed)
    assert list(map(id, seal(sealed))) == list(map(id, sealed))


@ANY_MACHINE
@given(histories)
def test_sealing_loses_no_word_and_no_call(history: list[Message]) -> None:
    """Whatever the user said and the model asked for is still there, in its order."""

    def said(messages: list[Message]) -> list[object]:
        parts = [(m.role, part) for m in messages for part in m.parts if m is not OPENING]
        words = [(r, p) for r, p in parts if isinstance(p, Text) and p.text.strip()]
        return [item for item in words if item[0] == "user"] + [
            part for _, part in parts if isinstance(part, ToolCall)
        ]

    assert said(seal(history)) == said(history)


@settings(ANY_MACHINE, max_examples=150)
@given(histories, budgets)
def test_compaction_is_sendable_idempotent_and_keeps_what_matters(
    history: list[Message], budget: int
) -> None:
    """For any history and budget: sendable, stable, never larger, prompt and newest turn kept."""
    before = list(history)
    compacted = compact(history, budget)
    assert_sendable(compacted)
    assert compact(compacted, budget) == compacted
    assert weight(compacted) <= max(weight(seal(history)), weight([OPENING]))
    assert [m for m in compacted if m.role == "system"] == [
        m for m in history if m.role == "system"
    ]
    newest, kept = newest_user(history), newest_user(compacted)
    if newest:
        assert kept is not None
        assert kept.parts[-len(newest.parts) :] == newest.parts
    assert list(map(id, history)) == list(map(id, before))


@settings(ANY_MACHINE, max_examples=150)
@given(histories, budgets)
def test_the_budget_is_exceeded_only_by_what_must_stay(history: list[Message], budget: int) -> None:
    """Over the budget there is only the prompt, the newest user turn, and a step in progress."""
    compacted = compact(history, budget)
    if weight(compacted) > budget:
        body = [message for message in compacted if message.role != "system"]
        assert [m.role for m in body] in ([], ["user"], ["user", "assistant", "tool"])


@ANY_MACHINE
@given(orderly, budgets)
def test_a_kept_message_is_the_same_object_unless_it_was_shortened(
    history: list[Message], budget: int
) -> None:
    """Compaction of an orderly history makes no new message but shortened results."""
    sealed = seal(history)
    known = set(map(id, sealed))
    assert all(id(m) in known for m in compact(sealed, budget) if m.role != "tool")


@ANY_MACHINE
@given(orderly, st.integers(100, 5_000))
def test_a_growing_list_is_compacted_as_a_fresh_one(history: list[Message], budget: int) -> None:
    """What a compactor remembers of the last list never changes its answer."""
    grown = SimpleHistoryCompactor(budget, Logger("test", stream=io.StringIO()))

    async def grow() -> None:
        for end in range(len(history) + 1):
            compacted = await grown.compact(history[:end])
            assert compacted == await SimpleHistoryCompactor(
                budget, Logger("test", stream=io.StringIO())
            ).compact(history[:end])

    asyncio.run(grow())


class ShortSummary:
    async def generate_summary(self, messages: Sequence[Message]) -> Message:
        return Message.assistant("short")


@settings(ANY_MACHINE, max_examples=100)
@given(histories, budgets, st.integers(1, 500))
def test_summaries_are_sendable_stable_and_never_larger(
    history: list[Message], budget: int, threshold: int
) -> None:
    """Summarised or trimmed: the same promises hold."""
    quiet = Logger("test", stream=io.StringIO())

    async def compact_twice() -> tuple[list[Message], list[Message]]:
        compactor = SummarizingHistoryCompactor(budget, threshold, ShortSummary(), quiet)
        once = await compactor.compact(history)
        return once, await compactor.compact(once)

    once, twice = asyncio.run(compact_twice())
    assert_sendable(once)
    assert once == twice
    assert weight(once) <= max(weight(seal(history)), weight([OPENING]))
    assert [m for m in once if m.role == "system"] == [m for m in history if m.role == "system"]


@ANY_MACHINE
@given(histories)
def test_rows_survive_the_store(history: list[Message]) -> None:
    """Messages and compactions come back equal, and as the same bytes."""
    rows: list[Row] = [*history, Compaction(tuple(history))]
    for row in rows:
        text = row_to_json(row)
        assert row_from_json(text) == row
        assert row_to_json(row_from_json(text)) == text
