from __future__ import annotations

import pytest

from ...messages import Image, Message, Text, Thinking, ToolCall, ToolResult
from ...session.seal import INTERRUPTED, is_sendable, seal
from .conversations import assistant, calls, results, roles, system, user

pytestmark = pytest.mark.checklist("compactor")


def test_a_conversation_in_order_is_returned_with_the_same_objects() -> None:
    """Nothing is copied where nothing is wrong, so that texts made of messages stay cached."""
    history = [system(), user("q"), calls("a"), results("a"), assistant("done"), user("next")]
    sealed = seal(history)
    assert [id(message) for message in sealed] == [id(message) for message in history]
    assert sealed is not history


def test_an_open_call_is_answered_right_after_it() -> None:
    """A call whose result was lost gets an error result that tells the model what happened."""
    sealed = seal([user("q"), calls("a"), user("next")])
    assert roles(sealed) == ["user", "assistant", "tool", "user"]
    assert sealed[2].tool_results == [ToolResult("a", "t", (Text(INTERRUPTED),), is_error=True)]


def test_an_open_call_at_the_end_is_answered() -> None:
    """A run killed while its tools ran can go on."""
    assert roles(seal([user("q"), calls("a")])) == ["user", "assistant", "tool"]


def test_one_open_call_of_two_keeps_the_result_of_the_other() -> None:
    """Only what is missing is filled in, in the order of the calls."""
    sealed = seal([user("q"), calls("a", "b"), results("b"), assistant("ok")])
    assert [result.call_id for result in sealed[2].tool_results] == ["a", "b"]
    assert [result.is_error for result in sealed[2].tool_results] == [True, False]


def test_results_in_several_messages_become_one() -> None:
    """A turn's results stand in one message, in the order of its calls."""
    sealed = seal([user("q"), calls("a", "b"), results("b"), results("a"), assistant("ok")])
    assert sealed == [user("q"), calls("a", "b"), results("a", "b"), assistant("ok")]


def test_a_result_before_its_call_is_dropped() -> None:
    """Order counts: a result that comes first answers nothing."""
    sealed = seal([user("q"), results("a"), calls("a"), assistant("x")])
    assert roles(sealed) == ["user", "assistant", "tool", "assistant"]
    assert sealed[2].tool_results[0].is_error


def test_a_result_without_a_call_is_dropped() -> None:
    """A result that answers no call cannot be sent."""
    assert seal([user("q"), assistant("x"), results("a"), user("y")]) == [
        user("q"),
        assistant("x"),
        user("y"),
    ]


def test_a_result_that_arrived_after_the_next_user_turn_is_moved_to_its_call() -> None:
    """A late result still belongs to its call, not to an error in its place."""
    sealed = seal([user("q"), calls("a"), user("still there?"), results("a")])
    assert sealed == [user("q"), calls("a"), results("a"), user("still there?")]


def test_ids_that_repeat_are_paired_by_position() -> None:
    """Some providers number the calls of each turn from zero."""
    history = [user("q"), calls("0"), results("0", text="first"), calls("0"), user("next")]
    sealed = seal(history)
    assert sealed[2] is history[2]
    assert sealed[4].tool_results[0].is_error


def test_equal_ids_in_one_turn_get_their_results_in_order() -> None:
    """Even two calls of one turn may share an id."""
    history = [
        user("q"),
        calls("x", "x"),
        results("x", text="one"),
        results("x", text="two"),
    ]
    assert [result.text for result in seal(history)[2].tool_results] == ["one", "two"]


@pytest.mark.parametrize(
    "parts",
    [(), (Text(""),), (Text(" \n"),), (Thinking("hm", replay={"anthropic": "s"}),)],
    ids=["no parts", "empty", "blank", "only thoughts"],
)
def test_an_assistant_turn_that_says_nothing_is_dropped(parts: tuple[Text, ...]) -> None:
    """An empty turn is refused by providers for as long as it stays in the history."""
    sealed = seal([user("q"), Message("assistant", parts), user("again")])
    assert roles(sealed) == ["user"]
    assert sealed[0].parts == (Text("q"), Text("again"))


def test_an_assistant_turn_with_only_an_image_is_kept() -> None:
    """A picture is an answer."""
    picture = Message("assistant", (Image("image/png", "aGk="),))
    assert seal([user("draw"), picture]) == [user("draw"), picture]


def test_neighbouring_turns_of_the_assistant_are_merged() -> None:
    """Strict providers want roles to alternate; a call stays with the text before it."""
    sealed = seal([user("q"), assistant("let me see"), calls("a"), results("a")])
    assert roles(sealed) == ["user", "assistant", "tool"]
    assert sealed[1].parts == (Text("let me see"), ToolCall("a", "t", {}))


def test_a_user_turn_after_a_tool_turn_stays() -> None:
    """A run that ended at a limit leaves its results unread; the next question follows them."""
    history = [user("q"), calls("a"), results("a"), user("next")]
    assert seal(history) == history


def test_a_conversation_that_starts_with_the_assistant_gets_a_user_turn_first() -> None:
    """A greeting is kept, though strict providers want the user to begin."""
    sealed = seal([system(), assistant("Hello, I am Bob."), user("hi")])
    assert roles(sealed) == ["system", "user", "assistant", "user"]


def test_system_messages_move_to_the_front() -> None:
    """Providers take the system prompt first or not at all."""
    sealed = seal([system("A"), user("q"), system("B"), assistant("x")])
    assert sealed == [system("A"), system("B"), user("q"), assistant("x")]


def test_sealing_twice_changes_nothing_more() -> None:
    """What came out once is in order."""
    messy = [assistant(""), results("z"), calls("a", "b"), system(), user("x"), user("y")]
    once = seal(messy)
    assert is_sendable(once)
    assert [id(message) for message in seal(once)] == [id(message) for message in once]


def test_the_input_is_not_changed() -> None:
    """A repair makes a new list."""
    history = [user("q"), user("r"), calls("a")]
    seal(history)
    assert history == [user("q"), user("r"), calls("a")]


def test_an_empty_list_stays_empty() -> None:
    """Nothing to say is in order."""
    assert seal([]) == []


@pytest.mark.parametrize(
    "messages",
    [
        [assistant("x")],
        [user("q"), user("r")],
        [user("q"), calls("a")],
        [user("q"), calls("a"), results("b")],
        [user("q"), calls("a", "b"), results("b", "a")],
        [user("q"), results("a")],
        [user("q"), assistant("")],
        [user("q"), system()],
        [Message("user", ())],
    ],
)
def test_what_a_strict_provider_refuses_is_not_sendable(messages: list[Message]) -> None:
    """Each of these costs a 400 somewhere."""
    assert not is_sendable(messages)
