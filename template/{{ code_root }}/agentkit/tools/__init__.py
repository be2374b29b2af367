"""Tools: functions that the model may call."""
