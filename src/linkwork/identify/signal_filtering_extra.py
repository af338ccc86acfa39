"""SciPy, which is imported where it is used."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["scipy_part"]


def scipy_part(who: str, part: str) -> Any:
    """A module of SciPy's.  Raises ImportError, with the remedy, where it is not installed."""
    try:
        return importlib.import_module(f"scipy.{part}")
    except ImportError as error:
        raise ImportError(
            f'identify.{who} takes SciPy, which is not installed: pip install "linkwork[identify]"'
        ) from error
