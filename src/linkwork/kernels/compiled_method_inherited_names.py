"""The names that Python's own messages give to methods of a class that is made of parts."""

from __future__ import annotations

from inspect import unwrap
from types import FunctionType
from typing import Any

__all__ = ["named_after"]


def named_after(whole: type[Any]) -> None:
    """Methods that a class inherits go by its own name in messages: "Robot.pose() missing 1 required ..."."""
    for part in whole.__mro__[1:-1]:
        for name, method in vars(part).items():
            if isinstance(method, FunctionType):
                for one in (method, unwrap(method)):
                    one.__qualname__, one.__module__ = f"{whole.__name__}.{name}", whole.__module__
