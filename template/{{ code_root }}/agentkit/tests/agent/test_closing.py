"""An agent closes what it made itself, and nothing else."""

from __future__ import annotations

import asyncio

import httpx2

from ...agent.agent import Agent
from ...llm.requester import create_llm_requester
from ...observability.run_context import RunContext
from ...session.store import MemorySessionStore
from ..chat_replies import Answer, completion
from ..conftest import MODEL

BODY = completion(Answer("Hello!"), "gpt-5-mini", 1)


class ClosingTransport(httpx2.MockTransport):
    """A transport that knows whether it was closed."""

    closed = False

    async def aclose(self) -> None:
        self.closed = True


class ClosingStore(MemorySessionStore):
    """A store that knows whether it was closed."""

    closed = False

    async def aclose(self) -> None:
        self.closed = True


async def test_a_requester_and_a_store_that_were_given_stay_open(ctx: RunContext) -> None:
    """Others may use them; their owner closes them."""
    transport = ClosingTransport(lambda request: httpx2.Response(200, content=BODY))
    store = ClosingStore()
    async with create_llm_requester(MODEL, ctx.logger, ctx=ctx, transport=transport) as llm:
        async with Agent(llm, store=store) as agent:
            assert await agent.chat("Hi") == "Hello!"
        assert not transport.closed
        assert not store.closed
    assert transport.closed


async def test_connections_of_a_requester_that_the_agent_made_are_closed(
    loopback: None, ctx: RunContext
) -> None:
    """The server sees the connection end when the agent is closed, not before."""
    ended: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].split()[0]))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(BODY) + BODY)
        ended.set_result(await reader.read())
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with Agent(f"vllm/m?baseURL=http://127.0.0.1:{port}/v1", ctx=ctx) as agent:
            assert await agent.chat("Hi") == "Hello!"
            assert not ended.done()
        assert await asyncio.wait_for(ended, 10) == b""
