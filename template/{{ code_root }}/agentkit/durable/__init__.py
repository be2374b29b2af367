"""Runs that survive a crash: see `DurableAgent`."""

from __future__ import annotations

from .agent import DurableAgent

__all__ = ["DurableAgent"]
