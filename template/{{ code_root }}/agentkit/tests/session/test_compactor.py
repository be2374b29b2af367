from __future__ import annotations

from typing import Any

import pytest

from ...errors import ConfigError
from ...messages import Image, Message, Text, ToolCall, ToolResult
from ...session.compactor import SimpleHistoryCompactor
from ...session.seal import is_sendable
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


def conversation(turns: int, size: int = 25) -> list[Message]:
    """Turns of a question and an answer, `size` symbols each."""
    pairs = [
        (user(f"q{n:04}".ljust(size)), assistant(f"a{n:04}".ljust(size))) for n in range(turns)
    ]
    return [message for pair in pairs for message in pair]


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "100", None])
def test_a_bad_budget_is_refused(value: Any) -> None:
    """The error names the setting, the value and what would be right."""
    with pytest.raises(ConfigError, match=r"max_symbols is .*: use a whole number, at least 1"):
        SimpleHistoryCompactor(value)


async def test_a_bad_budget_for_one_call_is_refused() -> None:
    """The override is checked like the budget itself."""
    with pytest.raises(ConfigError, match="max_symbols is 0"):
        await SimpleHistoryCompactor(100).compact([user("q")], max_symbols=0)


def test_the_unit_is_characters() -> None:
    """Text, arguments and results count by character, also beyond the basic plane; images 6,000."""
    compactor = SimpleHistoryCompactor(100)
    assert compactor.estimate_symbols(system("SYS")) == 3
    assert compactor.estimate_symbols(user("é😀")) == 2
    assert compactor.estimate_symbols(Message("user", (Image("image/png", "aGk="),))) == 6_000
    assert compactor.estimate_symbols(results("a", text="four")) == 4
    call = Message("assistant", (ToolCall("a", "get", {"k": "v"}),))
    assert compactor.estimate_symbols(call) == len('get{"k":"v"}')


async def test_a_history_within_the_budget_comes_back_equal_with_the_same_objects() -> None:
    """Where nothing has to change, nothing does."""
    history = [system(), *conversation(3)]
    compacted = await SimpleHistoryCompactor(1_000).compact(history)
    assert [id(message) for message in compacted] == [id(message) for message in history]


async def test_the_system_prompt_survives_trimming() -> None:
    """It stays in front, and the budget pays for it."""
    history = [system("SYS"), user("x" * 40), assistant("y" * 40), user("now")]
    compacted = await SimpleHistoryCompactor(50).compact(history)
    assert compacted == [system("SYS"), user("now")]


async def test_the_newest_user_turn_stays_even_over_budget() -> None:
    """It is never dropped or changed; that it does not fit is said once."""
    logger, log = recording_logger()
    history = [user("Very long message that exceeds limit"), assistant("Short"), user("x" * 20)]
    compacted = await SimpleHistoryCompactor(10, logger).compact(history)
    assert compacted == [user("x" * 20)]
    assert log.getvalue().count("history is 20 symbols, over its budget of 10") == 1
    assert log.getvalue().count("\n") == 1


async def test_a_long_conversation_keeps_prompt_and_newest_turn_within_the_budget() -> None:
    """A prompt of 200 symbols and 40 turns fit into 1,000: the oldest turns go."""
    history = [system("s" * 200), *conversation(40), user("now")]
    compacted = await SimpleHistoryCompactor(1_000).compact(history)
    assert compacted[0] is history[0]
    assert compacted[-1] is history[-1]
    assert roles(compacted)[1] == "user"
    assert weight(compacted) <= 1_000


async def test_what_is_kept_stays_the_same_objects() -> None:
    """Kept messages keep what was made of them."""
    history = [system(), *conversation(40), user("now")]
    compacted = await SimpleHistoryCompactor(500).compact(history)
    assert {id(message) for message in compacted} <= {id(message) for message in history}


async def test_the_input_is_not_changed() -> None:
    """Compaction makes a new list."""
    history = [system(), *conversation(40), user("now")]
    before = list(history)
    await SimpleHistoryCompactor(500).compact(history)
    assert history == before


async def test_compacting_twice_changes_nothing_more() -> None:
    """A compacted history is within the budget."""
    compactor = SimpleHistoryCompactor(1_000)
    once = await compactor.compact([system(), *conversation(60), user("now")])
    assert await compactor.compact(once) == once
    assert await SimpleHistoryCompactor(1_000).compact(once) == once


async def test_a_cut_leaves_room_for_many_turns() -> None:
    """It goes to three quarters of the budget, so that the beginning stays in providers' caches."""
    compactor = SimpleHistoryCompactor(1_000)
    history = await compactor.compact(conversation(21))
    assert 650 <= weight(history) <= 750
    first, changes = history[0], 0
    for number in range(20):
        history += [user(f"n{number:04}".ljust(25)), assistant("a" * 25)]
        history = await compactor.compact(history)
        changes += history[0] is not first
        first = history[0]
    assert changes <= 4


async def test_the_budget_of_one_call_overrides_the_own_one() -> None:
    """After a context that was too long, the requester asks for less."""
    compactor = SimpleHistoryCompactor(100_000)
    history = conversation(40)
    assert await compactor.compact(history) == history
    assert weight(await compactor.compact(history, max_symbols=400)) <= 400


async def test_a_call_goes_with_its_result() -> None:
    """Where the budget ends between the two, both go, and the list starts with a user turn."""
    history = [user("q" * 30), calls("a"), results("a"), assistant("done"), user("next")]
    compacted = await SimpleHistoryCompactor(20).compact(history)
    assert compacted == [user("next")]


async def test_one_open_call_of_two_is_answered() -> None:
    """No call is left without its result, and no result without its call."""
    history = [user("q"), calls("a", "b"), results("a"), assistant("ok")]
    compacted = await SimpleHistoryCompactor(1_000).compact(history)
    assert [result.call_id for result in compacted[2].tool_results] == ["a", "b"]
    assert is_sendable(compacted)


async def test_a_result_before_its_call_is_an_orphan() -> None:
    """It is not taken for the answer of the call that comes later."""
    history = [user("q"), results("a"), calls("a"), assistant("x")]
    compacted = await SimpleHistoryCompactor(1_000).compact(history)
    assert roles(compacted) == ["user", "assistant", "tool", "assistant"]
    assert compacted[2].tool_results[0].is_error


async def test_ids_that_repeat_are_paired_by_position() -> None:
    """The calls of a later turn do not claim the results of an earlier one."""
    history = [user("old" * 30), calls("0"), results("0"), user("new"), calls("0"), results("0")]
    compacted = await SimpleHistoryCompactor(50).compact(history)
    assert compacted == history[3:]


async def test_a_result_bigger_than_the_budget_is_shortened_in_its_middle() -> None:
    """Head and tail stay round a marker, and pair and user turn are kept."""
    history = [user("q"), calls("a"), results("a", text="H" + "x" * 50_000 + "T"), user("go on")]
    compacted = await SimpleHistoryCompactor(2_000).compact(history)
    text = compacted[2].tool_results[0].text
    assert roles(compacted) == ["user", "assistant", "tool", "user"]
    assert text.startswith("Hx")
    assert text.endswith("xT")
    assert "characters left out" in text
    assert weight(compacted) <= 2_000
    assert compacted[-1] is history[-1]


async def test_a_big_result_in_the_middle_of_a_run_is_shortened() -> None:
    """The step in progress is kept: the model has not seen its results yet."""
    history = [system(), user("q"), calls("a"), results("a", text="x" * 50_000)]
    compacted = await SimpleHistoryCompactor(2_000).compact(history)
    assert roles(compacted) == ["system", "user", "assistant", "tool"]
    assert weight(compacted) <= 2_000


async def test_several_big_results_of_one_step_share_the_room() -> None:
    """Parallel calls are all answered, each in part."""
    history = [user("q"), calls(*"abcde"), results(*"abcde", text="x" * 50_000)]
    compacted = await SimpleHistoryCompactor(2_000).compact(history)
    assert [len(result.text) > 200 for result in compacted[2].tool_results] == [True] * 5
    assert weight(compacted) <= 2_000


async def test_several_big_results_before_the_newest_user_turn_share_the_room() -> None:
    """The last step is squeezed before it is given up, also when the user has spoken since."""
    history = [user("q"), calls(*"abcde"), results(*"abcde", text="x" * 50_000), user("go on")]
    compacted = await SimpleHistoryCompactor(2_000).compact(history)
    assert roles(compacted) == ["user", "assistant", "tool", "user"]
    assert weight(compacted) <= 2_000


async def test_nothing_is_left_out_in_the_middle() -> None:
    """What is older than the first thing that does not fit goes too, however small it is."""
    step = [calls("a"), results("a", text="r" * 900)]
    history = [user("old"), assistant("small"), user("q"), *step, assistant("done"), user("now")]
    compacted = await SimpleHistoryCompactor(1_000).compact([user("x" * 200), *history[1:]])
    assert compacted == [user("q"), assistant("done"), user("now")]


async def test_a_small_result_beside_a_big_one_stays_whole() -> None:
    """Only what is too big is cut."""
    big = ToolResult("a", "t", (Text("x" * 50_000),))
    small = ToolResult("b", "t", (Text("small"),))
    history = [user("q"), calls("a", "b"), Message("tool", (big, small))]
    compacted = await SimpleHistoryCompactor(2_000).compact(history)
    assert compacted[2].tool_results[1] is small


async def test_an_image_in_a_result_that_does_not_fit_is_named() -> None:
    """It gives way to a word about it, since half an image is none."""
    content = (Text("see"), Image("image/png", "aGk="))
    shot = Message("tool", (ToolResult("a", "t", content),))
    compacted = await SimpleHistoryCompactor(2_000).compact([user("q"), calls("a"), shot])
    assert compacted[2].tool_results[0].text == "see\n[image left out]"


async def test_a_result_that_fits_is_not_shortened_for_older_turns() -> None:
    """What the newest turn holds comes before what is old."""
    history = [
        user("old" * 300),
        assistant("x"),
        user("q"),
        calls("a"),
        results("a", text="r" * 800),
    ]
    compacted = await SimpleHistoryCompactor(1_000).compact(history)
    assert compacted == history[2:]


async def test_the_oldest_steps_of_a_long_run_go_first() -> None:
    """In the middle of a run, its question and its newest steps stay."""
    steps = [m for n in range(50) for m in (calls(str(n)), results(str(n), text="r" * 40))]
    history = [system(), user("question"), *steps]
    compacted = await SimpleHistoryCompactor(1_000).compact(history)
    assert compacted[:2] == history[:2]
    assert compacted[2:] == history[-len(compacted[2:]) :]
    assert roles(compacted)[2] == "assistant"
    assert weight(compacted) <= 750


async def test_a_step_in_progress_stays_though_the_question_fills_the_budget() -> None:
    """Without it the model would make the same call again and again."""
    logger, log = recording_logger()
    history = [user("q" * 500), calls("a"), results("a", text="x" * 5_000)]
    compactor = SimpleHistoryCompactor(400, logger)
    compacted = await compactor.compact(history)
    assert roles(compacted) == ["user", "assistant", "tool"]
    assert len(compacted[2].tool_results[0].text) <= 200
    assert log.getvalue().count("over its budget of 400") == 1
    assert await compactor.compact(compacted) == compacted


async def test_opaque_data_of_kept_turns_survives() -> None:
    """Signatures that a provider wants back are not touched by the compaction of other turns."""
    signed = Message("assistant", (ToolCall("a", "t", {}, replay={"google": {"sig": "c2ln"}}),))
    history = [*conversation(40), user("q"), signed, results("a"), user("next")]
    compacted = await SimpleHistoryCompactor(500).compact(history)
    assert any(message is signed for message in compacted)


async def test_a_list_that_only_grew_is_still_checked_at_its_end() -> None:
    """The quick way for a growing list does not miss what is wrong in its new part."""
    compactor = SimpleHistoryCompactor(1_000)
    history = await compactor.compact([user("q"), assistant("a")])
    compacted = await compactor.compact([*history, user("r"), calls("x")])
    assert roles(compacted) == ["user", "assistant", "user", "assistant", "tool"]


async def test_a_list_with_another_beginning_is_checked_again() -> None:
    """One compactor serves many sessions."""
    compactor = SimpleHistoryCompactor(1_000)
    history = await compactor.compact([user("q"), assistant("a"), user("r")])
    compacted = await compactor.compact([history[0], history[2], assistant("b")])
    assert roles(compacted) == ["user", "assistant"]
