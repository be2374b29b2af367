"""pydantic-ai's agent over AG-UI, as its documents show it; it keeps no sessions."""

# mypy: disable-error-code="import-not-found"

import sys

import uvicorn
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..floor import MODEL, SYSTEM, echo

TITLE = "pydantic-ai AG-UI"
REQUEST = {
    "path": "/agent",
    "content_type": "application/json",
    "body": '{"threadId": "$session", "runId": "$session", "state": {}, "tools": [], "context": [],'
    ' "messages": [{"id": "1", "role": "user", "content": "$prompt"}], "forwardedProps": {}}',
}
TEXT = r'"type":"TEXT_MESSAGE_CONTENT"[^\n]*"delta":"([^"]+)"'

if __name__ == "__main__":
    port, base = sys.argv[1:]
    provider = OpenAIProvider(base_url=base + "/v1", api_key="sk-test")
    agent = Agent(OpenAIChatModel(MODEL, provider=provider), instructions=SYSTEM, tools=[echo])

    async def run_agent(request: Request) -> Response:
        """Answer with a stream of AG-UI events."""
        response: Response = await AGUIAdapter.dispatch_request(request, agent=agent)
        return response

    app = Starlette(routes=[Route("/agent", run_agent, methods=["POST"])])
    uvicorn.run(app, port=int(port), log_level="warning")
