"""What goes wrong, as one line that says what to do, and as an exit code."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import typer

from ..errors import (
    AgentkitError,
    AuthenticationFailed,
    ContextTooLong,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    UnknownModel,
)
from ..llm.result import GenerateResult
from ..observability.redact import exception_text, mask, shorten
from ..texts import clean
from .terminal import complain, plain, say_aside

INTERRUPTED = 130  # what shells report for Ctrl-C
LONGEST = 1_000  # characters of a message; some providers answer with a page of HTML

_ADVICE: tuple[tuple[type[AgentkitError], str], ...] = (
    (AuthenticationFailed, "check the key, in .env or the environment"),
    (QuotaExhausted, "add credit at the provider, or use another --model"),
    (UnknownModel, "check the model's name and the address in the model URI"),
    (ContextTooLong, "start a new session"),
    (RateLimited, "wait a while and try again"),
    (Overloaded, "wait a while and try again"),
)
_PACKAGE = Path(__file__).parents[1]


@contextmanager
def reported(log_level: str = "warn") -> Iterator[None]:
    """Turn an exception into one line on stderr and an exit code, so that no traceback is shown.

    At log level `debug` the traceback of what is nobody's known mistake comes before the line.
    """
    try:
        yield
    except (typer.Exit, typer.BadParameter, BrokenPipeError):
        raise  # typer ends quietly when the reader of a pipe has gone
    except KeyboardInterrupt:
        say_aside("interrupted")
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:
        if log_level == "debug":
            say_aside(plain(mask(clean(traceback.format_exc()))), nl=False)
        complain(error_line(error))
        raise typer.Exit(1) from None


def error_line(error: BaseException) -> str:
    """Return what is wrong and what to do, without secrets."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, AgentkitError):
        text = str(error) or type(error).__name__
        advice = next((advice for kind, advice in _ADVICE if isinstance(error, kind)), None)
        text = f"{text}; {advice}" if advice else text
    elif isinstance(error, OSError) and error.strerror:
        text = f"{error.filename or type(error).__name__}: {error.strerror}"
    else:
        where = _where(error.__traceback__)
        text = f"{exception_text(error)}{where}; --log-level debug shows the traceback"
    return " ".join(shorten(mask(clean(text)), LONGEST).split())


def answer_problem(result: GenerateResult) -> str | None:
    """Return why a run ended without a whole answer, or None when it has one."""
    detail = f": {result.steps[-1].detail}" if result.steps and result.steps[-1].detail else ""
    match result.finish_reason:
        case "stop":
            return None
        case "length":
            return "the answer is cut off; raise maxTokens in the model URI"
        case "max_steps":
            return f"no final answer after {len(result.steps)} steps; raise the agent's max_steps"
        case "limit":
            return "no final answer: the run reached its limit of cost or tokens"
        case "empty":
            return "the model answered with nothing; ask again, or use another --model"
        case reason:
            return f"the answer was {reason}{detail}"


def _where(trace: TracebackType | None) -> str:
    """Return the last line of the user's own code that the traceback passes through."""
    frames = [(Path(f.filename), f.lineno) for f in traceback.extract_tb(trace)]
    own = [frame for frame in frames if _PACKAGE not in frame[0].parents]
    return f" ({own[-1][0].name}, line {own[-1][1]})" if own else ""
