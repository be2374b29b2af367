"""A deterministic stand-in for the providers' APIs, chosen by the first segment of the path.

http://host:port/<behaviour>/v1/chat/completions   Chat Completions
http://host:port/<behaviour>/v1/responses          Responses
http://host:port/<behaviour>/v1/messages           Anthropic Messages

What has happened so far is read from each request, so the server keeps nothing but the counters of
its faults, and answers are the same every time. See `behaviour.py` for what can be asked for.
"""
