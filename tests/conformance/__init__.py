"""One set of scenarios for every adapter. `python -m tests.conformance` prints how they end."""
