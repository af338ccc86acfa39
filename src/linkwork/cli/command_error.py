"""The error that ends a command, and exit codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.errors import Issue

__all__ = [
    "BAD_MODEL",
    "EXIT_CODES",
    "FAILED",
    "INTERRUPTED",
    "NO_READER",
    "USAGE",
    "CommandError",
    "UsageExit",
    "issue_data",
]

FAILED, USAGE, BAD_MODEL, INTERRUPTED, NO_READER = 1, 2, 3, 130, 141

EXIT_CODES: dict[int, str] = {
    0: "done",
    FAILED: "failed: no solution, robots that differ, an error while writing, a package that is not installed",
    USAGE: "wrong usage: invalid arguments, names that the robot does not have, a file to write that exists already or "
    "whose folder does not exist",
    BAD_MODEL: "a robot file that cannot be read, or a robot that the command does not support",
    INTERRUPTED: "interrupted (Ctrl-C)",
    NO_READER: "the reader of the output has closed it",
}
"""Exit codes of all commands, with their meanings."""


class CommandError(Exception):
    """An error that ends a command, with its exit code and message, and the problems of a file."""

    def __init__(self, code: int, message: str, issues: Sequence[Issue] = ()) -> None:
        super().__init__(message)
        self.code, self.issues = code, issues


class UsageExit(SystemExit):
    """The end of a command with wrong arguments, after the message has been printed."""

    def __init__(self, message: str) -> None:
        super().__init__(USAGE)
        self.message = message


def issue_data(issue: Issue) -> dict[str, Any]:
    """Return a problem of a robot's file as plain data for JSON."""
    where = issue.where
    return {
        "code": issue.code,
        "message": issue.message,
        "hint": issue.hint,
        "file": where.file,
        "line": where.line,
        "column": where.column,
        "element": where.element,
    }
