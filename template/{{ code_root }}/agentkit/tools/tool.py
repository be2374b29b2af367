"""A tool: a name, a JSON schema, and a function to call. `@tool` makes one from a signature."""

from __future__ import annotations

import functools
import inspect
import re
import typing
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, overload

from ..errors import ConfigError
from ..messages import ToolCall
from ..observability.run_context import RunContext
from .thread import run_in_thread as run_in_thread

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what every provider accepts

T = TypeVar("T")
OnProgress = Callable[[float, float | None, str], None]


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool (and a system prompt function) may know about the conversation it serves."""

    session_id: str | None = None
    user_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    call: ToolCall | None = None
    run: RunContext | None = None
    on_progress: OnProgress | None = field(default=None, repr=False, compare=False)

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Tell whoever watches the run how far the tool is; works in threads, too."""
        if self.on_progress is not None:
            self.on_progress(done, total, message)

    def of(self, call: ToolCall) -> ToolContext:
        """Return the context of one call."""
        return ToolContext(
            self.session_id, self.user_id, self.metadata, call, self.run, self.on_progress
        )


Execute = Callable[[dict[str, Any], ToolContext], Awaitable[Any]]
Validate = Callable[[dict[str, Any]], dict[str, Any]]
NeedsApproval = bool | Callable[[ToolCall], bool]


def _as_is(value: T) -> T:
    return value


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool with an explicit JSON schema.

    `execute(arguments, ctx)` is awaited within `timeout` seconds (None: no limit) and may raise
    `ToolError` to tell the model what went wrong. `validate` turns the model's arguments into
    those of `execute`, or raises `ValueError`. `needs_approval` may decide per call.
    Raises `ConfigError` for a name that providers refuse.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    execute: Execute
    timeout: float | None = 60.0
    needs_approval: NeedsApproval = False
    validate: Validate = _as_is

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ConfigError(
                f"tool name {self.name!r}: use 1 to 64 letters, digits, '_' and '-', "
                "which is what every provider accepts"
            )
        if self.parameters.get("type", "object") != "object":
            raise ConfigError(f"tool {self.name}: `parameters` must be the schema of an object")
        schema = {"type": "object", "properties": {}, **self.parameters}
        object.__setattr__(self, "parameters", schema)

    def asks_first(self, call: ToolCall) -> bool:
        """Tell whether this call waits for approval."""
        return self.needs_approval(call) if callable(self.needs_approval) else self.needs_approval


@overload
def tool(function: Callable[..., Any]) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    timeout: float | None = 60.0,
    needs_approval: NeedsApproval = False,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    timeout: float | None = 60.0,
    needs_approval: NeedsApproval = False,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a typed function, sync or async.

    The docstring is the description, the signature the schema; arguments are validated before the
    call. A parameter annotated `ToolContext` is filled in and hidden from the model. A sync
    function runs in a daemon thread of its own. Raises `ConfigError` for a signature without types
    and for an async generator.
    """

    def make(function: Callable[..., Any]) -> Tool:
        return _from_function(function, name or function.__name__, timeout, needs_approval)

    return make if function is None else make(function)


def _from_function(
    function: Callable[..., Any], name: str, timeout: float | None, needs_approval: NeedsApproval
) -> Tool:
    if inspect.isasyncgenfunction(function):
        raise ConfigError(
            f"tool {name}: an async generator has no one result; collect the items and return them"
        )
    signature, context_name = _signature(function, name)
    validate, parameters = _validation(function, signature, name)
    execute: Execute = PlainFunction(function, context_name)
    if inspect.iscoroutinefunction(function):
        execute = _awaiting(function, context_name)
    description = inspect.getdoc(function) or ""
    return Tool(name, description, parameters, execute, timeout, needs_approval, validate)


def _awaiting(function: Callable[..., Any], context_name: str | None) -> Execute:
    async def execute(arguments: dict[str, Any], ctx: ToolContext) -> Any:
        return await function(**_filled_in(arguments, context_name, ctx))

    execute.__module__ = function.__module__  # where the tool comes from, for those who list it
    return execute


@dataclass(frozen=True, slots=True)
class PlainFunction:
    """A function that is not async as a tool's `execute`: each call has a thread of its own."""

    function: Callable[..., Any]
    context_name: str | None = None

    async def __call__(self, arguments: dict[str, Any], ctx: ToolContext) -> Any:
        """Return what the function returns; a coroutine is awaited in the event loop."""
        return await self.finished(arguments, ctx, _as_is)

    async def finished(
        self, arguments: dict[str, Any], ctx: ToolContext, finish: Callable[[Any], Any]
    ) -> Any:
        """Return what `finish` makes, in the same thread, of what the function returns."""
        arguments = _filled_in(arguments, self.context_name, ctx)

        def work() -> Any:
            value = self.function(**arguments)
            return value if inspect.iscoroutine(value) else finish(value)

        value = await run_in_thread(work)
        if inspect.iscoroutine(value):  # a wrapper that is not async round a function that is
            value = await run_in_thread(functools.partial(finish, await value))
        return value


def _filled_in(arguments: dict[str, Any], name: str | None, ctx: ToolContext) -> dict[str, Any]:
    return arguments if name is None else {**arguments, name: ctx}


def _signature(function: Callable[..., Any], name: str) -> tuple[inspect.Signature, str | None]:
    """Return the signature that the model sees, and the name of the context parameter."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise ConfigError(f"tool {name}: an annotation cannot be resolved ({error})") from None
    visible, context_name = [], None
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ConfigError(f"tool {name}: *{parameter.name} has no schema; name each parameter")
        if parameter.name not in hints:
            raise ConfigError(f"tool {name}: parameter {parameter.name!r} needs a type annotation")
        if hints[parameter.name] is ToolContext:
            context_name = parameter.name
        else:
            visible.append(
                parameter.replace(
                    annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY
                )
            )
    return inspect.Signature(visible), context_name


def _validation(
    function: Callable[..., Any], signature: inspect.Signature, name: str
) -> tuple[Validate, dict[str, Any]]:
    """Return a validator of arguments and their JSON schema, both made once.

    Pydantic validates and calls in one go, so it gets a function that only returns its arguments:
    an error inside the tool cannot be taken for a bad argument.
    """
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError
    from pydantic_core import ArgsKwargs

    def collect(**arguments: Any) -> dict[str, Any]:
        return arguments

    collect.__signature__ = signature  # type: ignore[attr-defined]
    collect.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
    collect.__module__ = function.__module__
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(typing.cast(Any, collect))
        parameters = adapter.json_schema()
    except PydanticUserError as error:
        why = error.message.splitlines()[0]
        raise ConfigError(f"tool {name}: no JSON schema for its parameters ({why})") from None
    return lambda arguments: adapter.validate_python(ArgsKwargs((), arguments)), parameters
