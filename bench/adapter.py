"""What the benchmark asks of one runtime under measurement.

A module in `adapters/` has `make(base)`, where base is `http://host:port/<behaviour>` and the API
root is base + "/v1". What a runtime cannot do, its adapter leaves out, and the scenario is skipped.
"""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

Json = dict[str, Any]
T = TypeVar("T")


class Adapter(Protocol):
    """Every runtime answers one prompt and runs the tool `echo`."""

    async def one_turn(self, prompt: str) -> str:
        """Make one model call without tools, as a new conversation; return its text."""
        ...

    async def tool_run(self, prompt: str) -> tuple[str, int]:
        """Run a new conversation with the tool `echo`; return the text and the calls executed."""
        ...

    async def aclose(self) -> None:
        """Close the clients."""
        ...


@runtime_checkable
class Streams(Protocol):
    """A runtime that streams text."""

    def stream(self, prompt: str) -> AsyncIterator[str]:
        """Yield the pieces of one answer."""
        ...


class Conversation(Protocol):
    """One conversation that keeps its whole history, with the tool on."""

    async def turn(self, prompt: str) -> str:
        """Add one turn and return its text."""
        ...


@runtime_checkable
class Converses(Protocol):
    """A runtime that carries a history from turn to turn."""

    def conversation(self) -> Conversation:
        """Start a conversation."""
        ...


@runtime_checkable
class TypedOutput(Protocol):
    """A runtime that returns an instance of a pydantic model."""

    async def typed(self, prompt: str, schema: type[T]) -> T:
        """Answer as an instance of the schema, or raise."""
        ...


class Sessions(Protocol):
    """Many conversations, told apart by id, in one store."""

    async def turn(self, session: str, prompt: str) -> str:
        """Add one turn to a session and return its text."""
        ...

    async def aclose(self) -> None:
        """Close the store."""
        ...


@runtime_checkable
class KeepsSessions(Protocol):
    """A runtime with a session store."""

    def sessions(self, database: Path | None) -> Sessions:
        """Open the SQLite store in that file, or a store in memory."""
        ...


class Compaction(Protocol):
    """A way to shorten a history."""

    def load(self, messages: list[Json]) -> list[Any]:
        """Turn Chat Completions messages into the runtime's own, none of them weighed yet."""
        ...

    async def compact(self, history: list[Any], max_symbols: int) -> list[Any]:
        """Return the shortened history."""
        ...


class AdapterModule(Protocol):
    """A module of `adapters/`; it may also have COMPACTORS and `make_with_timeout`."""

    __name__: str

    def make(self, base: str) -> Adapter:
        """Build the runtime inside the running event loop."""
        ...


@runtime_checkable
class TakesTimeout(Protocol):
    """An adapter module that can set the runtime's own timeout."""

    def make_with_timeout(self, base: str, timeout: float) -> Adapter:
        """Build the runtime with a timeout in seconds per model call."""
        ...


def compactors(module: AdapterModule) -> Mapping[str, Compaction]:
    """Return the ways to shorten a history that an adapter offers, by label."""
    found: Mapping[str, Compaction] = getattr(module, "COMPACTORS", {})
    return found
