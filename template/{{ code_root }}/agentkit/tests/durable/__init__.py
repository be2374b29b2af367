"""Tests of durable runs."""
