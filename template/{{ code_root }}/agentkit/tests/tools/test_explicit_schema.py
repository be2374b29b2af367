"""Tools with a schema of their own: what providers would refuse is refused or completed here."""

from __future__ import annotations

from typing import Any

import pytest

from ...errors import ConfigError
from ...tools.tool import Tool, ToolContext


async def execute(arguments: dict[str, Any], ctx: ToolContext) -> None: ...


@pytest.mark.parametrize("name", ["", "a b", "a.b", "ô", "x" * 65, "a/b"])
def test_a_name_that_providers_refuse_is_refused(name: str) -> None:
    """At once, not by a 400 in the middle of a run."""
    with pytest.raises(ConfigError, match="use 1 to 64 letters"):
        Tool(name, "", {}, execute)


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({}, {"type": "object", "properties": {}}),
        ({"type": "object"}, {"type": "object", "properties": {}}),
        (
            {"type": "object", "additionalProperties": False},
            {"type": "object", "properties": {}, "additionalProperties": False},
        ),
    ],
)
def test_a_schema_without_parameters_is_completed(given: Any, sent: Any) -> None:
    """Providers want an object with properties, also when there are none."""
    assert Tool("t", "", given, execute).parameters == sent


def test_a_schema_that_is_no_object_is_refused() -> None:
    """Arguments have names."""
    with pytest.raises(ConfigError, match="tool t: `parameters` must be the schema of an object"):
        Tool("t", "", {"type": "array"}, execute)
