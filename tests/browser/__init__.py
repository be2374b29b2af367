"""Tests of the page in a real browser, against a real server on this machine."""
