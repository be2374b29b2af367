"""What to answer: a tool call while there are some to make, else a text, typed where asked for."""

# mypy: disable-error-code="import-not-found"

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from .behaviour import Behaviour

Json = dict[str, Any]
ENDING_TOOLS = ("final_result", "final_answer")  # with these, frameworks end a run


def encode(value: Any) -> bytes:
    """Return a value as JSON."""
    encoded: bytes = orjson.dumps(value)
    return encoded


@dataclass(frozen=True)
class Answer:
    """One reply, before it is put into the words of an API: a tool call or a text."""

    number: int
    model: str
    input_tokens: int
    output_tokens: int
    tool: str = ""
    arguments: Any = None
    text: str | None = None
    chunks: list[str] = field(default_factory=list)

    @property
    def arguments_json(self) -> str:
        """The arguments of the tool call as JSON."""
        return encode(self.arguments).decode()

    def argument_pieces(self, size: int = 12) -> list[str]:
        """Return the arguments as they are streamed."""
        text = self.arguments_json
        return [text[start : start + size] for start in range(0, len(text), size)]


class Dialect(Protocol):
    """One provider's API, as a module."""

    EVENTS_BEFORE_TEXT: int

    def tool_results(self, request: Json) -> int:
        """Count the tool results since the last message of the user."""
        ...

    def tools(self, request: Json) -> dict[str, Json]:
        """Return the schema of each tool's input by name."""
        ...

    def schema(self, request: Json) -> Json | None:
        """Return the schema that the answer must have."""
        ...

    def body(self, answer: Answer) -> bytes:
        """Return a whole reply."""
        ...

    def events(self, answer: Answer, request: Json) -> Iterator[bytes]:
        """Yield a streamed reply."""
        ...

    def error(self, status: int) -> bytes:
        """Return an error's body."""
        ...


def decide(
    behaviour: Behaviour, dialect: Dialect, request: Json, size: int, number: int, broken: bool
) -> Answer:
    """Decide what to answer to a request of that many bytes; broken answers break their schema."""
    common: Json = {
        "number": number,
        "model": request.get("model", "mock"),
        "input_tokens": max(1, size // 4),
    }
    tools = dialect.tools(request)
    done = dialect.tool_results(request) if behaviour.tool_calls else 0
    if done < behaviour.tool_calls and "echo" in tools:
        text = f"step-{done + 1} of {behaviour.tool_calls}: echo this text back"
        return Answer(**common, output_tokens=16, tool="echo", arguments={"text": text})
    forced = _forced(request.get("tool_choice"), tools)
    if forced:
        arguments = instance_of(tools[forced], broken=broken)
        if forced == "final_answer":
            arguments = {"answer": behaviour.text}
        return Answer(**common, output_tokens=16, tool=forced, arguments=arguments)
    schema = dialect.schema(request)
    if schema is None:
        chunks = behaviour.chunks
    else:
        text = encode(instance_of(schema, broken=broken)).decode()
        chunks = [text[start : start + 16] for start in range(0, len(text), 16)]
    text = "".join(chunks)
    return Answer(**common, output_tokens=max(1, len(text) // 4), text=text, chunks=chunks)


def _forced(choice: Any, tools: dict[str, Json]) -> str:
    """Return the tool that must be called now: an ending tool, or the one the request forces."""
    ending = next((name for name in tools if name in ENDING_TOOLS), "")
    kind = choice.get("type") if isinstance(choice, dict) else choice
    if ending or kind in (None, "auto", "none"):
        return ending
    named = choice.get("function", choice).get("name") if isinstance(choice, dict) else None
    return named or next((name for name in tools if name != "echo"), "")


def instance_of(schema: Json, definitions: Json | None = None, broken: bool = False) -> Any:
    """Return the smallest instance of a JSON schema; broken ones have values of the wrong type."""
    known = definitions or schema.get("$defs") or {}
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return instance_of(schema[key][0], known, broken)
    if "$ref" in schema:
        return instance_of(known.get(schema["$ref"].rpartition("/")[2], {}), known, broken)
    if "const" in schema or "enum" in schema:
        return schema["const"] if "const" in schema else schema["enum"][0]
    if "properties" in schema:
        fields = schema["properties"].items()
        return {name: instance_of(field, known, broken) for name, field in fields}
    if schema.get("type") == "array":
        return [instance_of(schema.get("items", {}), known, broken)]
    return _scalar(schema.get("type"), broken)


def _scalar(kind: str | None, broken: bool) -> Any:
    right: Json = {"integer": 7, "number": 1.5, "boolean": True, "null": None, "object": {}}
    wrong: Json = {"integer": "not-an-int", "number": "not-a-number"}
    if broken and kind in wrong:
        return wrong[kind]
    return right.get(kind or "", {"bad": 1} if broken else "text")
