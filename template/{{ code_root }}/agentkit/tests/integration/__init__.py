"""Tests of the modules together."""
