"""What goes in and out, for validation and for the OpenAPI description."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from .auth import LONGEST_USER, USER

SESSION = r"^[A-Za-z0-9._:@-]+$"
LONGEST_SESSION = 128

SessionId = Annotated[str, Field(pattern=SESSION, max_length=LONGEST_SESSION)]
UserId = Annotated[str, Field(pattern=USER, max_length=LONGEST_USER)]


class Body(BaseModel):
    """A request's body: a key that nobody knows is an error, it may be misspelt."""

    model_config = ConfigDict(extra="forbid")


class ChatRequest(Body):
    """Something to say to the agent, in a session of the client's choice or in a new one."""

    # Python's idea of what is blank, which is the agent's, goes beyond \s by four characters.
    input: str = Field(min_length=1, pattern=r"[^\s\x1c-\x1f]", description="What to say.")
    session_id: SessionId | None = Field(None, description="Left out for a new session.")
    user_id: UserId | None = Field(None, description="Whom a trusted token speaks for.")


class Approval(Body):
    """The answer to `approval_needed`."""

    session_id: SessionId
    call_id: str = Field(max_length=1_000)
    approved: bool
    user_id: UserId | None = None


class Call(BaseModel):
    """A tool that the model called."""

    id: str
    name: str
    arguments: dict[str, Any]


class UsageInfo(BaseModel):
    """Tokens of a turn; input includes what came from a cache, output includes reasoning."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int


class ChatReply(BaseModel):
    """How a turn went. `cost_usd` is null where a model's price is not known."""

    session_id: str
    run_id: str
    text: str
    finish_reason: str
    model: str
    usage: UsageInfo
    cost_usd: float | None
    tool_calls: list[Call]


class SessionSummary(BaseModel):
    """A session in the list; `length` counts what is stored, `updated` is UTC."""

    session_id: str
    updated: str
    length: int
    title: str


class SessionList(BaseModel):
    """A user's sessions, the last changed one first."""

    sessions: list[SessionSummary]


class SessionMessage(BaseModel):
    """One message; each part has a `type`: text, thinking, image, tool_call or tool_result."""

    role: str
    parts: list[dict[str, Any]]


class SessionMessages(BaseModel):
    """A session's conversation from its beginning, without the system prompt."""

    session_id: str
    messages: list[SessionMessage]


class RunSummary(BaseModel):
    """What a run came to: `calls` of models, tokens, USD (null if not known), seconds."""

    run_id: str
    started: str | None
    model: str | None
    outcome: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    seconds: float
    title: str


class RunList(BaseModel):
    """A user's runs, newest first."""

    runs: list[RunSummary]


class Happening(BaseModel):
    """A line of a timeline; `started` is in seconds from the beginning of the run.

    `kind` is call, attempt (of a call that took several), retry (the wait between two) or tool.
    """

    kind: str
    name: str
    started: float
    seconds: float
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    error: str | None = None
    text: str | None = None


class RunDetail(RunSummary):
    """A run and what happened in it, in order."""

    timeline: list[Happening]


class Health(BaseModel):
    """The state of the server."""

    status: str


class ProblemInfo(BaseModel):
    """What went wrong: `type` for programs, `message` for people."""

    type: str
    message: str


class ProblemReply(BaseModel):
    """Every error of this server."""

    error: ProblemInfo
