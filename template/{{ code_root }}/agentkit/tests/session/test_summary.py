from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from ...errors import AgentError, ConfigError
from ...messages import Image, Message, Text, ToolCall, ToolResult
from ...session.seal import is_sendable
from ...session.summary import MARK, LlmSummaryGenerator, SummarizingHistoryCompactor
from .conversations import (
    assistant,
    calls,
    recording_logger,
    results,
    roles,
    system,
    user,
    weight,
)

pytestmark = pytest.mark.checklist("compactor")


class Summaries:
    """Answers with the given texts or errors in order, the last one again and again."""

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)
        self.seen: list[list[Message]] = []

    async def generate_summary(self, messages: Sequence[Message]) -> Message:
        self.seen.append(list(messages))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return Message.assistant(answer)


def exchange(name: str, size: int = 100) -> list[Message]:
    return [user(f"q-{name} ".ljust(size, "q")), assistant(f"a-{name} ".ljust(size, "a"))]


def history_of(*names: str) -> list[Message]:
    return [system(), *(m for name in names for m in exchange(name)), user("now")]


async def test_under_the_threshold_nothing_is_summarised() -> None:
    """A token counts four symbols."""
    generator = Summaries("S")
    history = [user("q" * 40), assistant("a" * 40), user("r" * 40), assistant("b" * 40)]
    assert await SummarizingHistoryCompactor(1_000, 40, generator).compact(history) == history
    assert generator.seen == []


async def test_all_but_the_newest_exchange_becomes_a_summary() -> None:
    """System prompt first, then one marked user message, then what was kept, the same objects."""
    generator = Summaries("They spoke.")
    history = history_of("one", "two", "three")
    compacted = await SummarizingHistoryCompactor(1_000, 10, generator).compact(history)
    assert compacted[0] is history[0]
    assert compacted[1] == user(f"{MARK}\nThey spoke.")
    assert roles(compacted[2:3]) == ["assistant"]
    assert [id(m) for m in compacted[3:]] == [id(m) for m in history[5:]]
    assert is_sendable(compacted)


async def test_the_system_prompt_is_not_summarised() -> None:
    """The generator sees turns only."""
    generator = Summaries("S")
    history = history_of("one", "two")
    await SummarizingHistoryCompactor(1_000, 10, generator).compact(history)
    assert generator.seen == [history[1:3]]


async def test_the_input_is_not_changed() -> None:
    """A summary makes a new list."""
    history = history_of("one", "two")
    before = list(history)
    await SummarizingHistoryCompactor(1_000, 10, Summaries("S")).compact(history)
    assert history == before


async def test_the_first_question_is_kept_however_long_it_is() -> None:
    """With no assistant turn there is nothing older to summarise."""
    generator = Summaries("S")
    history = [user("a" * 300)]
    assert await SummarizingHistoryCompactor(1_000, 10, generator).compact(history) == history
    assert generator.seen == []


async def test_a_single_exchange_is_not_summarised() -> None:
    """Nothing is older than the exchange that the last answer belongs to."""
    generator = Summaries("S")
    history = [user("x" * 100), assistant("Response"), user("Final question")]
    assert await SummarizingHistoryCompactor(1_000, 10, generator).compact(history) == history
    assert generator.seen == []


async def test_a_tool_chain_is_never_split() -> None:
    """The cut stands before the user turn that opened the newest exchange."""
    generator = Summaries("S")
    newest = [user("q" * 100), calls("a"), results("a"), assistant("d"), user("e")]
    history = [*exchange("old"), *newest]
    compacted = await SummarizingHistoryCompactor(1_000, 10, generator).compact(history)
    assert generator.seen == [history[:2]]
    assert compacted[-5:] == newest


async def test_a_run_in_the_middle_of_its_steps_can_be_summarised() -> None:
    """What came before its question is summarised, its steps are kept."""
    generator = Summaries("S")
    run = [user("q"), calls("a"), results("a"), calls("b"), results("b")]
    history = [*exchange("old"), *run]
    compacted = await SummarizingHistoryCompactor(1_000, 10, generator).compact(history)
    assert compacted[-5:] == run
    assert generator.seen == [history[:2]]


async def test_an_earlier_summary_is_folded_into_the_new_one() -> None:
    """Neither summaries nor what follows them pile up."""
    generator = Summaries("first", "second")
    compactor = SummarizingHistoryCompactor(1_000, 10, generator)
    history = await compactor.compact(history_of("one", "two"))
    history = await compactor.compact([*history, assistant("x" * 100), user("and now")])
    assert generator.seen[1][0].text == f"{MARK}\nfirst"
    assert [m.text for m in history if m.text.startswith(MARK)] == [f"{MARK}\nsecond"]
    assert roles(history) == ["system", "user", "assistant", "user", "assistant", "user"]


async def test_a_summary_alone_is_not_summarised_again() -> None:
    """Compacting twice costs one model call."""
    generator = Summaries("S")
    compactor = SummarizingHistoryCompactor(1_000, 10, generator)
    once = await compactor.compact(history_of("one", "two"))
    assert await compactor.compact(once) == once
    assert len(generator.seen) == 1


async def test_a_kept_part_over_the_budget_is_trimmed() -> None:
    """The result is within the budget, with summary and newest user turn."""
    history = [*exchange("old"), user("c"), calls("a"), results("a", text="d" * 2_000), user("e")]
    compacted = await SummarizingHistoryCompactor(600, 10, Summaries("S")).compact(history)
    assert weight(compacted) <= 600
    assert compacted[0].text == f"{MARK}\nS"
    assert compacted[-1] == user("e")
    assert is_sendable(compacted)


async def test_a_kept_answer_over_the_budget_is_dropped() -> None:
    """An answer cannot be shortened, so it goes before the question that follows it."""
    history = [user("a" * 50), assistant("b" * 50), user("c"), assistant("d" * 2_000), user("e")]
    compacted = await SummarizingHistoryCompactor(200, 10, Summaries("S")).compact(history)
    assert weight(compacted) <= 200
    assert compacted[-1] == user("e")


async def test_the_budget_of_one_call_overrides_the_own_one() -> None:
    """After a context that was too long, less is kept."""
    compactor = SummarizingHistoryCompactor(10_000, 10, Summaries("S"))
    compacted = await compactor.compact(history_of("one", "two"), max_symbols=250)
    assert weight(compacted) <= 250


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (RuntimeError("model is down"), "RuntimeError: model is down"),
        ("  \n", "it is empty"),
        ("long " * 500, "it saves nothing"),
    ],
    ids=["fails", "empty", "useless"],
)
async def test_a_summary_that_does_not_help_costs_one_warning(
    answer: str | Exception, reason: str
) -> None:
    """The history is trimmed instead."""
    logger, log = recording_logger()
    compactor = SummarizingHistoryCompactor(350, 10, Summaries(answer), logger)
    history = history_of("one", "two", "three")
    compacted = await compactor.compact(history)
    assert compacted == [history[0], *history[-3:]]
    assert log.getvalue().count("no summary, trimming instead") == 1
    assert reason in log.getvalue()


@pytest.mark.virtual_time
async def test_a_summary_that_hangs_is_given_up() -> None:
    """After the timeout the history is trimmed."""

    class Hanging:
        async def generate_summary(self, messages: Sequence[Message]) -> Message:
            await asyncio.Event().wait()
            raise AssertionError

    logger, log = recording_logger()
    compactor = SummarizingHistoryCompactor(350, 10, Hanging(), logger, timeout=30.0)
    history = history_of("one", "two", "three")
    assert await compactor.compact(history) == [history[0], *history[-3:]]
    assert "it took longer than 30 s" in log.getvalue()


async def test_a_failing_summary_is_not_tried_again_in_the_same_turn() -> None:
    """The steps of a run do not wait for it one after the other; the next turn tries again."""
    logger, _ = recording_logger()
    generator = Summaries(RuntimeError("down"))
    compactor = SummarizingHistoryCompactor(10_000, 10, generator, logger)
    history = await compactor.compact(history_of("one", "two"))
    history = await compactor.compact([*history, calls("a"), results("a")])
    assert len(generator.seen) == 1
    await compactor.compact([*history, assistant("x"), user("next")])
    assert len(generator.seen) == 2


async def test_cancellation_passes() -> None:
    """A cancelled turn ends at once, it is not trimmed."""
    started = asyncio.Event()

    class Waiting:
        async def generate_summary(self, messages: Sequence[Message]) -> Message:
            started.set()
            await asyncio.Event().wait()
            raise AssertionError

    compactor = SummarizingHistoryCompactor(1_000, 10, Waiting())
    task = asyncio.create_task(compactor.compact(history_of("one", "two")))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("budget", "threshold", "timeout", "named"),
    [
        (0, 1, 1.0, "max_symbols"),
        (1, 0, 1.0, "summary_token_threshold"),
        (1, 1, 0.0, "timeout"),
        (1, 1, float("nan"), "timeout"),
    ],
)
def test_bad_settings_are_refused(budget: int, threshold: int, timeout: float, named: str) -> None:
    """The error names the setting."""
    with pytest.raises(ConfigError, match=named):
        SummarizingHistoryCompactor(budget, threshold, Summaries("S"), timeout=timeout)


@dataclass
class Answered:
    text: str


class Model:
    """Records what it is asked."""

    def __init__(self, text: str = " The summary. ") -> None:
        self.text = text
        self.asked: list[tuple[list[Message], dict[str, Any]]] = []

    async def __call__(self, messages: list[Message], **named: Any) -> Answered:
        self.asked.append((messages, named))
        return Answered(self.text)


async def test_the_model_reads_a_transcript() -> None:
    """Turns, calls and results are text, so no pairing can break and no tool is offered."""
    model = Model()
    history = [
        user("Say hi to Ann."),
        Message("assistant", (Text("I try."), ToolCall("a", "greet", {"who": "Ann"}))),
        Message("tool", (ToolResult("a", "greet", (Text("no mouth"),), is_error=True),)),
        Message("user", (Image("image/png", "aGk="),)),
    ]
    summary = await LlmSummaryGenerator(model).generate_summary(history)
    assert summary.text == "The summary."
    messages, named = model.asked[0]
    assert named == {"identifier": "summary", "stage_name": "summary"}
    assert roles(messages) == ["system", "user"]
    assert messages[1].text == (
        "<conversation>\nuser: Say hi to Ann.\n\nassistant: I try.\n\n"
        'assistant called greet with {"who":"Ann"}\n\ngreet failed: no mouth\n\n'
        "user: [image]\n</conversation>"
    )


async def test_a_transcript_too_long_is_shortened() -> None:
    """The summary's model has a context window too."""
    model = Model()
    history = [user("word " * 5_000), calls("a"), results("a", text="x" * 50_000), user("end")]
    await LlmSummaryGenerator(model, max_symbols=2_000).generate_summary(history)
    assert weight(model.asked[0][0][1:]) < 2_200
    assert model.asked[0][0][1].text.endswith("user: end\n</conversation>")


async def test_an_earlier_summary_reaches_the_model_whole() -> None:
    """It is all that is left of the turns it stands for."""
    model = Model()
    earlier = user(f"{MARK}\n" + "fact " * 2_000)
    await LlmSummaryGenerator(model).generate_summary([earlier])
    assert earlier.text in model.asked[0][0][1].text


async def test_an_empty_summary_is_an_error() -> None:
    """It is not passed off as a summary."""
    with pytest.raises(AgentError, match="no summary"):
        await LlmSummaryGenerator(Model(" \n")).generate_summary([user("q")])


async def test_an_error_of_the_model_is_not_hidden() -> None:
    """The compactor decides what follows from it."""

    async def fail(messages: list[Message], /, *, identifier: str, stage_name: str) -> Answered:
        raise RuntimeError("down")

    with pytest.raises(RuntimeError, match="down"):
        await LlmSummaryGenerator(fail).generate_summary([user("q")])
