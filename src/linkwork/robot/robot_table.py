"""Tables of the specifications of all functions of a robot and of a joint, in the order of the reference page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from linkwork.dynamics import algorithms as dynamics
from linkwork.kernels.owners import NONE, RobotOwner
from linkwork.kinematics import algorithms as kinematics
from linkwork.mechanisms import algorithms as mechanisms
from linkwork.model.function_spec import FunctionSpec
from linkwork.model.tree import Tree

if TYPE_CHECKING:
    from linkwork.model.parametrized_tree import ParameterValues

__all__ = ["ROBOT", "robot_owner"]

_MODULES = [f"{room.__name__}.{name}" for room in (kinematics, dynamics, mechanisms) for name in room.MODULES.split()]


class _RobotTable(Mapping[str, FunctionSpec]):
    """Table of a robot's functions: each function's specification by name.

    A look-up imports the modules of algorithms in order, until a module defines the function. Two threads that import
    a module get the same specifications.
    """

    def __init__(self) -> None:
        self._rows: dict[str, FunctionSpec] = {}
        self._imported = 0

    def __getitem__(self, name: str) -> FunctionSpec:
        while name not in self._rows and self._imported < len(_MODULES):
            self._import_next()
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        self._import_all()
        return iter(self._rows)

    def __len__(self) -> int:
        self._import_all()
        return len(self._rows)

    def __repr__(self) -> str:
        return f"<functions of robots: {len(self)}, such as {next(iter(self))!r}>"

    def _import_all(self) -> None:
        while self._imported < len(_MODULES):
            self._import_next()

    def _import_next(self) -> None:
        count = self._imported
        module: Any = import_module(_MODULES[count])
        for row in module.ROWS:
            if self._rows.setdefault(row.name, _complete(row)).compute is not row.compute:
                raise ValueError(f"two functions are named {row.name!r}")
        self._imported = max(self._imported, count + 1)


def _complete(row: FunctionSpec) -> FunctionSpec:
    """Return a specification with data added to it that other modules define."""
    if row.requires_regular_coordinates:
        checks = import_module("linkwork.dynamics.singular_inertia")
        row = replace(row, inertia_check=checks.SINGULAR_INERTIA)
    return mechanisms.for_constrained_robots(row)


ROBOT: Mapping[str, FunctionSpec] = _RobotTable()


def robot_owner(tree: Tree, parameter_values: ParameterValues = NONE) -> RobotOwner:
    """Return the object to which a robot's functions belong, for requests and traces of kernels."""
    return RobotOwner(tree, ROBOT, parameter_values)
