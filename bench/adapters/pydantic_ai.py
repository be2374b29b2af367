"""pydantic-ai's Agent on its OpenAIChatModel, with defaults."""

# mypy: disable-error-code="import-not-found"

from collections.abc import AsyncIterator
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from ..adapter import T
from ..floor import MODEL, SYSTEM, echo

TITLE = "pydantic-ai"
IMPORT = "from pydantic_ai import Agent; from pydantic_ai.models.openai import OpenAIChatModel"


class PydanticAiAgents:
    """One agent without tools and one with the tool, on one model."""

    def __init__(self, base: str) -> None:
        provider = OpenAIProvider(base_url=base + "/v1", api_key="sk-test")
        self.model = OpenAIChatModel(MODEL, provider=provider)
        self.plain: Any = Agent(self.model, system_prompt=SYSTEM)
        self.with_tools: Any = Agent(self.model, system_prompt=SYSTEM, tools=[echo])
        self.typed_agents: dict[type[Any], Any] = {}

    async def one_turn(self, prompt: str) -> str:
        """Make one model call without tools and return its text."""
        return str((await self.plain.run(prompt)).output)

    async def tool_run(self, prompt: str) -> tuple[str, int]:
        """Run a new conversation with the tool; return the text and the calls executed."""
        run = await self.with_tools.run(prompt)
        parts = [part for message in run.all_messages() for part in message.parts]
        return run.output, sum(part.part_kind == "tool-return" for part in parts)

    async def typed(self, prompt: str, schema: type[T]) -> T:
        """Answer as an instance of the schema."""
        if schema not in self.typed_agents:
            agent = Agent(self.model, system_prompt=SYSTEM, output_type=schema)
            self.typed_agents[schema] = agent
        answer: T = (await self.typed_agents[schema].run(prompt)).output
        return answer

    async def stream(self, prompt: str) -> AsyncIterator[str]:
        """Yield the pieces of one answer."""
        async with self.plain.run_stream(prompt) as run:
            async for text in run.stream_text(delta=True, debounce_by=None):
                yield text

    def conversation(self) -> "PydanticAiConversation":
        """Start a conversation."""
        return PydanticAiConversation(self.with_tools)

    async def aclose(self) -> None:
        """Do nothing: the HTTP client is shared by the library."""


class PydanticAiConversation:
    """A history that is handed from run to run."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent
        self.history: Any = None

    async def turn(self, prompt: str) -> str:
        """Add one turn and return its text."""
        run = await self.agent.run(prompt, message_history=self.history)
        self.history = run.all_messages()
        return str(run.output)


def make(base: str) -> PydanticAiAgents:
    """Build the agents."""
    return PydanticAiAgents(base)
