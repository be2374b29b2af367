"""Tests of agentkit that a project does not need: of its test doubles, and of whole processes."""
