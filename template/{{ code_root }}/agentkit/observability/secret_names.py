"""What gives a secret away that nobody told us of: its name, or its shape."""

from __future__ import annotations

import re

MASK = "***"

_NAME = (
    r"(?i:[a-z]*apikey|(?:api|access|private|secret|subscription|signing)[-_]?key|secret|token"
    r"|password|passwd|pwd|passphrase|authorization|auth|credential|signature|sig)s?"
)
_SECRET_NAME = re.compile(
    rf"(?:^|[-_.]|(?<=[a-z0-9])(?=[A-Z])){_NAME}$|(?i:^x-.*-(?:key|token)$|^(?:set-)?cookie$)"
)
_COUNT = re.compile(
    r"(?i)(?:max|total|input|output|prompt|completion)[-_]?tokens?$"
    r"|(?:new|read|write|creation|cached?|reasoning|thinking|budget)[-_]?tokens$"
)
_TOKEN = re.compile(r"(?i)tokens?$")
_KEY = re.compile(r"(?i)(?:^|[-.])key$")  # of what, only its place can tell
_IN_URL = ("key", "code")

# A name and what stands between it and its value: `name=`, `name='`, `"name": "`.
_NAMED = re.compile(r"(?<![\w.-])([\w.-]++)(=(?:\\*[\"'])?|\\*[\"']\s*+:\s*+\\*[\"'])")
_QUOTED, _BARE = re.compile(r"[^\"']+"), re.compile(r"[^&\s\"'<>;]+")
_SHAPES = (
    (re.compile(r"(?i)\b(bearer|(?<=authorization: )basic)\s+[\w.~+/=-]{6,}"), rf"\1 {MASK}"),
    (re.compile(r"(://[^/\s:@]*):[^/\s@]+@"), rf"\1:{MASK}@"),
    (re.compile(r"\b(?:sk-|gsk_|AIza|xai-|hf_|pplx-|csk-)[A-Za-z0-9_-]{16,}"), MASK),
)
_HINTS = re.compile(r"[=:]|sk-|gsk_|AIza|xai-|hf_|pplx-|(?i:bearer)")  # each has one


def is_secret_name(name: str) -> bool:
    """Tell whether a header, parameter or key of this name holds a secret."""
    return bool(_SECRET_NAME.search(name)) and not _COUNT.search(name)


def is_secret_parameter(name: str) -> bool:
    """Tell whether a parameter of a URL holds a secret, where `key` and `code` do as well."""
    return is_secret_name(name) or name.lower() in _IN_URL


def is_secret(name: str, value: object) -> bool:
    """Tell whether a value of this name is to be hidden; a number of tokens is none to hide."""
    if value is None or isinstance(value, bool) or not is_secret_name(name):
        return False
    return not (isinstance(value, (int, float)) and _TOKEN.search(name))


def mask_shapes(text: str) -> str:
    """Return the text without what looks like a secret. Takes time in proportion to its length."""
    if not _HINTS.search(text):
        return text
    for shape, replacement in _SHAPES:
        text = shape.sub(replacement, text)
    return _mask_named(text)


def _mask_named(text: str) -> str:
    pieces, done = [], 0
    for found in _NAMED.finditer(text):
        name, between = found.groups()
        in_url = found.start() > 0 and text[found.start() - 1] in "?&"
        if found.start() < done or not _is_secret_here(name, in_url):
            continue
        value = (_QUOTED if between[-1] in "\"'" else _BARE).match(text, found.end())
        if value and not (_is_plural(name) and value[0].rstrip(".,)]}").isdigit()):
            pieces += [text[done : found.end()], MASK]
            done = value.end()
    return "".join([*pieces, text[done:]])


def _is_secret_here(name: str, in_url: bool) -> bool:
    is_parameter = in_url and is_secret_parameter(name)
    return is_parameter or is_secret_name(name) or bool(_KEY.search(name))


def _is_plural(name: str) -> bool:
    return name.lower().endswith("tokens")  # a count, where a number follows
