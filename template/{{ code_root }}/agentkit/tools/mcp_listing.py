"""What tools a server has: read page by page, mended so that one bad tool costs only itself.

The SDK refuses a whole list for one schema without a type, and a result for an output schema that
its own server does not keep to. Agents need neither, so both are put right before it looks.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

from ..observability.redact import shorten

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import Tool

MOST_PAGES = 100
MOST_TOOLS = 1_000

Warn = Callable[[str], None]


async def list_tools(client: Client, warn: Warn) -> list[Tool]:
    """Return all tools; a list without an end costs a warning, and the first tools are used."""
    tools: dict[str, Tool] = {}
    if client.server_capabilities.tools is None:
        return []
    cursor, seen = None, set()
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            tools.setdefault(tool.name, tool)
        cursor = page.next_cursor
        if not cursor:
            return list(tools.values())
        if cursor in seen or len(tools) > MOST_TOOLS:
            break
        seen.add(cursor)
    kept = list(tools.values())[:MOST_TOOLS]
    warn(f"its list of tools has no end; the first {len(kept)} are used")
    return kept


@asynccontextmanager
async def mended(
    transport: AbstractAsyncContextManager[Any], warn: Warn
) -> AsyncIterator[tuple[Any, Any]]:
    """Yield the streams of a transport; lists of tools that come in are mended."""
    async with transport as (incoming, outgoing):
        yield _Mended(incoming, warn), outgoing


class _Mended:
    """The SDK's stream of messages, which passes on all but lists of tools as they are."""

    def __init__(self, stream: Any, warn: Warn) -> None:
        self._stream = stream
        self._warn = warn

    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Any:
        return self._mend(await self._stream.receive())

    async def aclose(self) -> None:
        await self._stream.aclose()

    def close(self) -> None:
        self._stream.close()

    def __aiter__(self) -> _Mended:
        return self

    async def __anext__(self) -> Any:
        return self._mend(await self._stream.__anext__())

    async def __aenter__(self) -> _Mended:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._stream.__aexit__(*error)

    def _mend(self, item: Any) -> Any:
        result = getattr(getattr(item, "message", None), "result", None)
        if isinstance(result, dict) and isinstance(result.get("tools"), list):
            listed = result["tools"]
            result["tools"] = [_needed(tool) for tool in listed if _problem(tool) is None]
            bad = [tool for tool in listed if _problem(tool) is not None]
            if bad:
                first = f"{shorten(repr(bad[0]), 200)}, {_problem(bad[0])}"
                self._warn(f"{len(bad)} of its tools are left out, such as {first}")
        return item


def _needed(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an agent needs of a tool."""
    kept = {"name": tool["name"], "inputSchema": {"type": "object", **tool["inputSchema"]}}
    for key in ("title", "description"):
        if isinstance(tool.get(key), str):
            kept[key] = tool[key]
    hints = tool.get("annotations")
    if isinstance(hints, Mapping):
        names = ("readOnlyHint", "destructiveHint")
        kept["annotations"] = {n: hints[n] for n in names if isinstance(hints.get(n), bool)}
    return kept


def _problem(tool: Any) -> str | None:
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
        return "which has no name"
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict):
        return "which has no input schema"
    if schema.get("type", "object") != "object":
        return "whose arguments are no object"
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        return "whose properties are no object"
    if not all(isinstance(value, (dict, bool)) for value in properties.values()):
        return "where an argument has no schema"
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        return "whose required arguments are no list"
    return None
