"""The robot: every function of an articulated system, by its name in the field."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public, public_methods
from linkwork._util.foreign_names import FOREIGN_NAMES, add_foreign_names
from linkwork.collision.collision_pair_methods import CollisionMethods
from linkwork.dynamics.derivative_methods import DerivativeMethods
from linkwork.dynamics.methods import DynamicsMethods, ForceMethods, InertiaMethods
from linkwork.dynamics.momentum_methods import MomentumMethods, RegressorMethods
from linkwork.formats import Format
from linkwork.ik.methods import ClosedFormMethods, InverseKinematicsMethods
from linkwork.kernels.compiled_method import is_computed, named_after
from linkwork.kinematics.methods import ConfigurationMethods, JacobianMethods, KinematicsMethods
from linkwork.kinematics.point_methods import PointMethods
from linkwork.mechanisms.assembly_methods import AssemblyMethods, IntegrabilityMethods, MobilityMethods
from linkwork.mechanisms.methods import ConstrainedDynamicsMethods
from linkwork.mechanisms.reduced_methods import ReducedMethods
from linkwork.model.tree import Report
from linkwork.motion.methods import CartesianMethods, MotionMethods, ProfileMethods
from linkwork.parts.actuation_methods import ActuationMethods
from linkwork.parts.constraint_methods import ConstraintMethods, ForceElementMethods, LoopFileMethods
from linkwork.parts.construction.robot_loading import Continuous, Inertias, Mimicry, Options, read_robot
from linkwork.parts.methods import CompilingMethods, LimitMethods, StructureMethods
from linkwork.parts.parameter_methods import ParameterMethods
from linkwork.parts.plots import PlottingMethods
from linkwork.parts.robot_editing import CollisionHullMethods, EditingMethods
from linkwork.planning.methods import PlanningMethods
from linkwork.robot_table import ROBOT
from linkwork.simulation.methods import SimulationMethods

__all__ = ["Robot", "load"]


class Robot(
    KinematicsMethods,
    PointMethods,
    JacobianMethods,
    DynamicsMethods,
    InertiaMethods,
    MomentumMethods,
    ForceMethods,
    ForceElementMethods,
    ActuationMethods,
    DerivativeMethods,
    CollisionMethods,
    ConstraintMethods,
    ConstrainedDynamicsMethods,
    IntegrabilityMethods,
    AssemblyMethods,
    InverseKinematicsMethods,
    LoopFileMethods,
    ReducedMethods,
    MobilityMethods,
    MotionMethods,
    PlanningMethods,
    PlottingMethods,
    SimulationMethods,
    CartesianMethods,
    ParameterMethods,
    RegressorMethods,
    ClosedFormMethods,
    ConfigurationMethods,
    ProfileMethods,
    CompilingMethods,
    EditingMethods,
    CollisionHullMethods,
    StructureMethods,
    LimitMethods,
):
    """An articulated system, and its functions as compiled code.

    Conventions: SI units and radians; frames are right-handed; 6-vectors have the angular part first; poses are 4 × 4
    matrices; quaternions are (w, x, y, z).  ``q`` stacks the joints' configurations and ``v`` their velocities in the
    order of `joints`, but for those that follow others; a floating joint's q is (w x y z, x y z) and its v the body's
    twist in the body's own axes, so ``q̇ ≠ v`` in general.

    Each function takes arrays with any leading dimensions, a batch, which broadcast as NumPy's do: ``q`` has shape
    (..., nq), ``v``, ``a`` and ``tau`` (..., nv).  A dict by joint name does too; joints that it leaves out are at
    their zero.  ``out=`` takes an array to write to.  A function is compiled when it is first called (see `compile`).

    They raise ValueError for an array of the wrong shape or type, with a number in it that is not finite, or with a
    quaternion whose length is off by more than 1e-3 (nearer ones are normalised with a
    `linkwork.errors.ConfigurationWarning`), and UnknownNameError (a KeyError) for a name that the robot does not have.

    A robot is an immutable value: equal robots compare and hash equal, and it pickles.
    """

    __slots__ = ()

    _functions = ROBOT

    # -- what it is

    @property
    def report(self) -> Report:
        """What reading the robot's file found odd: everything repaired or ignored is listed in it, and printed."""
        return self._tree.report

    @property
    def gravity(self) -> np.ndarray:
        """Gravity in the world, (3,) [m/s²]."""
        return np.array([*self._tree.gravity])

    @property
    def mass(self) -> float:
        """The mass of all links [kg], those fixed to the world included."""
        self._tree.require_inertias("mass")
        return self._tree.mass

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in FOREIGN_NAMES]

    # -- a value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Robot) and self._tree == other._tree

    def __hash__(self) -> int:
        return hash((Robot, self._tree))

    def __reduce__(self) -> tuple[Any, ...]:
        return Robot, (self._tree,)

    def __repr__(self) -> str:
        bodies, dof, held = len(self._tree.bodies), self.nv, len(self._tree.constraints)
        moving = f"{bodies} moving {'body' if bodies == 1 else 'bodies'}"
        if held:  # `mobility` says how many degrees of freedom are left
            size = f"{dof} joint {'velocity' if dof == 1 else 'velocities'}"
            return f"<Robot {self.name!r}: {moving}, {size}, {held} constraint{'' if held == 1 else 's'}>"
        return f"<Robot {self.name!r}: {moving}, {dof} degree{'' if dof == 1 else 's'} of freedom>"


named_after(Robot)
add_foreign_names(Robot)
public_methods(Robot, leave=is_computed)


@public
def load(
    robot: str | os.PathLike[str],
    *,
    format: str | Format | None = None,
    floating_base: bool = False,
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    strict: bool = False,
    multi_root: bool = False,
    mimic: Mimicry = "free",
    continuous: Continuous = "angle",
    inertia: Inertias = "given",
    loops: str | os.PathLike[str] | None = None,
) -> Robot:
    """Return a built-in robot, by its name (`linkwork.robots.names`), or the robot of a file.

    The suffix of the path says which format the file has; where no format has the suffix (".xml"), the root element
    does.  ``format`` names the format instead ("urdf"), or is a `linkwork.formats.Format` of your own.

    ``floating_base`` frees the root link: it moves by a floating joint named "floating_base" instead of being fixed
    to the world.  ``multi_root`` allows a file several links without a parent, all fixed to the world.  ``gravity`` is
    in the world's axes [m/s²].  ``robot.report`` lists what the reader repaired or ignored; repairs also emit one
    `linkwork.errors.ModelWarning`, and ``strict`` makes errors of them.

    ``mimic="coupled"`` binds joints that the file makes follow others exactly (`Robot.with_couplings`): they have no
    coordinates in q and v.  ``"free"`` leaves them free and keeps what the file says in ``joint.mimic``; ``"ignore"``
    does not read it.

    ``continuous`` and ``inertia`` are for URDF.  ``continuous`` says how the configuration of a continuous joint is
    written: as its ``"angle"``, or as ``"sincos"``, two coordinates (sin, cos).  ``inertia="nearest"`` replaces
    rotational inertias that no body has by the nearest that one has, where it is near enough, instead of refusing the
    robot as ``"given"`` does; ``"ignore"`` leaves all inertias out, for kinematics alone.  The page on robot files
    says more of all of these.

    ``loops`` is a file beside the robot's, JSON or YAML, that closes its loops: frames, joints between them, gears,
    rolling wheels and further constraints (`Robot.loops_document` writes one).  YAML takes PyYAML:
    ``pip install "linkwork[yaml]"``.  Built-in robots with loops load them by themselves.

    A path may begin with ``~``, the home directory; ``./~`` is a file of that name.

    Raises ModelError (a ValueError) that lists what is wrong in the file and where, also for a file of no known format;
    FileNotFoundError and PermissionError as the system gives them; UnknownNameError for a name that no built-in robot
    or format has; TypeError for an option that the format does not take; ImportError for a format whose package is not
    installed, with the command that installs it.
    """
    options = Options(
        floating_base=floating_base,
        gravity=gravity,
        strict=strict,
        multi_root=multi_root,
        mimic=mimic,
        continuous=continuous,
        inertia=inertia,
        loops=loops,
    )
    return Robot(read_robot(robot, options, format))
