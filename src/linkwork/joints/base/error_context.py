"""Errors of a joint type's own code, told with the joint's name, the method and the line."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import unwrap
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from linkwork.errors import JointMethodError

if TYPE_CHECKING:
    from linkwork.joints.base.joint_type import JointType

__all__ = ["asked", "blaming", "own_line"]

_CONTRACT = f"{__package__}.contract"


def asked(name: str, joint: JointType, method: str, *arguments: Any) -> Any:
    """What a method of the type gives.  Raises JointMethodError, which names the joint, where the method raises."""
    try:
        return getattr(joint, method)(*arguments)
    except JointMethodError:
        raise
    except Exception as raised:
        kind = type(joint)
        raise JointMethodError(name, kind.__name__, method, own_line(raised, kind)) from raised


@contextmanager
def blaming(name: str, joint: JointType) -> Iterator[None]:
    """Raises JointMethodError for what is raised within by the type's own code; what others raise passes through."""
    try:
        yield
    except JointMethodError:
        raise
    except Exception as raised:
        kind = type(joint)
        own = _own_frames(raised, kind)
        if not own or kind.__module__.startswith("linkwork."):
            raise
        raise JointMethodError(name, kind.__name__, own[0].name, own_line(raised, kind)) from raised


def own_line(raised: BaseException, kind: type[JointType]) -> str:
    """The error, and the last line of the type's own code that it came through."""
    own = _own_frames(raised, kind)
    text = f": {own[-1].line}" if own and own[-1].line else ""  # what was typed at a prompt has none
    where = f" in {kind.__name__}.{own[-1].name}, line {own[-1].lineno}{text}" if own else ""
    return f"{type(raised).__name__}: {raised}{where}"


def _own_frames(raised: BaseException, kind: type[JointType]) -> list[traceback.FrameSummary]:
    """Where an error passed through the files in which the type and its bases below the contract are written."""
    codes = [
        getattr(unwrap(value), "__code__", None)
        for base in takewhile(lambda base: base.__module__ != _CONTRACT, kind.__mro__)
        for value in vars(base).values()
    ]
    names = {(code.co_filename, code.co_name) for code in codes if code is not None}
    return [frame for frame in traceback.extract_tb(raised.__traceback__) if (frame.filename, frame.name) in names]
