"""Origins of kernels in pickles: a robot or a joint, and the functions that the kernel computes.

A robot in a pickle has no shapes, since no function depends on them: meshes stay out of pickles.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from linkwork._util.lazy_dataclass import dataclass
from linkwork.kernels.function_request import Request
from linkwork.kernels.owners import JointOwner, KernelOwner, RobotOwner
from linkwork.model.function_spec import FunctionSpec
from linkwork.model.tree import Report, Tree

__all__ = ["RequestOrigin", "data_of", "read_origin"]


@dataclass(frozen=True, eq=False)
class RequestOrigin:
    """The owner and the functions of a kernel; `packed` are the bytes for a pickle."""

    subject: KernelOwner
    name: str
    requests: Mapping[str, Request]

    def packed(self) -> bytes | None:
        """Return the origin as bytes, which `read_origin` reads; None for functions outside linkwork's tables."""
        table = _table(self.subject.kind)
        if not all(table.get(request.spec.name) is request.spec for request in self.requests.values()):
            return None
        requests = [
            (key, r.spec.name, r.options, r.optional_inputs, r.wrenches, r.parameters)
            for key, r in self.requests.items()
        ]
        return zlib.compress(pickle.dumps((self.subject.kind, data_of(self.subject), self.name, requests), 5))


def read_origin(data: bytes) -> RequestOrigin:
    """Return the origin that `RequestOrigin.packed` wrote."""
    kind, values, name, requests = pickle.loads(zlib.decompress(data))
    table = _table(kind)
    subject: KernelOwner = RobotOwner(values, table) if kind == "robot" else JointOwner(values[0], values[1], table)
    return RequestOrigin(subject, name, {key: Request(table[spec], *more) for key, spec, *more in requests})


def _table(kind: str) -> Mapping[str, FunctionSpec]:
    """Return the table of the functions of a robot or of a joint, which is in a package above."""
    if kind == "robot":
        return import_module("linkwork.robot.robot_table").ROBOT  # type: ignore[no-any-return]
    return import_module("linkwork.kinematics.algorithms.joint_functions").TABLE  # type: ignore[no-any-return]


def data_of(subject: KernelOwner) -> Any:
    """Return the pickled data of a robot or a joint: a tree without shapes, or the joint's name and its placement."""
    if isinstance(subject, RobotOwner):
        return _without_shapes(subject.tree)
    assert isinstance(subject, JointOwner)
    return subject.name, subject.site


def _without_shapes(tree: Tree) -> Tree:
    """Return the tree without shapes, and without the report of its file."""
    frames = tuple([replace(frame, visuals=(), collisions=()) for frame in tree.frames])
    return replace(tree, frames=frames, report=Report(), source=None)
