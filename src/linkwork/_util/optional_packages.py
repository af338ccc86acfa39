"""Import of packages that linkwork's extras install."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["optional_module"]


def optional_module(name: str, needed: str, extra: str) -> Any:
    """Import a module that an extra of linkwork installs.

    ``needed`` says what needs the package: "tables need pandas".  Raises ImportError, with the installation command,
    without the package.
    """
    try:
        return import_module(name)
    except ImportError as error:
        message = f'{needed}, which is not installed: pip install "linkwork[{extra}]"'
        raise ImportError(message, name=error.name) from error
