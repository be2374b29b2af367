"""The tests of agentkit; they mirror the package, use no network and never sleep."""
