"""An MCP server for the tests of stdio: run as a program, with nothing but the standard library.

Its first argument is a JSON object: `how` it behaves before it serves, and a `ledger` file that
gets a line per start and per call.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

OPTIONS = json.loads(sys.argv[1])
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "child", "version": "1"},
}
TOOLS = ("echo", "die", "env", "grandchild", "slow", "print")


def note(line: str) -> None:
    """Write a line to the ledger."""
    with open(OPTIONS["ledger"], "a", encoding="utf-8") as ledger:
        ledger.write(line + "\n")


def call(name: str, arguments: Any) -> str:
    """Return what a tool says."""
    note(name)
    if name == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "slow":
        time.sleep(60)
    if name == "print":
        print("no message at all", flush=True)
    if name == "env":
        return json.dumps([dict(os.environ), os.getcwd()])
    if name == "grandchild":
        script = (
            "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
        )
        return str(subprocess.Popen([sys.executable, "-I", "-S", "-c", script]).pid)
    return f"{os.getpid()} got {json.dumps(arguments)}"


def serve() -> None:
    """Answer requests of the protocol of 2025 until the input ends."""
    for number, line in enumerate(sys.stdin):
        message = json.loads(line)
        method, params = message["method"], message.get("params", {})
        if OPTIONS["how"] == "strict" and number == 0 and method != "initialize":
            sys.exit("expected initialize")
        answer: dict[str, Any] = {"error": {"code": -32601, "message": "Method not found"}}
        if method == "initialize":
            answer = {"result": HELLO}
        elif method == "tools/list":
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]
            answer = {"result": {"tools": tools}}
        elif method == "tools/call":
            text = call(params["name"], params.get("arguments"))
            answer = {"result": {"content": [{"type": "text", "text": text}]}}
        if "id" in message:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)


note("start")
if OPTIONS["how"] == "exit":
    sys.exit("loading\nModuleNotFoundError: No module named 'numpy'")
if OPTIONS["how"] == "long":
    print("x" * 100_000, flush=True)
if OPTIONS["how"] == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(60)
serve()
if OPTIONS["how"] == "stays":
    time.sleep(60)
