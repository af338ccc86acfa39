"""The methods of `Robot` that compare it with another robot, and with the model that another library reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from linkwork._util import validation
from linkwork.compare.plausibility.model_check import ModelCheck
from linkwork.compare.robot_comparison import RobotComparison
from linkwork.kernels import RobotBase

__all__ = ["ComparisonMethods", "ModelCheckMethods"]


class ComparisonMethods(RobotBase):
    """The methods of `Robot` for comparisons."""

    __slots__ = ()

    def compare(
        self,
        other: RobotBase,
        *,
        names: Mapping[str, str] | None = None,
        by: Literal["links", "bodies"] = "links",
        ignore: Sequence[str] = (),
        tolerance: float = 1e-9,
        samples: int = 10,
        seed: int | np.random.Generator = 0,
    ) -> RobotComparison:
        """Compare the robot with another one by the names of links, joints and further parts.

        Compared are masses, centres of mass and inertias; joints with their axes, limits and drives; constraints,
        actuators, named configurations (without a "qpos0" of MJCF that one robot alone has) and shapes; poses of all
        links and frames at zero and at ``samples`` random configurations from ``seed``, and there the mass matrix and
        the gravity force. Joints match by name, in any order, or else by the link that they carry. An opposite axis is
        reported, and the rest compared with the opposite sign.

        ``names`` are names that differ: ``{"name here": "name in other"}``.  ``by="bodies"`` compares the inertias of
        whole bodies, links that fixed joints weld together, and does not report links that only one robot has.
        ``ignore`` are groups of quantities that are left out: "names", "inertias", "poses", "joints", "limits",
        "drives", "constraints", "actuators", "collisions", "visuals", "dynamics".  ``tolerance`` is relative.

        >>> import linkwork as lw
        >>> arm = lw.load("arm7")
        >>> changed = arm.with_inertia("hand", mass=1.0)
        >>> arm.compare(arm).same, arm.compare(changed).same
        (True, False)

        Raises UnknownNameError for an unknown name in ``names``, ValueError for an unknown group.
        """
        from linkwork.compare.compare_robots import GROUPS, compare_trees
        from linkwork.compare.joint_matching import Names

        caller = "compare"
        validation.instance(caller, "other", other, RobotBase, description="a robot")
        validation.one_of(caller, "by", by, ("links", "bodies"))
        groups = tuple(
            validation.one_of(caller, "ignore", group, tuple(GROUPS))
            for group in ([ignore] if isinstance(ignore, str) else ignore)
        )
        left, right = self._tree, other.tree
        labels = (left.name, right.name) if left.name != right.name else (f"{left.name} (1)", f"{right.name} (2)")
        return compare_trees(
            left,
            right,
            Names.checked(caller, names or {}, left, right),
            functions=self.functions,
            by=by,
            ignore=groups,
            tolerance=validation.tolerance(caller, "tolerance", tolerance),
            samples=validation.integer(caller, "samples", samples, least=0),
            seed=validation.seed(caller, "seed", seed),
            labels=labels,
        )

    def compare_with_library(
        self,
        library: Literal["mujoco", "pinocchio"],
        *,
        tolerance: float = 1e-9,
        samples: int = 10,
        seed: int | np.random.Generator = 0,
    ) -> RobotComparison:
        """Compare the robot with the model that another library reads from the same file.

        Compared are the poses of all links, the mass matrix without armature, and the gravity force, at zero and at
        ``samples`` random configurations, drawn with ``seed``. ``tolerance`` is relative. Pinocchio reads URDF files,
        MuJoCo URDF and MJCF files. Mesh files are not opened for URDF.

        Raises ValueError if the library is not installed, if it does not read the file, or if the robot was not read
        from a file.
        """
        from linkwork.compare.library_model import LIBRARIES, CannotCompare, compare_with_library

        caller = "compare_with_library"
        name = validation.one_of(caller, "library", library, tuple(LIBRARIES))
        try:
            return compare_with_library(
                self,
                name,
                tolerance=validation.tolerance(caller, "tolerance", tolerance),
                samples=validation.integer(caller, "samples", samples, least=0),
                seed=validation.seed(caller, "seed", seed),
            )
        except CannotCompare as error:
            raise CannotCompare(f"{caller}: library: {name}: {error}") from None


class ModelCheckMethods(RobotBase):
    """The method of `Robot` that checks its values against physics."""

    __slots__ = ()

    def check_model(self) -> ModelCheck:
        """Check for implausible masses, inertias, shapes and limits, and for joints that move without mass.

        Each finding of the result has a code, a severity ("error", "warning" or "note"), the link or joint, the
        numbers, why it matters, and the remedy.  ``print`` shows a table.  The values of each inertia are checked by
        the rules of the file readers; further checks compare links with their shapes and with the rest of the robot.
        Mesh files are not opened: `with_collision_hulls` replaces them by shapes of known size.

        >>> import linkwork as lw
        >>> from linkwork import shapes
        >>> robot = lw.load("double_pendulum")
        >>> robot.check_model().errors
        ()
        """
        from linkwork.compare.plausibility.robot_checks import check_of

        return check_of(self.functions, self._tree)
