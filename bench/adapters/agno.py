"""agno's Agent on its OpenAIChat; telemetry is off, by default it sends a request per run home."""

# mypy: disable-error-code="import-not-found"

from collections.abc import AsyncIterator
from typing import Any

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.openai import OpenAIChat

from ..adapter import T
from ..floor import MODEL, SYSTEM, echo

TITLE = "agno"
IMPORT = "from agno.agent import Agent; from agno.models.openai import OpenAIChat"
ENVIRONMENT = {"AGNO_TELEMETRY": "false"}


class AgnoAgents:
    """One agent without tools and one with the tool, as its documents advise to keep them."""

    def __init__(self, base: str) -> None:
        self.root = base + "/v1"
        self.plain = self.agent()
        self.with_tools = self.agent(tools=[echo])
        self.typed_agents: dict[type[Any], Any] = {}

    def agent(self, **options: Any) -> Any:
        """Build an agent."""
        model = OpenAIChat(id=MODEL, base_url=self.root, api_key="sk-test")
        return Agent(model=model, system_message=SYSTEM, telemetry=False, **options)

    async def one_turn(self, prompt: str) -> str:
        """Make one model call without tools and return its text."""
        run = await self.plain.arun(prompt)
        if run.status.value.lower() == "error":  # the error's text would count as an answer
            raise RuntimeError(run.content)
        return str(run.content)

    async def tool_run(self, prompt: str) -> tuple[str, int]:
        """Run a new conversation with the tool; return the text and the calls executed."""
        run = await self.with_tools.arun(prompt)
        return run.content, len(run.tools or [])

    async def typed(self, prompt: str, schema: type[T]) -> T:
        """Answer as an instance of the schema."""
        if schema not in self.typed_agents:
            self.typed_agents[schema] = self.agent(output_schema=schema)
        answer: T = (await self.typed_agents[schema].arun(prompt)).content
        return answer

    async def stream(self, prompt: str) -> AsyncIterator[str]:
        """Yield the pieces of one answer."""
        async for event in self.plain.arun(prompt, stream=True):
            if event.event == "RunContent" and event.content:
                yield event.content

    def conversation(self) -> "AgnoConversation":
        """Start a conversation."""
        options = {"session_id": "s", "add_history_to_context": True, "num_history_runs": 10_000}
        return AgnoConversation(self.agent(tools=[echo], db=InMemoryDb(), **options))

    async def aclose(self) -> None:
        """Do nothing: its clients have no owner that closes them."""


class AgnoConversation:
    """One session whose whole history is sent."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent

    async def turn(self, prompt: str) -> str:
        """Add one turn and return its text."""
        return str((await self.agent.arun(prompt)).content)


def make(base: str) -> AgnoAgents:
    """Build the agents."""
    return AgnoAgents(base)
