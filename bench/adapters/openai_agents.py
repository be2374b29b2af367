"""OpenAI's Agents SDK: its Runner over Chat Completions, tracing off, history kept by hand."""

# mypy: disable-error-code="import-not-found"

from collections.abc import AsyncIterator
from typing import Any

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

from ..adapter import Json, T
from ..floor import MODEL, SYSTEM, echo

TITLE = "openai-agents"
IMPORT = "from agents import Agent, Runner, function_tool"
MAX_TURNS = 50
set_tracing_disabled(True)


class OpenAiAgents:
    """One agent without tools, one with the tool."""

    def __init__(self, base: str, **options: Any) -> None:
        self.client = AsyncOpenAI(base_url=base + "/v1", api_key="sk-test", **options)
        model = OpenAIChatCompletionsModel(MODEL, self.client)
        self.plain: Any = Agent(name="plain", instructions=SYSTEM, model=model)
        self.with_tools: Any = self.plain.clone(tools=[function_tool(echo)])
        self.by_schema: dict[type, Any] = {}

    async def one_turn(self, prompt: str) -> str:
        """Make one model call without tools and return its text."""
        return str((await Runner.run(self.plain, prompt)).final_output)

    async def tool_run(self, prompt: str) -> tuple[str, int]:
        """Run a new conversation with the tool; return the text and the calls executed."""
        result = await Runner.run(self.with_tools, prompt, max_turns=MAX_TURNS)
        done = [item for item in result.new_items if item.type == "tool_call_output_item"]
        return result.final_output, len(done)

    async def typed(self, prompt: str, schema: type[T]) -> T:
        """Answer as an instance of the schema, or raise."""
        if schema not in self.by_schema:
            self.by_schema[schema] = self.plain.clone(output_type=schema)
        answer: T = (await Runner.run(self.by_schema[schema], prompt)).final_output
        return answer

    async def stream(self, prompt: str) -> AsyncIterator[str]:
        """Yield the pieces of one answer."""
        async for event in Runner.run_streamed(self.plain, prompt).stream_events():
            if (
                event.type == "raw_response_event"
                and event.data.type == "response.output_text.delta"
            ):
                yield event.data.delta

    def conversation(self) -> "OpenAiAgentsConversation":
        """Start a conversation."""
        return OpenAiAgentsConversation(self.with_tools)

    async def aclose(self) -> None:
        """Close the client."""
        await self.client.close()


class OpenAiAgentsConversation:
    """The history that each result returns, given to the next run."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent
        self.history: list[Json] = []

    async def turn(self, prompt: str) -> str:
        """Add one turn and return its text."""
        messages = [*self.history, {"role": "user", "content": prompt}]
        result = await Runner.run(self.agent, messages, max_turns=MAX_TURNS)
        self.history = result.to_input_list()
        return str(result.final_output)


def make(base: str) -> OpenAiAgents:
    """Build the agents."""
    return OpenAiAgents(base)


def make_with_timeout(base: str, timeout: float) -> OpenAiAgents:
    """Build the agents with a timeout in seconds per model call."""
    return OpenAiAgents(base, timeout=timeout)
