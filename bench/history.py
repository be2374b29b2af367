"""A long history in Chat Completions form, and the straightforward way to shorten it."""

import json

from .adapter import Json


def turn_messages(number: int) -> list[Json]:
    """Return the four messages of one turn: question, tool call, tool result, answer."""
    call_id = f"call_{number}"
    function = {"name": "echo", "arguments": f'{{"text": "lookup {number}"}}'}
    return [
        {"role": "user", "content": f"question {number}: please look something up for me"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": call_id, "type": "function", "function": function}],
        },
        {
            "role": "tool",
            "tool_call_id": call_id,
            "content": f"result {number} " + "lorem ipsum " * 12,
        },
        {"role": "assistant", "content": f"answer {number}: " + "dolor sit amet " * 10},
    ]


def make_history(messages: int) -> list[Json]:
    """Return that many messages of consecutive turns."""
    turns = range(-(-messages // 4))
    return [message for number in turns for message in turn_messages(number)][:messages]


class TrimFloor:
    """Weigh with json.dumps from the newest backwards until the budget is spent, keep tool pairs.

    Its cost depends on what is kept, not on the length of the history.
    """

    def load(self, messages: list[Json]) -> list[Json]:
        """Return the messages as they are."""
        return list(messages)

    async def compact(self, history: list[Json], max_symbols: int) -> list[Json]:
        """Return the newest messages that fit the budget."""
        used, start = 0, len(history)
        while start > 0:
            used += len(json.dumps(history[start - 1]))
            if used > max_symbols:
                break
            start -= 1
        return _paired(history[start:])


def _paired(kept: list[Json]) -> list[Json]:
    calls = {call["id"] for message in kept for call in message.get("tool_calls") or ()}
    results = {message["tool_call_id"] for message in kept if message["role"] == "tool"}
    return [
        message
        for message in kept
        if (message["role"] != "tool" or message["tool_call_id"] in calls)
        and all(call["id"] in results for call in message.get("tool_calls") or ())
    ]
