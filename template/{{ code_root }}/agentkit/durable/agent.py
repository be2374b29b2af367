"""The public face of durable runs: start one under an id, get its result, from any process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any

from dbos import DBOS, PortableWorkflowError, SetEnqueueOptions, SetWorkflowID
from dbos import error as dbos_error
from sqlalchemy.exc import SQLAlchemyError

from ..agent.agent import Agent, user_message
from ..errors import AgentError, AgentkitError, ConfigError, StoreError
from ..llm.result import GenerateResult
from ..llm.schema import output_schema
from ..messages import Message, ToolCall
from ..observability.redact import mask
from ..observability.slug import slug
from ..session.owner import new_owner
from ..session.store import Session
from .database import dbos_config, forward_warnings, prepared_url, root_text
from .records import (
    Json,
    error_data,
    message_data,
    read_error,
    read_message,
    read_result,
    result_data,
)
from .steps import Steps, current_steps
from .store import make_durable
from .workers import Workers

_open = False


class DurableAgent:
    """Runs an agent so that each run goes on after a crash, here or in another process.

        async with DurableAgent(build_agent(), "sqlite:///.agentkit/runs.db") as runs:
            result = await runs.run("order-17", "What is in it?", session="customer-4")

    Replies of the model and results of tools are written down, and neither paid nor run again. What
    was under way when the process died is done again: a reply that had not arrived, and a tool that
    had begun. `rerun` (true, false, or a function of the call) decides for tools; where it says no,
    the model reads that the tool may have run. A tool can tell a repetition by `ctx.call.id`.

    The database is a SQLite file for one machine, or PostgreSQL for many (`postgresql://…`); all
    processes that open the same `name` there share the work: `concurrency` runs each, and of one
    session one run at a time, in the order in which they were started. `schema` is the answer's
    type. `poll` is the seconds between two looks for work. A process can have one at a time.
    """

    def __init__(
        self,
        agent: Agent,
        database_url: str,
        *,
        name: str = "agent",
        schema: Any = None,
        rerun: bool | Callable[[ToolCall], bool] = True,
        concurrency: int = 10,
        poll: float = 0.2,
    ) -> None:
        if slug(name) != name or name != name.lower() or not 3 <= len(name) <= 60:
            raise ConfigError(f"name {name!r}: use 3 to 60 lower-case letters, digits and dashes")
        self._agent = agent
        self._url = prepared_url(database_url)
        self._name = name
        self._schema = schema
        self._rerun = rerun if callable(rerun) else lambda call: bool(rerun)
        self._concurrency = concurrency
        self._poll = poll
        self._logger = agent.ctx.logger
        self._running: set[asyncio.Task[Any]] = set()
        self._closing = False
        self._workers: Workers | None = None
        make_durable(agent)

    async def run(
        self,
        run_id: str,
        input: str | Message,
        session: str | None = None,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> GenerateResult:
        """Start a run, or find the one of this id, and return how it went; see `result`."""
        await self.start(run_id, input, session, user_id, metadata)
        return await self.result(run_id)

    async def start(
        self,
        run_id: str,
        input: str | Message,
        session: str | None = None,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Put a run into the queue; once this returns, it will be done whatever happens.

        An id that was used before names the run that it began, so starting twice runs once.
        Without a session the run has one of its own, of the same id.
        """
        if slug(run_id) != run_id or not run_id:
            raise ConfigError(
                f"run id {mask(run_id)!r}: use letters, digits, '.', '_' and '-' only"
            )
        key = session or run_id
        job = {
            "run": run_id,
            "message": message_data(user_message(input)),
            "session": key,
            "user_id": user_id,
            "metadata": dict(metadata or {}),
        }
        id, workers = self._id(run_id), self._workers
        turn = await asyncio.to_thread(workers.next_turn, session) if workers and session else 1
        order = SetEnqueueOptions(queue_partition_key=key, priority=turn)
        with SetWorkflowID(id), order:
            await DBOS.enqueue_workflow_async(self._queue, self._workflow, job)

    async def result(self, run_id: str) -> GenerateResult:
        """Wait for a run and return how it went, its `history` left to the session.

        Raises what the run raised, `AgentError` if it was cancelled, `ConfigError` if there is no
        run of this id.
        """
        try:
            handle: Any = await DBOS.retrieve_workflow_async(self._id(run_id))
            data = await handle.get_result(polling_interval_sec=self._poll)
        except dbos_error.DBOSNonExistentWorkflowError:
            raise ConfigError(f"there is no run {mask(run_id)!r}") from None
        except dbos_error.DBOSAwaitedWorkflowCancelledError:
            raise AgentError(f"run {run_id} was cancelled") from None
        except PortableWorkflowError as error:
            if not isinstance(error.data, dict):  # not an error that the agent knows
                raise AgentError(mask(f"{error.name}: {error.message}")) from None
            raise read_error(error.data) from None
        return read_result(data, output_schema(self._schema) if self._schema else None)

    async def cancel(self, run_id: str) -> None:
        """Have a run end before its next step; one that is over stays as it is."""
        await DBOS.cancel_workflow_async(self._id(run_id))

    async def open(self) -> None:
        """Join the workers of the database. Raises `StoreError` if it cannot be used."""
        global _open
        if _open:
            raise ConfigError("this process has an open DurableAgent; close it before another one")
        _open, self._closing = True, False
        try:
            await self._launch()
        except (SQLAlchemyError, dbos_error.DBOSException) as error:
            await self.close()
            text = f"the database of durable runs cannot be used: {root_text(error)}"
            raise StoreError(text) from None
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Stop working. A run that is under way is left to other workers, or to the next start."""
        global _open
        self._closing = True
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        await asyncio.to_thread(self._stop)
        # DBOS has put its own pool of threads in the place of the loop's, and taken it down now.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())
        _open = False

    async def __aenter__(self) -> DurableAgent:
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    @property
    def _queue(self) -> str:
        return f"agentkit-{self._name}"

    def _id(self, run_id: str) -> str:
        if self._workers is None or self._closing:
            raise ConfigError("the DurableAgent is not open: use `async with`")
        return f"{self._name}/{run_id}"  # agents that share a database do not share ids

    async def _launch(self) -> None:
        forward_warnings(self._logger)
        worker = new_owner()
        self._workers = Workers(self._url, worker, self._queue, self._logger)
        await asyncio.to_thread(self._workers.join)
        DBOS(config=dbos_config(self._url, self._name, worker))

        async def run(job: Json) -> Json:
            return await self._execute(job)

        self._workflow = DBOS.workflow(name=self._queue)(run)
        DBOS.launch()  # in this thread, so that runs are tasks of this event loop
        await DBOS.register_queue_async(
            self._queue,
            partition_concurrency=1,
            worker_concurrency=self._concurrency,
            polling_interval_sec=self._poll,
        )
        self._workers.start()

    def _stop(self) -> None:
        if self._workers is not None:
            self._workers.leave()
        DBOS.destroy(destroy_registry=True)

    async def _execute(self, job: Json) -> Json:
        """Do one run: the workflow, as DBOS calls it."""
        task = asyncio.current_task()
        if self._closing or task is None:
            raise asyncio.CancelledError
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        current_steps.set(Steps(self._rerun, lambda: self._closing, self._logger))
        session = Session(job["session"], job["user_id"], job["metadata"])
        ctx = self._agent.ctx.another(run_id=job["run"])
        message = read_message(job["message"])
        try:
            result = await self._agent.run(message, session, self._schema, ctx)
        except AgentkitError as error:
            data = error_data(error)
            raise PortableWorkflowError(data["message"], data["type"], None, data) from None
        return result_data(result)
