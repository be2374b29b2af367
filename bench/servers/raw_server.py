"""The floor: Starlette and uvicorn hand a raw httpx2 stream on; no sessions, no checks, no log."""

# mypy: disable-error-code="import-not-found"

import json
import sys
from collections.abc import AsyncIterator

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from ..floor import RawHttpx

TITLE = "raw httpx2 behind Starlette (floor)"
VENV = "agentkit_server"
REQUEST = {
    "path": "/stream",
    "content_type": "application/json",
    "body": '{"input": "$prompt", "session_id": "$session", "user_id": "$user"}',
}
TEXT = r'"text": "([^"]+)"'

if __name__ == "__main__":
    port, base = sys.argv[1:]
    floor = RawHttpx(base, httpx2)

    async def stream(request: Request) -> StreamingResponse:
        """Answer with the pieces of text as server-sent events."""
        prompt = (await request.json())["input"]

        async def events() -> AsyncIterator[str]:
            async for text in floor.stream(prompt):
                yield f"data: {json.dumps({'text': text})}\n\n"
            yield "data: [DONE]\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    app = Starlette(routes=[Route("/stream", stream, methods=["POST"])])
    uvicorn.run(app, port=int(port), log_level="warning")
