"""Settings and keys from `.env` in the current directory."""

from __future__ import annotations

from pathlib import Path

from ..errors import ConfigError
from ..observability.redact import add_environment


def load_environment(file: Path = Path(".env")) -> None:
    """Set the variables of the file that are not set yet, and remember the keys among all.

    No file is fine. Raises `ConfigError` for one that is no UTF-8 text or holds NUL.
    """
    if file.is_file():
        from dotenv import load_dotenv

        try:
            load_dotenv(file, override=False, encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise ConfigError(f"{file} is not UTF-8 text; save it as UTF-8") from None
        except ValueError:
            raise ConfigError(f"{file} holds a NUL character; save it anew as UTF-8 text") from None
    add_environment()
