"""Views of a robot's joints, links and limits, as `linkwork.Robot` and `linkwork.Joint` return them.

Pickles of earlier versions name modules that were in this package: they are found under their present names.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.compare.plausibility.model_check import ModelCheck as ModelCheck
    from linkwork.compare.plausibility.model_check import ModelFinding as ModelFinding
    from linkwork.compare.robot_comparison import ComparedQuantity as ComparedQuantity
    from linkwork.compare.robot_comparison import RobotComparison as RobotComparison
    from linkwork.compare.robot_comparison import RobotDifference as RobotDifference
    from linkwork.model.tree import Report as Report
    from linkwork.robot.actuation_methods import NamedConfiguration as NamedConfiguration
    from linkwork.robot.joint.joint import Bounds as Bounds
    from linkwork.robot.joint.link_methods import LinkMotion as LinkMotion
    from linkwork.robot.joint.link_methods import LinkVelocityAcceleration as LinkVelocityAcceleration
    from linkwork.robot.joint.link_methods import ScrewAxes as ScrewAxes
    from linkwork.robot.joint.loop_joint_view import LoopJointView as LoopJointView
    from linkwork.robot.joint.methods import LocalCoordinates as LocalCoordinates
    from linkwork.robot.joint.methods import SplitWrench as SplitWrench
    from linkwork.robot.placed_link import PlacedLink as PlacedLink


def _find_moved_modules(package: str, names: Mapping[str, str]) -> list[str]:
    """Let modules and packages that were in a package be imported under their old names; return its ``__path__``.

    ``names`` has the new name of each.
    """
    sys.meta_path.insert(0, _Finder({f"{package}.{old}": new for old, new in names.items()}))
    return []


class _Finder:
    """Finder of modules under old names."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        for old, new in self._names.items():
            if f"{name}.".startswith(f"{old}."):
                return ModuleSpec(name, _Loader(new + name.removeprefix(old)), is_package=True)
        return None


class _Loader(Loader):
    """Loader that imports the moved module under its old name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def create_module(self, spec: ModuleSpec) -> None:
        """Return None, so that Python creates an empty module, which `exec_module` replaces by the moved module."""

    def exec_module(self, module: ModuleType) -> None:
        """Register the moved module under the old name in `sys.modules`, in place of ``module``."""
        sys.modules[module.__name__] = import_module(self._name)


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.model.tree": "Report",
            "linkwork.robot.actuation_methods": "NamedConfiguration",
            "linkwork.compare.robot_comparison": "ComparedQuantity RobotComparison RobotDifference",
            "linkwork.robot.joint.joint": "Bounds",
            "linkwork.robot.joint.link_methods": "LinkMotion LinkVelocityAcceleration ScrewAxes",
            "linkwork.robot.joint.loop_joint_view": "LoopJointView",
            "linkwork.robot.joint.methods": "LocalCoordinates SplitWrench",
            "linkwork.robot.placed_link": "PlacedLink",
            "linkwork.compare.plausibility.model_check": "ModelCheck ModelFinding",
        },
    )
    __path__ = _find_moved_modules(
        __name__,
        {
            "actuation_methods": "linkwork.robot.actuation_methods",
            "comparison": "linkwork.compare",
            "construction": "linkwork.robot.construction",
            "joint": "linkwork.robot.joint",
            "placed_link": "linkwork.robot.placed_link",
            "plausibility": "linkwork.compare.plausibility",
        },
    )
