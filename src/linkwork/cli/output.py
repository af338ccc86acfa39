"""What the commands print: text that any stream takes, tables, JSON, and names made safe to print.

Data goes to standard output and logs to standard error.  There is no colour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.console import Stream
from linkwork._util.messages__printing import escaped, label, number, numbers, table, width

__all__ = ["Stream", "Terminal", "escaped", "finite", "label", "number", "numbers", "quantity", "table", "width"]


@dataclass(frozen=True, slots=True)
class Terminal:
    """Where a command prints: data and logs."""

    out: Stream
    log: Stream

    def warning(self, text: str) -> None:
        self.log.line(f"linkwork: warning: {text}")

    def error(self, text: str) -> None:
        self.log.line(f"linkwork: error: {text}")


def quantity(count: int, singular: str) -> str:
    """ "1 link", "7 links"."""
    return f"{count} {singular}" if count == 1 else f"{count} {singular}s"


def finite(values: Any) -> list[float | None]:
    """Numbers as JSON has them: None where there is no bound (infinity)."""
    return [float(x) if np.isfinite(x) else None for x in values]
