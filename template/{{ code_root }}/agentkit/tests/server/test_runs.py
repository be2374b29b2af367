"""Tests of the list of runs, and of a run as a timeline."""

from __future__ import annotations

from pathlib import Path

from ...errors import RateLimited
from ...observability.run_context import RunContext
from ...server.timeline import read_timeline, read_title
from .serving import call, problem, said, scripted, serving


async def test_the_newest_run_comes_first(ctx: RunContext) -> None:
    """Each with model, outcome, calls, tokens, cost and title; pages follow each other."""
    async with serving(scripted(ctx, call("shout", text="hi"), "HI", "two")) as http:
        first = await said(http, "Shout hi")
        second = await said(http, "Second")
        found = (await http.get("/runs")).json()["runs"]
        page = (await http.get("/runs", params={"limit": 1})).json()["runs"]
        rest = (await http.get("/runs", params={"after": page[0]["run_id"]})).json()["runs"]
    assert [run["run_id"] for run in found] == [second["run_id"], first["run_id"]]
    assert page + rest == found
    shout = found[1]
    assert (shout["calls"], shout["outcome"], shout["cost_usd"]) == (2, "stop", 0.0)
    assert shout["input_tokens"] == first["usage"]["input_tokens"]
    assert shout["output_tokens"] == first["usage"]["output_tokens"]
    assert shout["title"] == "Shout hi"


async def test_a_run_is_a_timeline(ctx: RunContext) -> None:
    """Calls, the attempts of one that took several, the wait between them, and tools, in order."""
    script = (call("shout", text="hi"), call("shout", text="nothing"), RateLimited("no"), "HI")
    async with serving(scripted(ctx, *script)) as http:
        run_id = (await said(http, "Shout hi"))["run_id"]
        shown = (await http.get(f"/runs/{run_id}")).json()
    timeline = shown["timeline"]
    kinds = [entry["kind"] for entry in timeline]
    assert sorted(kinds) == sorted(["call"] * 3 + ["tool"] * 2 + ["attempt"] * 2 + ["retry"])
    starts = [entry["started"] for entry in timeline]
    assert starts == sorted(starts)
    calls = [entry for entry in timeline if entry["kind"] == "call"]
    assert [entry["text"] for entry in calls] == [
        'shout {"text": "hi"}',
        'shout {"text": "nothing"}',
        "HI",
    ]
    assert sum(entry["output_tokens"] for entry in calls) == shown["output_tokens"]
    failed = {(entry["kind"], entry["error"]) for entry in timeline if entry["error"]}
    assert failed == {("tool", "the tool failed"), ("attempt", "RateLimited: no")}


def test_a_tool_comes_before_the_call_that_reads_its_result(tmp_path: Path) -> None:
    """Also if all three took less than the log's clock can tell; a call comes before attempts."""
    at = 'time: "2026-01-01T00:00:00.001Z"'
    tool = f"- {{event: tool_finished, run: 1, {at}, tool: shout, seconds: 0.000}}\n"
    (tmp_path / "run.yaml").write_text(f"- {{event: run_started, {at}}}\n{tool}", encoding="utf-8")
    (tmp_path / "agent").mkdir()
    attempts = f"attempts: [{{seconds: 0.0}}, {{{at}, seconds: 0.0}}]\n"
    for number, rest in (
        (1, "outcome: {seconds: 0.0}"),
        (2, f"{attempts}outcome: {{seconds: 0.1}}"),
    ):
        text = f"identifier: chat\n{at}\nmessages: []\n{rest}\n"
        (tmp_path / "agent" / f"000{number}-chat.yaml").write_text(text, encoding="utf-8")
    kinds = [entry["kind"] for entry in read_timeline(tmp_path)]
    assert kinds == ["call", "tool", "call", "attempt", "retry", "attempt"]


async def test_an_unknown_run_is_not_found(ctx: RunContext) -> None:
    """Nor is a folder that is no run."""
    ctx.debug_dir.mkdir()
    (ctx.debug_dir / "empty").mkdir()
    async with serving(scripted(ctx)) as http:
        for run_id in ("unknown", "empty"):
            assert problem(await http.get(f"/runs/{run_id}")) == (404, "not_found")


def test_a_damaged_log_is_shown_as_far_as_it_goes(tmp_path: Path) -> None:
    """A call that was cut off, one that cannot be read, and events without a time."""
    (tmp_path / "run.yaml").write_text("- {event: run_started, run: 1}\n", encoding="utf-8")
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "0001-chat.yaml").write_text(
        "call: 1\nidentifier: chat\nmessages:\n  - {role: user, text: Hi}\n", encoding="utf-8"
    )
    (tmp_path / "agent" / "0002-chat.yaml").write_text("{", encoding="utf-8")
    first, second = read_timeline(tmp_path)
    assert (first["name"], first["error"]) == ("chat", "unfinished")
    assert "0002-chat.yaml" in second["error"]
    assert read_title(tmp_path) == "Hi"
    assert (read_timeline(tmp_path / "none"), read_title(tmp_path / "none")) == ([], "")
