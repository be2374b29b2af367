"""HTTP connections that cannot be held open by saying nothing, or a byte now and then."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol


class PromptConnection(H11Protocol):
    """uvicorn's, which also closes one whose request has no whole head in the keep-alive time.

    uvicorn itself would wait for the first request, and for the rest of any, without end.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._close_at(self.loop.time() + self.timeout_keep_alive)

    def data_received(self, data: bytes) -> None:
        """Take what arrived; unless it began a request, the time goes on from where it was."""
        timer = self.timeout_keep_alive_task
        super().data_received(data)
        waits = self.cycle is None or self.cycle.response_complete
        if timer and waits and self.timeout_keep_alive_task is None and self in self.connections:
            self._close_at(timer.when())

    def _close_at(self, time: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_at(time, self.timeout_keep_alive_handler)
