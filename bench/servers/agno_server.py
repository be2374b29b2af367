"""agno's AgentOS with the SQLite database of its documents; telemetry and access log are off."""

# mypy: disable-error-code="import-not-found"

import sys

import uvicorn
from agno.agent import Agent
from agno.db.sqlite import SqliteDb
from agno.models.openai import OpenAIChat
from agno.os import AgentOS

from ..floor import MODEL, SYSTEM, echo

TITLE = "agno AgentOS"
ENVIRONMENT = {"AGNO_TELEMETRY": "false"}
REQUEST = {
    "path": "/agents/bench/runs",
    "content_type": "application/x-www-form-urlencoded",
    "body": "message=$prompt&stream=true&session_id=$session&user_id=$user",
}
TEXT = r'"event": ?"RunContent"[^\n]*"content": ?"([^"]+)"'

if __name__ == "__main__":
    port, base = sys.argv[1:]
    agent = Agent(
        id="bench",
        model=OpenAIChat(id=MODEL, base_url=base + "/v1", api_key="sk-test"),
        system_message=SYSTEM,
        tools=[echo],
        db=SqliteDb(db_file="agno.db"),
        add_history_to_context=True,
        telemetry=False,
    )
    app = AgentOS(agents=[agent], telemetry=False).get_app()
    uvicorn.run(app, port=int(port), log_level="warning")
