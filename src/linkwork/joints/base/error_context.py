"""Errors raised by the code of a joint type, reported with the joint's name, the method and the line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from linkwork._util.lazy_imports import defining_module
from linkwork._util.user_frames import own_frames, own_line
from linkwork.errors import JointMethodError

if TYPE_CHECKING:
    from linkwork.joints.base.joint_type import JointType

__all__ = ["attribute_errors", "call_joint"]

_CONTRACT = f"{__package__}.joint_type"  # module of JointType, which imports this one


def call_joint(name: str, joint: JointType, method: str, *arguments: Any) -> Any:
    """Return the result of a method of a joint type.

    Raises JointMethodError, with the joint's name, for an exception in the method.
    """
    try:
        return getattr(joint, method)(*arguments)
    except JointMethodError:
        raise
    except Exception as raised:
        kind = type(joint)
        raise JointMethodError(name, kind.__name__, method, own_line(raised, kind, _contract(kind))) from raised


@contextmanager
def attribute_errors(name: str, joint: JointType) -> Iterator[None]:
    """Convert exceptions raised by the type's own code within the context to JointMethodError."""
    try:
        yield
    except JointMethodError:
        raise
    except Exception as raised:
        kind = type(joint)
        frames = own_frames(raised, kind, _contract(kind))
        if not frames or kind.__module__.startswith("linkwork."):
            raise
        raise JointMethodError(name, kind.__name__, frames[0].name, own_line(raised, kind, _contract(kind))) from raised


def _contract(kind: type[JointType]) -> type:
    return next(base for base in kind.__mro__ if defining_module(base) == _CONTRACT)
