"""The values every layer speaks: parts, messages, usage, replies. Their JSON is what is stored.

Pure data. What a provider wants back unchanged (signatures, encrypted reasoning) rides in a part's
`replay`, keyed by the dialect that made it. Messages never change, so each text is made once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cache
from operator import add
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from .texts import clean, clean_json, encode_json

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Role = Literal["system", "user", "assistant", "tool"]
FinishReason = Literal[
    "stop", "length", "refused", "blocked", "empty", "max_steps", "limit", "invalid"
]
Replay = dict[str, Any]

IMAGE_WEIGHT = 6_000  # characters, about what providers charge for one
T = TypeVar("T")


def _tidy(part: object, *names: str) -> None:
    """Rid a new part's texts of lone surrogates, wherever they came from."""
    for name in names:
        value = getattr(part, name)
        if value and not (isinstance(value, str) and value.isascii()):
            cleaned = clean(value) if isinstance(value, str) else clean_json(value)
            object.__setattr__(part, name, cleaned)


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text."""

    text: str
    replay: Replay | None = None
    type: Literal["text"] = "text"

    def __post_init__(self) -> None:
        _tidy(self, "text", "replay")


@dataclass(frozen=True, slots=True)
class Image:
    """An image: its media type (`image/png`) and its bytes in base64."""

    media_type: str
    data: str
    type: Literal["image"] = "image"


@dataclass(frozen=True, slots=True)
class Thinking:
    """The model's reasoning: readable text if the provider shows it, opaque data in `replay`."""

    text: str = ""
    replay: Replay | None = None
    type: Literal["thinking"] = "thinking"

    def __post_init__(self) -> None:
        _tidy(self, "text", "replay")


class _Made:
    """Slots for what was made of a value; equality, JSON, copies and `replace()` ignore them."""

    __slots__ = ("_arguments_text", "_json", "forms", "weight")

    _arguments_text: str
    _json: bytes | None
    forms: dict[str, Any]  # what `once` keeps
    weight: int

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple([getattr(self, f.name) for f in fields(self)])  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class ToolCall(_Made):
    """A tool the model wants run. `malformed` holds arguments that were no JSON object."""

    id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    malformed: str | None = None
    replay: Replay | None = None
    type: Literal["tool_call"] = "tool_call"

    def __post_init__(self) -> None:
        _tidy(self, "id", "name", "arguments", "malformed", "replay")
        object.__setattr__(self, "_arguments_text", encode_json(self.arguments))

    @property
    def arguments_text(self) -> str:
        """The arguments as JSON; an empty object when what the model wrote was malformed."""
        return self._arguments_text


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call came to; `is_error` tells the model that it failed."""

    call_id: str
    name: str
    content: tuple[Text | Image, ...] = ()
    is_error: bool = False
    type: Literal["tool_result"] = "tool_result"

    def __post_init__(self) -> None:
        _tidy(self, "call_id", "name")

    @property
    def text(self) -> str:
        """All text of the result."""
        return "\n".join(part.text for part in self.content if isinstance(part, Text))


Part = Text | ToolCall | ToolResult | Thinking | Image  # told apart by `type` when read back


@dataclass(frozen=True, slots=True)
class Message(_Made):
    """One turn of a conversation: who speaks, and the parts of what is said.

    `weight` is the characters of text, arguments and results; an image counts 6,000.
    """

    role: Role
    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        if type(self.parts) is not tuple:
            object.__setattr__(self, "parts", tuple(self.parts))
        object.__setattr__(self, "_json", None)
        object.__setattr__(self, "forms", {})
        object.__setattr__(self, "weight", sum(map(_weight, self.parts)))

    @classmethod
    def system(cls, text: str) -> Message:
        """Return a system message."""
        return cls("system", (Text(text),))

    @classmethod
    def user(cls, text: str) -> Message:
        """Return a user message."""
        return cls("user", (Text(text),))

    @classmethod
    def assistant(cls, text: str) -> Message:
        """Return an assistant message."""
        return cls("assistant", (Text(text),))

    @property
    def text(self) -> str:
        """All text parts joined."""
        return "".join([part.text for part in self.parts if isinstance(part, Text)])

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The calls in order."""
        return [part for part in self.parts if isinstance(part, ToolCall)]

    @property
    def tool_results(self) -> list[ToolResult]:
        """The results in order."""
        return [part for part in self.parts if isinstance(part, ToolResult)]

    def to_json(self) -> bytes:
        """Return the message as JSON, the format sessions are stored in."""
        if self._json is None:
            object.__setattr__(self, "_json", _adapter().dump_json(self, exclude_none=True))
        return self._json or b""

    @classmethod
    def from_json(cls, data: bytes | str) -> Message:
        """Return the message that `to_json` wrote; raises `ValueError` for anything else."""
        return _adapter().validate_json(data)

    def once(self, form: str, make: Callable[[Message], T]) -> T:
        """Return what `make` made of the message for this form (a dialect, the log) the first time.

        It is shared: nobody may change it.
        """
        made: T | None = self.forms.get(form)
        if made is None:
            made = self.forms[form] = make(self)
        return made


@cache
def _adapter() -> TypeAdapter[Message]:
    from pydantic import TypeAdapter

    return TypeAdapter(Message)


def _weight(part: Part) -> int:
    match part:
        case Text() | Thinking():
            return len(part.text)
        case ToolCall():
            return len(part.name) + len(part.malformed or part.arguments_text)
        case ToolResult():
            return sum(map(_weight, part.content))
        case _:
            return IMAGE_WEIGHT


class Usage(NamedTuple):
    """Tokens of calls. Input includes what came from a cache, output includes reasoning."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:  # type: ignore[override]
        return Usage(*map(add, self, other))


@dataclass(frozen=True, slots=True)
class Reply:
    """What one model call produced. `raw` is the text as it came, `detail` a refusal's reason."""

    message: Message
    finish_reason: FinishReason
    usage: Usage
    model: str
    raw: str = ""
    detail: str = ""
