"""Google's generator of agents; only scenario K measures it."""

TITLE = "google-agents-cli"
GENERATE = ("agents-cli", "create", "bench-agent", "-y")
