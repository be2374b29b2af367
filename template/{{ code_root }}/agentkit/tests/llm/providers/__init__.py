"""Tests of the adapters that come without an SDK."""
