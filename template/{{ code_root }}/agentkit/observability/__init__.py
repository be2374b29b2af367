"""Logs, costs, redaction and the record of every model call."""
