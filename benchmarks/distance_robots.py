"""Distances of robots: what `python -m benchmarks.distance` measures besides pairs of shapes."""

from __future__ import annotations

from typing import Any

from linkwork.cli.output import Terminal
from linkwork.cli.timing import Effort

from .verdicts import Verdict

__all__ = ["measured"]


def measured(effort: Effort, quick: bool, terminal: Terminal) -> tuple[list[dict[str, Any]], list[Verdict]]:
    """What was measured, and the rows of the table of targets."""
    return [], []
