"""These tests run under the rules and with the fixtures of agentkit's own, as those in runtime/."""

from runtime.conftest import *  # noqa: F403
