"""LangChain's agent, which runs on LangGraph, over Chat Completions."""

# mypy: disable-error-code="import-not-found"

from collections.abc import AsyncIterator
from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from ..adapter import Json, T
from ..floor import MODEL, SYSTEM, echo

TITLE = "langchain on langgraph"
IMPORT = "from langchain.agents import create_agent; from langchain_openai import ChatOpenAI"
LIMITS = {"recursion_limit": 200}


class LangGraph:
    """One agent without tools, one with the tool."""

    def __init__(self, base: str, **options: Any) -> None:
        self.model = ChatOpenAI(
            model=MODEL,
            base_url=base + "/v1",
            api_key="sk-test",
            use_responses_api=False,
            **options,
        )
        self.plain: Any = create_agent(self.model, tools=[], system_prompt=SYSTEM)
        self.with_tools: Any = create_agent(self.model, tools=[tool(echo)], system_prompt=SYSTEM)
        self.by_schema: dict[type, Any] = {}

    async def one_turn(self, prompt: str) -> str:
        """Make one model call without tools and return its text."""
        return str((await self.plain.ainvoke(_opening(prompt)))["messages"][-1].content)

    async def tool_run(self, prompt: str) -> tuple[str, int]:
        """Run a new conversation with the tool; return the text and the calls executed."""
        messages = (await self.with_tools.ainvoke(_opening(prompt), LIMITS))["messages"]
        return messages[-1].content, sum(message.type == "tool" for message in messages)

    async def typed(self, prompt: str, schema: type[T]) -> T:
        """Answer as an instance of the schema, or raise."""
        if schema not in self.by_schema:
            self.by_schema[schema] = create_agent(
                self.model, tools=[], system_prompt=SYSTEM, response_format=schema
            )
        answer: T = (await self.by_schema[schema].ainvoke(_opening(prompt)))["structured_response"]
        return answer

    async def stream(self, prompt: str) -> AsyncIterator[str]:
        """Yield the pieces of one answer."""
        events = self.plain.astream(_opening(prompt), stream_mode="messages")
        async for message, _ in events:
            if message.content:
                yield message.content

    def conversation(self) -> "LangGraphConversation":
        """Start a conversation."""
        return LangGraphConversation(self.with_tools)

    async def aclose(self) -> None:
        """Nothing to close: the client is the library's own."""


class LangGraphConversation:
    """The messages that each run returns, given to the next one."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent
        self.messages: list[Any] = []

    async def turn(self, prompt: str) -> str:
        """Add one turn and return its text."""
        messages = [*self.messages, *_opening(prompt)["messages"]]
        self.messages = (await self.agent.ainvoke({"messages": messages}, LIMITS))["messages"]
        return str(self.messages[-1].content)


def _opening(prompt: str) -> Json:
    return {"messages": [{"role": "user", "content": prompt}]}


def make(base: str) -> LangGraph:
    """Build the agents."""
    return LangGraph(base)


def make_with_timeout(base: str, timeout: float) -> LangGraph:
    """Build the agents with a timeout in seconds per model call."""
    return LangGraph(base, timeout=timeout)
