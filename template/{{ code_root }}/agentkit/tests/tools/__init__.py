"""Tests of tools, mirroring the package."""
