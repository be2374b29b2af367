"""The generated project's `serve`, as it is generated: call log, redaction, SQLite, its limits."""

import sys
from typing import Any

from agentkit import Agent, SimpleHistoryCompactor, SqliteSessionStore, tool
from agentkit.server import run

from ..floor import MODEL, SYSTEM

TITLE = "agentkit serve"
PROJECT = {"modules": "[server]"}
REQUEST = {
    "path": "/chat/stream",
    "content_type": "application/json",
    "body": '{"input": "$prompt", "session_id": "$session", "user_id": "$user"}',
}
TEXT = r'"type":"text","text":"([^"]+)"'
MAX_HISTORY = 400_000  # as in the generated main.py


@tool
async def echo(text: str) -> str:
    """Echo the text back."""
    return text


def build_agent(model: Any = None, ctx: Any = None) -> Agent:
    """Build the agent, as the generated main.py does."""
    return Agent(
        model,
        ctx=ctx,
        system_prompt=SYSTEM,
        tools=[echo],
        compactor=SimpleHistoryCompactor(MAX_HISTORY),
        store=SqliteSessionStore(".agentkit/sessions.db"),
    )


if __name__ == "__main__":
    port, base = sys.argv[1:]
    uri = f"chat://openai/{MODEL}?baseURL={base}/v1&apiKey=sk-test-benchmark-key"
    run(build_agent, "bench-agent", ["--port", port, "--model", uri])
