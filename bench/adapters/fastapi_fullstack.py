"""A generator of FastAPI applications with an AI agent; only scenario K measures it."""

TITLE = "fastapi-fullstack"
GENERATE = ("fastapi-fullstack", "create", "bench_agent", "--preset", "ai-agent")
