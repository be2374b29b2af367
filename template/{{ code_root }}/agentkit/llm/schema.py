"""An answer's type: its JSON schema for the provider, and the check of what came back."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ConfigError
from ..texts import encode_json
from ..tools.registry import describe_errors

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_FENCE = re.compile(r"\s*```[a-zA-Z]*\s*\n(.*?)\n?\s*```\s*", re.DOTALL)
_DROPPED = ("default", "title", "examples", "discriminator")  # not allowed in strict mode
_FREE_FORM = ("patternProperties", "propertyNames", "allOf", "not", "prefixItems", "if")


class InvalidAnswer(ValueError):
    """An answer that does not fit; the message names the fields and never holds the values."""


class OutputSchema(NamedTuple):
    """A type as a provider needs it, made once per type.

    `schema` is the JSON schema of an object: a root that is none (a list, a number) is `wrapped`
    in `{"value": …}`. `strict` is the form that strict modes demand (every property required, no
    others), None when the type cannot be said in it.
    """

    name: str
    adapter: TypeAdapter[Any]
    schema: dict[str, Any]
    strict: dict[str, Any] | None
    wrapped: bool

    def parse(self, text: str) -> Any:
        """Return the validated value of a model's text; raises `InvalidAnswer`."""
        fenced = _FENCE.fullmatch(text)
        try:
            if self.wrapped:
                return self._unwrap(fenced[1] if fenced else text)
            return self.adapter.validate_json(fenced[1] if fenced else text)
        except Exception as error:  # a validator is anybody's code
            raise InvalidAnswer(describe_errors(error)) from None

    def _unwrap(self, text: str) -> Any:
        from pydantic_core import from_json

        value = from_json(text)
        if isinstance(value, dict) and value.keys() == {"value"}:
            value = value["value"]
        return self.adapter.validate_json(encode_json(value))


def output_schema(type_: Any) -> OutputSchema:
    """Return the schema of a type: a pydantic model, a dataclass, a TypedDict, `list[int]`, ….

    Raises `ConfigError` for what has no JSON schema.
    """
    if isinstance(type_, Mapping):
        raise ConfigError("schema: pass a type (a pydantic model, a dataclass, list[int], …)")
    try:
        return _cached(type_)
    except TypeError:  # unhashable, for example Annotated with a list
        return _make(type_)


def _make(type_: Any) -> OutputSchema:
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        adapter = TypeAdapter(type_)
        schema = _inline_root(adapter.json_schema())
    except PydanticUserError as error:
        why = error.message.splitlines()[0]
        raise ConfigError(f"schema: {type_!r} has no JSON schema ({why})") from None
    name = re.sub(r"[^A-Za-z0-9_-]", "_", getattr(type_, "__name__", "answer"))[:64]
    wrapped = schema.get("type") != "object"
    if not wrapped:
        schema = {"properties": {}, **schema}  # OpenAI refuses an object without
    else:
        definitions = schema.pop("$defs", None)
        schema = {"type": "object", "properties": {"value": schema}, "required": ["value"]}
        if definitions:
            schema["$defs"] = definitions
    return OutputSchema(name, adapter, schema, _strict_root(schema), wrapped)


_cached = functools.lru_cache(maxsize=256)(_make)


class _NotStrict(Exception):
    """The schema says something that strict mode cannot."""


def _strict_root(schema: dict[str, Any]) -> dict[str, Any] | None:
    try:
        strict = _strict(schema)
    except _NotStrict:
        return None
    assert isinstance(strict, dict)
    return strict


def _inline_root(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose root is a type itself: providers refuse a reference there."""
    if "$ref" not in schema:
        return schema
    name = str(schema["$ref"]).rsplit("/", 1)[-1]
    return {**schema["$defs"][name], "$defs": schema["$defs"]}


def _strict(node: Any) -> Any:
    """Return a strict copy of a schema node (rules: OpenAI's structured outputs guide)."""
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return {"$ref": node["$ref"]}
    if any(key in node for key in _FREE_FORM) or not node.keys() - {"title", "description"}:
        raise _NotStrict
    strict = {key: value for key, value in node.items() if key not in _DROPPED}
    if "oneOf" in strict:
        strict["anyOf"] = strict.pop("oneOf")
    if "anyOf" in strict:
        strict["anyOf"] = [_strict(option) for option in strict["anyOf"]]
    if node.get("type") == "array":
        strict["items"] = _strict(node.get("items", {}))
    if "$defs" in strict:
        strict["$defs"] = {name: _strict(value) for name, value in strict["$defs"].items()}
    if node.get("type") == "object":
        strict |= _strict_object(node)
    return strict


def _strict_object(node: dict[str, Any]) -> dict[str, Any]:
    if node.get("additionalProperties", False) is not False or not node.get("properties"):
        raise _NotStrict
    properties = {name: _strict(value) for name, value in node["properties"].items()}
    return {"properties": properties, "required": list(properties), "additionalProperties": False}
