"""Any value as plain data that every sink can write."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from ...observability.redact import (
    add_secret,
    exception_text,
    safe_sanitize,
)


class Color(Enum):
    """An enum whose value is text."""

    RED = "red"


@dataclass
class Config:
    """A configuration with a key."""

    url: str
    api_key: str


class Settings(BaseModel):
    """A model with a number."""

    port: int


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        *((v, v) for v in (None, True, 5, 0.5, "text", [1, [2]], {"a": {"b": None}})),
        ((1, 2), [1, 2]),
        ({"only"}, ["only"]),
        (b"\xff\x00", "[2 bytes]"),
        (Color.RED, "red"),
        (date(2025, 1, 2), "2025-01-02"),
        (datetime(2025, 1, 2, tzinfo=UTC), "2025-01-02T00:00:00+00:00"),
        ({"x": float("nan"), "y": float("-inf")}, {"x": "nan", "y": "-inf"}),
        (timedelta(minutes=1), 60.0),
        (Path("a") / "b.txt", str(Path("a/b.txt"))),
        (Config("http://h", "canary"), {"url": "http://h", "api_key": "***"}),
        (Settings(port=1), {"port": 1}),
        ({1: "one"}, {"1": "one"}),
        ("ok \ud83d", "ok \ufffd"),
        (1 + 2j, "(1+2j)"),
    ],
)
def test_every_value_becomes_plain_data(value: Any, plain: Any) -> None:
    """What comes out can be written by any sink."""
    assert safe_sanitize(value) == plain


def test_shared_objects_are_written_twice_and_cycles_are_marked() -> None:
    """Only what contains itself is cut."""
    shared = {"text": "x"}
    cycle: list[Any] = [1]
    cycle.append(cycle)
    assert safe_sanitize([shared, shared, cycle]) == [shared, shared, [1, "[circular]"]]


def test_exceptions_keep_type_message_stack_cause_and_members() -> None:
    """Nothing of an exception is lost, groups included."""
    inner = ValueError("inner")
    group = ExceptionGroup("several", [inner, KeyError("other")])
    group.__cause__ = inner
    data = safe_sanitize(group)
    assert data["type"] == "ExceptionGroup"
    assert data["cause"]["message"] == "inner"
    assert [e["type"] for e in data["exceptions"]] == ["ValueError", "KeyError"]


def test_an_exception_that_causes_itself_is_cut() -> None:
    """A cycle of causes ends."""
    error = ValueError("loop")
    error.__cause__ = KeyError("between")
    error.__cause__.__cause__ = error
    assert safe_sanitize(error)["cause"]["cause"] == "[circular]"


def test_objects_that_cannot_be_read_are_named() -> None:
    """A broken `__str__` costs a marker, not the log line."""

    class Broken:
        def __str__(self) -> str:
            raise RuntimeError("no")

    assert safe_sanitize([Broken()]) == ["[Broken: unreadable, RuntimeError]"]


def test_deep_nesting_ends() -> None:
    """Data nested a thousand levels deep does not exhaust the stack."""
    deep: Any = "end"
    for _ in range(1_000):
        deep = [deep]
    assert "nested too deep" in json.dumps(safe_sanitize(deep))


@pytest.mark.checklist("secrets")
@pytest.mark.parametrize(
    "value",
    ["canary", b"canary", ["canary"], {"user": "canary"}, ("canary",), {"a": [1]}, 123456],
    ids=repr,
)
def test_what_a_secret_name_holds_is_masked_whole(value: Any) -> None:
    """Whatever form it has."""
    assert safe_sanitize({"auth": value, "n": 1}) == {"auth": "***", "n": 1}


@pytest.mark.parametrize("name", ["token", "tokens", "max_tokens", "input_tokens", "total_tokens"])
def test_numbers_of_tokens_stay_visible(name: str) -> None:
    """A token is a secret, how many there are is none."""
    assert safe_sanitize({name: 5, "secret": None, "has_secret": True}) == {
        name: 5,
        "secret": None,
        "has_secret": True,
    }


@pytest.mark.checklist("secrets")
@pytest.mark.parametrize("name", ["token", "tokens"])
def test_a_token_that_is_no_number_is_masked(name: str) -> None:
    """Also in a list."""
    assert safe_sanitize([{name: "canary"}, {name: ["canary"]}]) == [{name: "***"}, {name: "***"}]


@pytest.mark.checklist("secrets")
def test_a_validation_error_does_not_show_a_known_secret() -> None:
    """Validation errors quote their input; a secret in it is masked."""
    add_secret("canary-0123456789")
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"port": "canary-0123456789"})
    assert "canary" not in exception_text(caught.value)
    assert "canary" not in json.dumps(safe_sanitize(caught.value))
