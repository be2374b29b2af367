"""agentkit: an agent runtime you own. This is the public API of the core.

Optional modules are imported by their own path, for example `agentkit.tools.mcp_client`.
"""

from .agent.agent import Agent
from .errors import (
    AgentError,
    AgentkitError,
    AuthenticationFailed,
    BadRequest,
    ConfigError,
    ConnectionFailed,
    ContextTooLong,
    FatalError,
    FetchError,
    LlmError,
    MalformedReply,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    StoreConflict,
    StoreError,
    ToolError,
    TransientError,
    UnknownModel,
)
from .llm.events import (
    Appended,
    ApprovalNeeded,
    Event,
    Finished,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from .llm.model_uri import ModelURI
from .llm.provider import Provider
from .llm.providers.offline import ScriptedProvider
from .llm.requester import LlmRequester, create_llm_requester
from .llm.result import GenerateResult, Limits
from .messages import Image, Message, Text, Thinking, ToolCall, ToolResult, Usage
from .observability.cost_tracker import CostTracker
from .observability.logger import Logger
from .observability.redact import safe_sanitize
from .observability.run_context import RunContext, create_run_context, get_sub_debug_dir
from .session.compactor import HistoryCompactor, SimpleHistoryCompactor
from .session.sqlite_store import SqliteSessionStore
from .session.store import MemorySessionStore, Session, SessionStore
from .session.summary import LlmSummaryGenerator, SummarizingHistoryCompactor, SummaryGenerator
from .tools.registry import ToolRegistry
from .tools.tool import Tool, ToolContext, tool

__all__ = [
    "Agent",
    "AgentError",
    "AgentkitError",
    "Appended",
    "ApprovalNeeded",
    "AuthenticationFailed",
    "BadRequest",
    "ConfigError",
    "ConnectionFailed",
    "ContextTooLong",
    "CostTracker",
    "Event",
    "FatalError",
    "FetchError",
    "Finished",
    "GenerateResult",
    "HistoryCompactor",
    "Image",
    "Limits",
    "LlmError",
    "LlmRequester",
    "LlmSummaryGenerator",
    "Logger",
    "MalformedReply",
    "MemorySessionStore",
    "Message",
    "ModelURI",
    "Overloaded",
    "Provider",
    "QuotaExhausted",
    "RateLimited",
    "Retrying",
    "RunContext",
    "ScriptedProvider",
    "Session",
    "SessionStore",
    "SimpleHistoryCompactor",
    "SqliteSessionStore",
    "StoreConflict",
    "StoreError",
    "SummarizingHistoryCompactor",
    "SummaryGenerator",
    "Text",
    "TextDelta",
    "Thinking",
    "ThinkingDelta",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolError",
    "ToolFinished",
    "ToolProgress",
    "ToolRegistry",
    "ToolResult",
    "ToolStarted",
    "TransientError",
    "UnknownModel",
    "Usage",
    "create_llm_requester",
    "create_run_context",
    "get_sub_debug_dir",
    "safe_sanitize",
    "tool",
]
