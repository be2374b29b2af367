"""The generated project with the SDK of anthropic: everything on, as in `agentkit`."""

from .agentkit import AgentkitAgents

TITLE = "agentkit, the anthropic SDK"
IMPORT = "import agentkit"
PROJECT = {"sdks": "[anthropic]"}


def make(base: str) -> AgentkitAgents:
    """Build the agents."""
    return AgentkitAgents(f"anthropic/claude-sonnet-5-5?baseURL={base}")


def make_with_timeout(base: str, timeout: float) -> AgentkitAgents:
    """Build the agents with a timeout in seconds per model call."""
    return AgentkitAgents(
        f"anthropic/claude-sonnet-5-5?baseURL={base}&timeout={timeout * 1000:.0f}"
    )
