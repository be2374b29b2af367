"""How the server behaves, written in the path so that a client only changes its base URL."""

from dataclasses import dataclass, field
from functools import lru_cache

FAULTS = (
    "429",
    "500",
    "503",
    "400",
    "401",
    "403",
    "hang",
    "reset",
    "trunc",
    "badjson",
    "badschema",
)


@dataclass(frozen=True)
class Behaviour:
    """One parsed segment such as "s10-d50-c1000"; a letter and a value per word, joined by dashes.

    s tool calls before the answer; d latency in ms; c chunks of the answer; b characters per chunk;
    i ms between chunks; g events per socket write; f a fault; n how many requests of key k fail
    (0: all); k the counter's key; r Retry-After in ms. An unknown word, such as x, changes nothing.
    """

    tool_calls: int = 0
    latency: float = 0.0
    chunk_delay: float = 0.0
    events_per_write: int = 1
    fault: str = ""
    failures: int = 1
    key: str = ""
    retry_after_ms: int = 0
    chunks: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The whole answer."""
        return "".join(self.chunks)


@lru_cache(maxsize=4096)
def parse(segment: str) -> Behaviour:
    """Parse a path segment."""
    words = {word[0]: word[1:] for word in segment.split("-") if word}
    fault = words.get("f", "")
    return Behaviour(
        tool_calls=_number(words.get("s"), 0),
        latency=_number(words.get("d"), 0) / 1e3,
        chunk_delay=_number(words.get("i"), 0) / 1e3,
        events_per_write=_number(words.get("g"), 1),
        fault=fault if fault in FAULTS else "",
        failures=_number(words.get("n"), 1),
        key=words.get("k", ""),
        retry_after_ms=_number(words.get("r"), 0),
        chunks=_chunks(_number(words.get("c"), 8), _number(words.get("b"), 4)),
    )


def _number(word: str | None, default: int) -> int:
    return int(word) if word and word.isdigit() else default


def _chunks(count: int, size: int) -> list[str]:
    # Neighbours differ: a client may take equal chunks for a model that loops.
    return [(f"{number % 1000:03d}" + "x" * (size - 4) + " ")[-size:] for number in range(count)]
