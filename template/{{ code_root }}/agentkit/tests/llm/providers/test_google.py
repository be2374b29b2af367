"""The Gemini adapter at the wire: what is posted where, and what comes back."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from ....errors import ConfigError
from ....llm.events import TextDelta, ThinkingDelta
from ....llm.model_uri import ModelURI
from ....llm.provider import Provider, Request, create_provider
from ....llm.schema import output_schema
from ....messages import Message, Reply
from ....tools.tool import Tool, tool
from ....transport import HttpClients
from ...chat_replies import answer, calls, usage
from ...fake_gemini import GEMINI, OLD_GEMINI, FakeGemini

HELLO = [Message.user("hello")]


@tool
async def get_word(word: str) -> str:
    """Look up a word: nghĩa."""
    return word


def provider(fake: FakeGemini, uri: str = GEMINI) -> Provider:
    """Return the provider of a URI over a fake server."""
    return create_provider(ModelURI.parse(uri), HttpClients(fake.transport))


async def stream(made: Provider, request: Request) -> tuple[list[Any], Reply]:
    """Return the deltas of a streamed reply, and the reply."""
    events = [event async for event in made.stream(request)]
    reply = events.pop()
    assert isinstance(reply, Reply)
    return events, reply


async def test_a_request_holds_only_what_was_asked_for() -> None:
    """Contents, no parameter that nobody set; the key is in a header."""
    with FakeGemini(["hi"]) as fake:
        await provider(fake).complete(Request(HELLO))
    address = "https://generativelanguage.googleapis.com/v1/models/gemini-3.8-flash"
    assert fake.urls == [f"{address}:generateContent"]
    assert fake.headers[0]["x-goog-api-key"] == "AIza-test-0123456789"
    assert fake.requests == [
        {
            "model": "gemini-3.8-flash",
            "contents": [{"role": "user", "parts": [{"text": "hello"}]}],
            "generationConfig": {},
        }
    ]


async def test_a_stream_is_asked_for_in_the_address() -> None:
    """As server-sent events, with the same body."""
    with FakeGemini(["hi"]) as fake:
        _, reply = await stream(provider(fake), Request(HELLO))
    assert fake.urls[0].endswith(":streamGenerateContent?alt=sse")
    assert (reply.message.text, reply.usage.total_tokens) == ("hi", 120)


async def test_a_streamed_reply_equals_a_whole_one() -> None:
    """The same reasoning, text and calls are the same value either way."""
    said = calls(("get_word", {"word": "nghĩa 🌍"}), text="Xin chào", ids=["c1"])
    said = replace(said, extra={"thinking": "let me think"})
    with FakeGemini([said]) as first, FakeGemini([said]) as second:
        request = Request(HELLO, (get_word,))
        whole = await provider(first).complete(request)
        events, streamed = await stream(provider(second), request)
    assert streamed == whole
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "Xin chào"
    assert "".join(e.text for e in events if isinstance(e, ThinkingDelta)) == "let me think"


async def test_usage_means_the_same_as_everywhere() -> None:
    """Input includes what was cached, output includes reasoning, which Gemini counts apart."""
    counts = usage(prompt=1000, completion=90, cached=800, reasoning=50)
    with FakeGemini([answer("hi", usage=counts)]) as fake:
        got = (await provider(fake).complete(Request(HELLO))).usage
    assert (got.input_tokens, got.cache_read_tokens) == (1000, 800)
    assert (got.output_tokens, got.reasoning_tokens) == (90, 50)


async def test_missing_usage_is_no_fault() -> None:
    """Nothing is known of what it took."""
    with FakeGemini([answer("hi", usage=None)]) as fake:
        reply = await provider(fake).complete(Request(HELLO))
    assert reply.usage.total_tokens == 0


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_call_without_an_id_gets_one(streaming: bool) -> None:
    """Ids are the server's where it gives some, else invented, each its own."""
    said = calls(("get_word", {}), ("get_word", {}))
    with FakeGemini([said]) as fake:
        made, request = provider(fake), Request(HELLO, (get_word,))
        if streaming:
            _, reply = await stream(made, request)
        else:
            reply = await made.complete(request)
    first, second = reply.message.tool_calls
    assert first.id
    assert second.id
    assert first.id != second.id


async def test_system_messages_become_the_instruction() -> None:
    """All of them, apart from the contents."""
    with FakeGemini(["hi"]) as fake:
        messages = [Message.system("Be kind."), Message.system("Be brief."), *HELLO]
        await provider(fake).complete(Request(messages))
    instruction = fake.requests[0]["systemInstruction"]
    assert instruction == {"parts": [{"text": "Be kind."}, {"text": "Be brief."}]}
    assert len(fake.requests[0]["contents"]) == 1


async def test_tools_are_made_once_per_sequence() -> None:
    """The declarations are kept, but only for the very same tools."""
    other = Tool("other", "Other.", {}, get_word.execute)
    with FakeGemini(["a", "b", "c"]) as fake:
        made = provider(fake)
        for tools in ((get_word,), (other,), ()):
            await made.complete(Request(HELLO, tools))
    declared = [
        [f["name"] for t in request.get("tools", ()) for f in t["functionDeclarations"]]
        for request in fake.requests
    ]
    assert declared == [["get_word"], ["other"], []]


async def test_a_tool_that_gemini_refuses_is_left_out_with_a_warning() -> None:
    """One bad tool does not spoil the run."""
    warnings: list[str] = []
    odd = Tool("7zip", "Pack.", {}, get_word.execute)
    with FakeGemini(["hi"]) as fake:
        request = Request(HELLO, (odd, get_word), warn=warnings.append)
        await provider(fake).complete(request)
    [declared] = fake.requests[0]["tools"][0]["functionDeclarations"]
    assert declared["name"] == "get_word"
    assert len(warnings) == 1
    assert "7zip" in warnings[0]


async def test_an_answer_is_asked_for_by_its_schema() -> None:
    """As JSON, together with tools."""
    with FakeGemini(['{"value":[1]}']) as fake:
        request = Request(HELLO, (get_word,), output_schema(list[int]))
        await provider(fake).complete(request)
    config = fake.requests[0]["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"]["required"] == ["value"]
    assert "toolConfig" not in fake.requests[0]


async def test_an_older_model_gives_its_answer_through_a_tool() -> None:
    """It takes no schema together with tools: the answer is a tool, and some tool must be used."""
    with FakeGemini([calls(("answer_list", {"value": [1]})), '{"value":[2]}']) as fake:
        made, schema = provider(fake, OLD_GEMINI), output_schema(list[int])
        reply = await made.complete(Request(HELLO, (get_word,), schema))
        await made.complete(Request(HELLO, (), schema))
    first, second = fake.requests
    names = [function["name"] for function in first["tools"][0]["functionDeclarations"]]
    assert names == ["get_word", "answer_list"]
    assert first["toolConfig"] == {"functionCallingConfig": {"mode": "ANY"}}
    assert reply.message.tool_calls[0].arguments == {"value": [1]}
    assert "responseJsonSchema" in second["generationConfig"]


async def test_settings_go_out_under_their_names() -> None:
    """The URI's and the request's, a zero as well."""
    settings = {
        **{"max_tokens": 50, "temperature": 0, "top_p": 0.9, "top_k": 40},
        **{"stop": "END", "seed": 7, "reasoning": "low"},
    }
    with FakeGemini(["hi"]) as fake:
        await provider(fake).complete(Request(HELLO, settings=settings))
    assert fake.requests[0]["generationConfig"] == {
        **{"maxOutputTokens": 50, "temperature": 0, "topP": 0.9, "topK": 40},
        **{"stopSequences": ["END"], "seed": 7},
        "thinkingConfig": {"thinkingLevel": "LOW", "includeThoughts": True},
    }


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("none", {"thinkingBudget": 0}),
        (2048, {"thinkingBudget": 2048, "includeThoughts": True}),
    ],
)
async def test_a_budget_of_reasoning_works_with_all_models(value: Any, sent: Any) -> None:
    """In tokens; none is a budget of zero, which leaves no thoughts to be shown."""
    with FakeGemini(["hi"]) as fake:
        await provider(fake, OLD_GEMINI).complete(Request(HELLO, settings={"reasoning": value}))
    assert fake.requests[0]["generationConfig"]["thinkingConfig"] == sent


@pytest.mark.parametrize(
    ("uri", "named"),
    [
        (f"{OLD_GEMINI}&reasoning=low", "reasoning=low"),
        (f"{GEMINI}&seed=9999999999", "9999999999"),
        (f"responses://{GEMINI}", "use chat://google/"),
        (f"{GEMINI}&baseURL=http://h/v1?a=b", "can have no query"),
        ("google/../secrets?apiKey=AIza-test-0123456789", "has such a name"),
        ("google/gemini%2523?apiKey=AIza-test-0123456789", "has such a name"),
    ],
)
def test_what_gemini_cannot_take_is_refused_at_once(uri: str, named: str) -> None:
    """The error names it."""
    with pytest.raises(ConfigError, match=named):
        create_provider(ModelURI.parse(uri), HttpClients())


async def test_a_setting_of_one_request_is_refused_at_the_call() -> None:
    """Nothing is sent."""
    with FakeGemini([]) as fake, pytest.raises(ConfigError, match="reasoning=high"):
        await provider(fake, OLD_GEMINI).complete(Request(HELLO, settings={"reasoning": "high"}))


@pytest.mark.parametrize(
    ("base_url", "address"),
    [
        ("http://h:1", "http://h:1/v1/models/"),
        ("http://h/gemini/", "http://h/gemini/v1/models/"),
        ("http://h/v1beta", "http://h/v1beta/models/"),
    ],
)
async def test_a_base_url_of_the_users_own(base_url: str, address: str) -> None:
    """With or without a version; such an address may need no key."""
    with FakeGemini(["hi"], needs_key=False) as fake:
        uri = f"google/gemini-3.8-flash?baseURL={base_url}"
        await provider(fake, uri).complete(Request(HELLO))
    assert fake.urls == [f"{address}gemini-3.8-flash:generateContent"]


@pytest.mark.parametrize(
    ("environment", "used"),
    [
        ({"GEMINI_API_KEY": "AIza-gemini"}, "AIza-gemini"),
        ({"GOOGLE_API_KEY": "AIza-google"}, "AIza-google"),
        ({"GEMINI_API_KEY": "AIza-gemini", "GOOGLE_API_KEY": "AIza-google"}, "AIza-gemini"),
        ({"GEMINI_API_KEY": " ", "GOOGLE_API_KEY": "AIza-google"}, "AIza-google"),
    ],
)
@pytest.mark.parametrize("name", ["google", "gemini"])
async def test_the_key_comes_from_either_variable(
    name: str,
    environment: dict[str, str],
    used: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """GEMINI_API_KEY first; nothing is printed, not even by the SDK when both are set."""
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    with FakeGemini(["hi"]) as fake:
        await provider(fake, f"{name}/gemini-3.8-flash").complete(Request(HELLO))
    assert fake.headers[0]["x-goog-api-key"] == used
    assert capfd.readouterr() == ("", "")


def test_a_missing_key_is_told_at_once() -> None:
    """With the name of the variable to set."""
    with pytest.raises(ConfigError, match="GEMINI_API_KEY is not set"):
        create_provider(ModelURI.parse("google/gemini-3.8-flash"), HttpClients())


def test_a_missing_sdk_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs it."""
    monkeypatch.setattr(f"{__package__.partition('.tests')[0]}.llm.providers.google.find_spec", _no)
    with pytest.raises(ConfigError, match="pip install google-genai"):
        create_provider(ModelURI.parse(GEMINI), HttpClients())


def _no(name: str) -> None:
    return None


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_reply_in_several_parts_is_continued(streaming: bool) -> None:
    """The same request goes out with the token; the usage of all of them adds up."""
    begun = answer("Once upon ", extra={"continuation": "dG9rZW4="})
    with FakeGemini([begun, answer("a time", extra={"continuation": "c2Vjb25k"}), "."]) as fake:
        if streaming:
            deltas, reply = await stream(provider(fake), Request(HELLO))
            assert "".join(delta.text for delta in deltas) == "Once upon a time."
        else:
            reply = await provider(fake).complete(Request(HELLO))
    assert reply.message == Message.assistant("Once upon a time.")
    assert (reply.finish_reason, reply.usage.input_tokens) == ("stop", 300)
    tokens = [request.pop("continuationToken", None) for request in fake.requests]
    assert tokens == [None, "dG9rZW4=", "c2Vjb25k"]
    assert fake.requests[0] == fake.requests[1] == fake.requests[2]


async def test_a_reply_that_never_ends_is_cut_off() -> None:
    """Everything that repeats is bounded."""
    with FakeGemini([answer("on and ", extra={"continuation": "dG9rZW4="})] * 11) as fake:
        reply = await provider(fake).complete(Request(HELLO))
    assert (reply.finish_reason, len(fake.requests)) == ("length", 11)
    assert reply.message.text == "on and " * 11


async def test_each_message_is_made_into_contents_once() -> None:
    """The same object goes out with every request."""
    message = Message.user("hello")
    with FakeGemini(["a", "b"]) as fake:
        made = provider(fake)
        await made.complete(Request([message]))
        content = message.once("google", repr)
        await made.complete(Request([message]))
    assert message.once("google", repr) is content
    assert content == {"role": "user", "parts": [{"text": "hello"}]}


async def test_half_characters_never_reach_the_wire() -> None:
    """Wherever text comes from: the fake refuses a lone surrogate."""
    half = Tool("half", "half \ud83d", {"properties": {"a": {"enum": ["\ud83d"]}}}, get_word.execute)
    messages = [Message.user("half \ud83d")]
    with FakeGemini(["hi"]) as fake:
        await provider(fake).complete(Request(messages, (half,), settings={"stop": ["\ud83d"]}))
    assert fake.requests[0]["generationConfig"]["stopSequences"] == ["\ufffd"]


def test_one_provider_serves_several_event_loops() -> None:
    """Nothing in it is bound to the loop that it was used on first."""
    with FakeGemini(["a", "b"]) as fake:
        made = provider(fake)
        texts = [asyncio.run(made.complete(Request(HELLO))).message for _ in range(2)]
    assert texts == [Message.assistant("a"), Message.assistant("b")]
