"""smolagents' ToolCallingAgent; the library is synchronous, so runs go to threads.

Its shortest run is one model call that uses the tool `final_answer`; tool results go back as user
text.
"""

# mypy: disable-error-code="import-not-found, untyped-decorator"

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from smolagents import OpenAIModel, ToolCallingAgent, tool
from smolagents.monitoring import LogLevel

from ..floor import MODEL
from ..floor import echo as raw_echo

TITLE = "smolagents"
IMPORT = "from smolagents import ToolCallingAgent, OpenAIModel"


@tool
def echo(text: str) -> str:
    """Echo the text back.

    Args:
        text: The text.
    """
    return raw_echo(text)


class SmolAgents:
    """Agents in a pool of threads, on one model."""

    def __init__(self, base: str) -> None:
        self.model = OpenAIModel(MODEL, api_base=base + "/v1", api_key="sk-test")
        self.pool = ThreadPoolExecutor(200)
        self.plain = self.agent([])

    def agent(self, tools: list[Any]) -> Any:
        """Build an agent."""
        return ToolCallingAgent(
            tools=tools, model=self.model, verbosity_level=LogLevel.OFF, max_steps=50
        )

    async def in_thread(self, call: Callable[[], Any]) -> Any:
        """Run a blocking call in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self.pool, call)

    async def one_turn(self, prompt: str) -> str:
        """Make one model call and return its text."""
        return str(await self.in_thread(lambda: self.plain.run(prompt)))

    async def tool_run(self, prompt: str) -> tuple[str, int]:
        """Run a new conversation with the tool; return the text and the calls executed."""
        agent = self.agent([echo])
        text = await self.in_thread(lambda: agent.run(prompt))
        steps: list[Any] = [getattr(step, "tool_calls", None) for step in agent.memory.steps]
        calls = [call for calls in steps for call in calls or []]
        return text, sum(call.name == "echo" for call in calls)

    def conversation(self) -> "SmolConversation":
        """Start a conversation."""
        return SmolConversation(self)

    async def aclose(self) -> None:
        """Stop the threads."""
        self.pool.shutdown()


class SmolConversation:
    """An agent that is not reset between its runs."""

    def __init__(self, agents: SmolAgents) -> None:
        self.agents, self.agent = agents, agents.agent([echo])

    async def turn(self, prompt: str) -> str:
        """Add one turn and return its text."""
        return str(await self.agents.in_thread(lambda: self.agent.run(prompt, reset=False)))


def make(base: str) -> SmolAgents:
    """Build the agents."""
    return SmolAgents(base)
