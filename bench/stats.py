"""What the mock server has counted."""

import json
import urllib.request


def requests_of(server: str, key: str) -> int:
    """Return how many requests carried that key in their behaviour segment."""
    with urllib.request.urlopen(server + "/_stats", timeout=5) as response:
        return int(json.load(response)["counters"].get(key, 0))
