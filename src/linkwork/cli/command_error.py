"""The error that ends a command, and exit codes."""

from __future__ import annotations

__all__ = ["BAD_MODEL", "FAILED", "USAGE", "CommandError"]

FAILED, USAGE, BAD_MODEL = 1, 2, 3  # exit codes


class CommandError(Exception):
    """An error that ends a command, with its exit code and message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
