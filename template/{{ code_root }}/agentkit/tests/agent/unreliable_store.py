"""A store that fails or hangs where a test wants it to."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ...errors import StoreError
from ...session.store import Compaction, MemorySessionStore, Row, Rows

HANG = 86_400.0  # seconds


class UnreliableStore(MemorySessionStore):
    """A store in memory. `failing` and `hanging` name what does so: load, append or compaction.

    A hanging append stores the rows first if `late`: its caller cannot know. `asked` has what was
    loaded: session and first row.
    """

    def __init__(self) -> None:
        super().__init__()
        self.failing = self.hanging = ""
        self.late = False
        self.asked: list[tuple[str, int]] = []

    async def load(self, id: str, after: int = 0) -> Rows:
        self.asked.append((id, after))
        await self._spoil("load")
        return await super().load(id, after)

    async def append(
        self, id: str, rows: Sequence[Row], at: int, user_id: str | None = None
    ) -> None:
        if any(isinstance(row, Compaction) for row in rows):
            await self._spoil("compaction")
        if not self.late:
            await self._spoil("append")
        await super().append(id, rows, at, user_id)
        await self._spoil("append")

    async def _spoil(self, name: str) -> None:
        if name == self.failing:
            raise StoreError("the disk is full")
        if name == self.hanging:
            await asyncio.sleep(HANG)
