"""`gemini/<model>` is another name for `google/<model>`."""

from __future__ import annotations

from .google import create

__all__ = ["create"]
