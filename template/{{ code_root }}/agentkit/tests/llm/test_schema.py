"""An answer's type as a schema: strict where it can be, never changed, checked field by field."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, Field
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...errors import ConfigError
from ...llm.schema import InvalidAnswer, OutputSchema, output_schema
from ..schema_rules import object_problem, strict_problem


class Step(BaseModel):
    """A step of a plan."""

    text: str
    minutes: int = 5


class Plan(BaseModel):
    """A plan with everything strict mode has rules for."""

    title: str
    first: Step
    steps: list[Step]
    note: str | None = None
    kind: Literal["short", "long"] = "short"


class Tree(BaseModel):
    """A type that holds itself."""

    name: str
    children: list[Tree] = []


class Word(TypedDict):
    """A dictionary with known keys."""

    word: str


class Color(enum.Enum):
    """A choice."""

    RED = "red"


@dataclass
class Point:
    """A plain dataclass."""

    x: int
    y: int = 0


class Loose(BaseModel):
    """A model that holds what strict mode cannot say."""

    counts: dict[str, int]


@pytest.mark.parametrize("type_", [Plan, Step, Tree, Word, Point, list[int], int, Color, str | int])
def test_the_strict_form_keeps_all_rules(type_: Any) -> None:
    """Every property required, no others, at all depths, and an object at the root."""
    strict = output_schema(type_).strict
    assert strict is not None
    assert strict_problem(strict) is None


@pytest.mark.parametrize(
    "type_", [dict[str, int], Loose, list[dict[str, int]], Any, tuple[int, str]]
)
def test_what_strict_mode_cannot_say_is_sent_loosely(type_: Any) -> None:
    """Free keys and the like fall back to a plain schema that is checked here."""
    schema = output_schema(type_)
    assert schema.strict is None
    assert object_problem(schema.schema) is None


@pytest.mark.parametrize("type_", [Plan, Tree, Word, Point, list[int], dict[str, int], int])
def test_the_plain_form_is_an_object(type_: Any) -> None:
    """Tools and loose formats need an object with properties at the root, never a reference."""
    assert object_problem(output_schema(type_).schema) is None


def test_the_plain_form_is_not_changed_by_the_strict_one() -> None:
    """Strict rules are applied to a copy."""
    schema = output_schema(Plan)
    assert schema.schema["required"] == ["title", "first", "steps"]
    assert schema.schema["properties"]["note"]["default"] is None
    assert schema.schema == output_schema.__globals__["_inline_root"](Plan.model_json_schema())


def test_a_type_is_worked_out_once() -> None:
    """Schemas and validators are dear: the second run gets the same ones."""
    assert output_schema(Plan) is output_schema(Plan)


def test_a_type_that_cannot_be_hashed_works_too() -> None:
    """It is worked out each time."""
    unhashable = Annotated[int, Field(json_schema_extra={"examples": [1]}), ["x"]]
    assert output_schema(unhashable).parse('{"value": 7}') == 7


@pytest.mark.parametrize(
    ("type_", "name"), [(Plan, "Plan"), (list[int], "list"), (int | str, "Union"), (Color, "Color")]
)
def test_the_name_is_one_that_providers_accept(type_: Any, name: str) -> None:
    """Letters, digits, dashes."""
    assert output_schema(type_).name in (name, "UnionType", "answer")


@pytest.mark.parametrize(
    "type_", [Plan(title="", first=Step(text=""), steps=[]), {"type": "object"}, print]
)
def test_what_is_no_type_is_refused(type_: Any) -> None:
    """One line says what to pass."""
    with pytest.raises(ConfigError, match="schema: ") as caught:
        output_schema(type_)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (Step, '{"text": "a"}', Step(text="a")),
        (Point, '{"x": 1}', Point(1)),
        (Word, '{"word": "a"}', {"word": "a"}),
        (list[int], '{"value": [1, 2]}', [1, 2]),
        (list[int], "[1, 2]", [1, 2]),
        (int, '{"value": 7}', 7),
        (int, "7", 7),
        (Color, '{"value": "red"}', Color.RED),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (dict[str, int], '{"value": 1}', {"value": 1}),
        (int | None, '{"value": null}', None),
        (Step, '```json\n{"text": "a"}\n```', Step(text="a")),
        (Step, '\n```\n{"text": "a"}\n```\n', Step(text="a")),
        (list[int], "```json\n[1]\n```", [1]),
        (str, '{"value": "nghĩa"}', "nghĩa"),
    ],
)
def test_an_answer_is_read(type_: Any, text: str, value: Any) -> None:
    """Wrapped roots are unwrapped, and a fence round the JSON is no mistake."""
    assert output_schema(type_).parse(text) == value


def problem(schema: OutputSchema, text: str) -> str:
    """Return why an answer does not fit."""
    with pytest.raises(InvalidAnswer) as caught:
        schema.parse(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("{}", ["title: Field required", "first: Field required", "steps: Field required"]),
        ('{"title": 1, "first": {}, "steps": []}', ["title: ", "first.text: Field required"]),
        ('{"title": "", "first": {"text": ""}, "steps": [{}]}', ["steps.0.text: Field required"]),
        ("", ["value: Invalid JSON"]),
        ("Here you are: {}", ["value: Invalid JSON"]),
        ('{"title": "cut', ["value: Invalid JSON"]),
        ("null", ["value: "]),
        ("[" * 10_000, ["value: Invalid JSON"]),
    ],
)
def test_what_does_not_fit_is_named_field_by_field(text: str, parts: list[str]) -> None:
    """The model gets the place and the reason of each mistake."""
    found = problem(output_schema(Plan), text)
    for part in parts:
        assert part in found


@pytest.mark.parametrize("text", ["{", "", '{"value": "x"}', '{"value": NaN}', "[" * 10_000])
def test_a_wrapped_answer_that_does_not_fit_is_told_as_well(text: str) -> None:
    """Whatever the root is, the mistake is an InvalidAnswer."""
    assert problem(output_schema(list[int]), text)


@pytest.mark.checklist("secrets")
def test_the_problem_does_not_repeat_the_answer() -> None:
    """A wrong value may be a secret: its place is enough."""
    found = problem(output_schema(Plan), '{"title": ["canary-0123"], "first": "canary-0123"}')
    assert "canary" not in found


def test_a_validator_of_the_users_own_speaks_to_the_model() -> None:
    """What a validator says is what the model can act on."""

    def positive(value: int) -> int:
        if value <= 0:
            raise ValueError("must be more than nothing")
        return value

    found = problem(output_schema(Annotated[int, AfterValidator(positive)]), "-1")
    assert "must be more than nothing" in found


def test_a_validator_that_breaks_is_a_mistake_of_the_answer() -> None:
    """An exception that no validator should raise does not end the run."""

    def broken(value: int) -> int:
        raise KeyError("oops")

    assert "KeyError: 'oops'" in problem(output_schema(Annotated[int, AfterValidator(broken)]), "1")
