"""Tests of content, mirroring the package."""
