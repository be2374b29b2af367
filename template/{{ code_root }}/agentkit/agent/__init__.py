"""The agent: a system prompt, tools and sessions round a requester."""
