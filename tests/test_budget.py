"""What a turn costs in counts: calls, bytes and imports, which do not depend on the machine.

Not timed: a count repeats. The ceilings have a margin of about a quarter, so that they hold still
for small changes and catch an eager import or a pass over the whole history.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import Any

import httpx2
import pytest

import agentkit
from agentkit import Agent, CostTracker, Logger, create_llm_requester, create_run_context, tool

AGENTKIT = "agentkit"
URI = "chat://openai/gpt-4o-mini?apiKey=sk-test-0123456789&baseURL=http://model/v1"
CALLS_PER_TURN = 860  # of functions in agentkit; a turn here is two model calls and a tool
LOG_BYTES_PER_TURN = 2_000  # layout for the most part: little is said here
MODULES = 320  # in sys.modules after `import agentkit`


@tool
async def echo(text: str) -> str:
    """Return the text."""
    return text


def reply(message: dict[str, Any], finish: str) -> httpx2.Response:
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    choice = {"index": 0, "message": {"role": "assistant"} | message, "finish_reason": finish}
    return httpx2.Response(200, json={"model": "m", "choices": [choice], "usage": usage})


class Model:
    """A server that asks for the tool once per question; counts requests."""

    def __init__(self) -> None:
        self.requests = 0

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests += 1
        if json.loads(request.content)["messages"][-1]["role"] == "tool":
            return reply({"content": "done"}, "stop")
        function = {"name": "echo", "arguments": '{"text": "x"}'}
        call = {"id": f"call_{self.requests}", "type": "function", "function": function}
        return reply({"content": None, "tool_calls": [call]}, "tool_calls")


async def count_calls(work: Callable[[], Awaitable[object]]) -> int:
    """Return how many functions of agentkit were called during the work."""
    calls = 0

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        if event == "call" and AGENTKIT in frame.f_code.co_filename:
            calls += 1

    sys.setprofile(profile)
    try:
        await work()
    finally:
        sys.setprofile(None)
    return calls


async def conversation(folder: Path, turns: tuple[int, ...]) -> dict[int, tuple[int, int, int]]:
    """Return calls, bytes of log and requests of the turns asked for."""
    model = Model()
    ctx = create_run_context(Logger("budget"), folder)
    transport = httpx2.MockTransport(model)
    llm = create_llm_requester(URI, ctx.logger, CostTracker(), ctx, transport=transport)
    agent = Agent(llm, ctx=ctx, system_prompt="Be brief.", tools=[echo])
    seen = {}
    for turn in range(1, max(turns) + 1):
        before, requests = size(folder), model.requests
        if turn in turns:
            calls = await count_calls(lambda: agent.run("question"))
            seen[turn] = (calls, size(folder) - before, model.requests - requests)
        else:
            await agent.run("question")
    return seen


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.yaml"))


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> dict[int, tuple[int, int, int]]:
    """Three turns of one conversation: near its beginning, later, much later."""
    return asyncio.run(conversation(tmp_path_factory.mktemp("debug"), (10, 50, 200)))


Turns = dict[int, tuple[int, int, int]]


def test_a_turn_makes_two_requests(turns: Turns) -> None:
    """One that asks for the tool and one that answers; nobody asks twice."""
    assert [requests for _, _, requests in turns.values()] == [2, 2, 2]


def test_a_turn_takes_a_bounded_number_of_calls(turns: Turns) -> None:
    """A layer more, or a schema built per call, shows here."""
    assert turns[10][0] <= CALLS_PER_TURN


def test_a_late_turn_looks_at_each_old_message_a_few_times_at_most(turns: Turns) -> None:
    """Two requests collect each message's text; more passes than that would be new."""
    messages = (200 - 50) * 4
    assert (turns[200][0] - turns[50][0]) / messages <= 2.5


def test_the_log_of_a_turn_does_not_grow_with_the_conversation(turns: Turns) -> None:
    """A message is written once, however often it is sent."""
    early, late = turns[50][1], turns[200][1]
    assert early <= LOG_BYTES_PER_TURN
    assert abs(late - early) <= 0.05 * early


def test_importing_agentkit_loads_nothing_it_may_not_need() -> None:
    """No SDK, no command line, no YAML, no prices, no pydantic before they are used."""
    code = "import agentkit, sys; print(' '.join(sys.modules))"
    root = Path(agentkit.__file__).parents[1]  # `python -c` looks in its own folder first
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    heavy = {"pydantic", "yaml", "genai_prices", "typer", "rich", "sqlite3", "openai", "anthropic"}
    assert modules & (heavy | {"litellm", "google.genai", "mcp", "trafilatura"}) == set()
    assert len(modules) <= MODULES
