"""The agent over HTTP: chat, streams, sessions, runs, and OpenAI's protocol."""

from .app import create_app
from .serve import run
from .settings import ServerSettings

__all__ = ["ServerSettings", "create_app", "run"]
