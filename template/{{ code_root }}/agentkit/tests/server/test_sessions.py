"""Tests of the list of sessions, of one, and of its end."""

from __future__ import annotations

from ...messages import Image, Message, Text, Thinking
from ...observability.run_context import RunContext
from ...server.sessions import shorten_title
from ...session.store import Compaction, MemorySessionStore, Row
from .serving import call, problem, said, scripted, serving


async def test_the_last_changed_session_comes_first(ctx: RunContext) -> None:
    """Each with its length and the beginning of what was said first."""
    async with serving(scripted(ctx, "one", "two", "three")) as http:
        await said(http, "First\nquestion", session_id="a")
        await said(http, "Second", session_id="b")
        await said(http, "Again", session_id="a")
        found = (await http.get("/sessions")).json()["sessions"]
        one = (await http.get("/sessions?limit=1")).json()["sessions"]
    assert [(info["session_id"], info["length"], info["title"]) for info in found] == [
        ("a", 4, "First question"),
        ("b", 2, "Second"),
    ]
    assert one == found[:1]
    assert found[0]["updated"].endswith("+00:00")


async def test_a_session_is_shown_part_by_part(ctx: RunContext) -> None:
    """Text, thinking, calls and results, in order."""
    reply = Message("assistant", (Thinking("Hm."), *call("shout", text="hi").parts))
    async with serving(scripted(ctx, reply, "HI")) as http:
        await said(http, "Shout", session_id="s1")
        shown = (await http.get("/sessions/s1")).json()
    assert [m["role"] for m in shown["messages"]] == ["user", "assistant", "tool", "assistant"]
    parts = [part for message in shown["messages"] for part in message["parts"]]
    assert parts[1] == {"type": "thinking", "text": "Hm."}
    assert parts[2] == {"type": "tool_call", "id": "c1", "name": "shout"} | {
        "arguments": {"text": "hi"}
    }
    assert parts[3] == {"type": "tool_result", "call_id": "c1", "name": "shout"} | {
        "text": "HI",
        "is_error": False,
    }


async def test_a_compacted_session_is_shown_from_its_beginning(ctx: RunContext) -> None:
    """What the model is no longer sent was said all the same; an image is described."""
    store = MemorySessionStore()
    image = Message("user", (Text("Look"), Image("image/png", "AAAA")))
    rows: list[Row] = [image, Message.assistant("I see."), Compaction((Message.user("short"),))]
    await store.append("local/s1", rows, 0, "local")
    await store.append("local/s2", [Compaction((Message.user("trimmed"),))], 0, "local")
    async with serving(scripted(ctx, store=store)) as http:
        messages = (await http.get("/sessions/s1")).json()["messages"]
        trimmed = (await http.get("/sessions/s2")).json()["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant"]
    assert messages[0]["parts"][1] == {"type": "image", "media_type": "image/png", "bytes": 3}
    assert trimmed[0]["parts"] == [{"type": "text", "text": "trimmed"}]


async def test_a_deleted_session_is_gone(ctx: RunContext) -> None:
    """It is unknown, and one with its id begins anew, with a run and a title of its own."""
    agent = scripted(ctx, "one", "two")
    async with serving(agent) as http:
        first = await said(http, "First", session_id="s1")
        await http.get("/sessions")
        assert (await http.delete("/sessions/s1")).status_code == 204
        assert problem(await http.delete("/sessions/s1")) == (404, "not_found")
        second = await said(http, "Second", session_id="s1")
        (info,) = (await http.get("/sessions")).json()["sessions"]
    assert first["run_id"] != second["run_id"]
    assert info["title"] == "Second"
    requests = agent.llm.models[0].provider.requests  # type: ignore[attr-defined]
    assert len(requests[1].messages) == 1


def test_a_long_title_is_cut() -> None:
    """It fits on a line, and shows that there is more."""
    assert shorten_title("word " * 100).endswith("…")
    assert len(shorten_title("x" * 1_000)) == 80
