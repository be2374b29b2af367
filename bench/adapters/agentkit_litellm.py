"""The generated project with the SDK of litellm: everything on, as in `agentkit`."""

from ..floor import MODEL
from .agentkit import AgentkitAgents

TITLE = "agentkit, litellm"
IMPORT = "import agentkit"
PROJECT = {"sdks": "[litellm]"}


def make(base: str) -> AgentkitAgents:
    """Build the agents."""
    return AgentkitAgents(f"litellm/openai/{MODEL}?baseURL={base}/v1")


def make_with_timeout(base: str, timeout: float) -> AgentkitAgents:
    """Build the agents with a timeout in seconds per model call."""
    return AgentkitAgents(f"litellm/openai/{MODEL}?baseURL={base}/v1&timeout={timeout * 1000:.0f}")
