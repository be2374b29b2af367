"""Tests of model calls, mirroring the package."""
