"""Servers of an agent over HTTP, one module each: python -m bench.servers.NAME PORT BASE

BASE is the mock server's address with a behaviour. All agents have the floor's model, system
prompt and tool. The driver reads the constants without importing the module: REQUEST says how a
client asks for a stream ($user, $session and $prompt stand for its own), TEXT is the regular
expression of a piece of text in it.
"""
