"""Methods of `Robot` for constraints and force elements: add, remove, list, evaluate, read and write."""

from __future__ import annotations

import os
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.file_access import replaced
from linkwork._util.named_tuples import Named
from linkwork._util.validation import shown
from linkwork.constraints import Constraint
from linkwork.force_elements import ForceElement
from linkwork.joints import JointType
from linkwork.kernels.compiled_method import computed
from linkwork.kernels.robot_base import Array, Axes, RobotBase, Wrenches, edits
from linkwork.mechanisms.algorithms.constraint_rows import KinematicState, bind_constraints
from linkwork.model.body import FRICTION_VELOCITY
from linkwork.model.friction_laws import Friction
from linkwork.model.tree_attachments import (
    with_constraints,
    with_force_elements,
    without_constraints,
    without_force_elements,
)
from linkwork.robot.joint.joint import Joint
from linkwork.robot.joint.loop_joint_view import LoopJointView, loop_joints, loop_of
from linkwork.spatial.arguments import checked_string

__all__ = ["ConstraintMethods", "ForceElementMethods", "LoopFileMethods"]


class ConstraintMethods(RobotBase):
    """Methods of `Robot` for constraints in addition to the joints: loops, couplings, rolling and others.

    See `linkwork.constraints`. The equations of all constraints are stacked: ``nc`` velocity constraints with the
    Jacobian G, ``ne`` of which are holonomic and have an error. ``time`` (...) [s] is used by time-dependent
    constraints; 0 by default.
    """

    __slots__ = ()

    @property
    def constraints(self) -> Named[Constraint]:
        """Constraints, by name, in the order in which they were added."""
        return Named(self._tree.constraints, "constraint")

    @property
    def loops(self) -> Named[LoopJointView]:
        """Joints that close loops, by name, in the order of `loop_configuration` and `loop_velocity`."""
        return Named(loop_joints(cast(Any, self)), "loop")

    @edits
    def with_loop(
        self,
        name: str,
        frame: str,
        other: str,
        joint: JointType,
        *,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        effort: ArrayLike | None = None,
        damping: ArrayLike = 0.0,
        friction: ArrayLike = 0.0,
        static_friction: ArrayLike | None = None,
        friction_velocity: ArrayLike = FRICTION_VELOCITY,
        stiffness: ArrayLike = 0.0,
        rest: ArrayLike | None = None,
    ) -> Self:
        """Return the robot with a joint of any type between two of its frames, which closes a loop.

        The stator frame F of the joint is ``frame`` and its rotor frame M is ``other``; they correspond to parent and
        child of a tree joint. ``robot.joint(name)`` is the joint. Limits (``velocity``, ``effort``), damping, dry
        friction (``static_friction``, ``friction_velocity``) and springs (``stiffness``) are as in `Joint.of`: numbers
        or arrays (nq,) (``lower``, ``upper``, ``rest``) or (nv,). Damping, friction and springs act on the robot with
        ``passive=True``.

        Raises UnknownNameError for an unknown frame, TypeError for an invalid joint type, ValueError for a name that
        exists already, frames of the same rigid body and invalid joint parameters.
        """
        for argument, value in (("frame", frame), ("other", other)):
            if isinstance(value, (tuple, list, np.ndarray)):
                remedy = "robot.with_frame(name, link, (x, y, z)) adds one to a link"
                raise TypeError(f"with_loop: {argument}: expected a frame's name, got {shown(value)}; {remedy}")
        if not isinstance(joint, JointType):
            expected = 'expected a joint type of linkwork.joints, such as linkwork.joints.Revolute("z")'
            raise TypeError(f"with_loop: joint: {expected}, got {joint!r}")
        bounds = {"lower": lower, "upper": upper, "velocity": velocity, "effort": effort}
        passive = {"damping": damping, "friction": friction, "static_friction": static_friction}
        passive |= {"friction_velocity": friction_velocity, "stiffness": stiffness, "rest": rest}
        checked_string(name, "with_loop: name")
        result = Joint.of(joint, name=name, parent="F", child="M", **cast(Any, bounds | passive))
        return type(self)(with_constraints(self._tree, [loop_of(result, other, frame)]))

    @edits
    def with_constraints(self, *constraints: Constraint) -> Self:
        """Return the robot with further constraints, after the existing ones.

        Raises UnknownNameError for a name that the robot does not have, TypeError for an argument that is not a
        constraint, ValueError for a name that exists already, a constraint that does not fit the robot, and a
        user-defined function that raises or does not return numbers.
        """
        return type(self)(with_constraints(self._tree, [bind_constraints(self._tree, c) for c in constraints]))

    @edits
    def without_constraints(self, *names: str) -> Self:
        """Return the robot without the named constraints, or without all constraints if no name is passed.

        Raises UnknownNameError for an unknown constraint.
        """
        return type(self)(without_constraints(self._tree, names or [c.name for c in self._tree.constraints]))

    def _kinematic_state(self, q: Any, v: Any, time: float) -> KinematicState:
        """Return the kinematic state of the robot at (q, v) and ``time`` [s], the argument of constraint methods."""
        return KinematicState(self._tree, list(q), list(v), time)

    # -- constraint equations

    @computed
    def constraint_error(self, q: Array, *, time: ArrayLike | None = None, out: np.ndarray | None = None) -> np.ndarray:
        """Compute φ(q, t), the error of the holonomic constraints, zero exactly where they hold.

        q (..., nq) -> (..., ne) [m, rad].
        """

    @computed
    def constraint_jacobian(
        self, q: Array, *, time: ArrayLike | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute the constraint Jacobian G(q): admissible velocities have G v + σ = 0, σ the `constraint_drift`.

        q (..., nq) -> (..., nc, nv) [m, 1].
        """

    @computed
    def constraint_drift(self, q: Array, *, time: ArrayLike | None = None, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the drift σ(q, t): admissible velocities have G v + σ = 0; zero without prescribed motion.

        q (..., nq) -> (..., nc) [m/s, rad/s].
        """

    @computed
    def constraint_bias(
        self, q: Array, v: Array, *, time: ArrayLike | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute the bias γ(q, v): admissible accelerations have G a + γ = 0.

        q (..., nq), v (..., nv) -> (..., nc) [m/s², rad/s²].
        """

    # -- joints that close loops

    @computed
    def loop_configuration(self, q: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the configurations of all joints that close loops, stacked in the order of `loops`.

        If q does not close a loop, its joint has the configuration that is nearest to the pose of its frames. q (...,
        nq) -> (..., nlq) [rad, m].
        """

    @computed
    def loop_velocity(self, q: Array, v: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the velocities of all joints that close loops, stacked in the order of `loops`.

        Where v violates the constraints, a joint has the velocity that is nearest to the twist of its frames.
        q (..., nq), v (..., nv) -> (..., nl) [rad/s, m/s].
        """

    @computed
    def loop_wrenches(self, q: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the wrenches W that unit constraint forces of loop joints exert on the joints' frames M.

        Row i of W belongs to row i of the constraint Jacobian.  It is (moment; force) in M's coordinates; the opposite
        wrench acts on F.  Rows of constraints that are not loop joints are zero.  With the constraint forces λ of
        `constrained_forward_dynamics`, a joint exerts Σ λ_i W_i over its own rows, which its `wrench_of` returns.
        q (..., nq) -> (..., nc, 6) [m, 1].
        """

    @computed
    def loop_passive_force(
        self,
        q: Array,
        v: Array,
        *,
        friction: Friction = "smooth",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the forces of springs, damping and dry friction in the joints that close loops.

        They are stacked in the order of `loops`; see `passive_force` for the law of friction.
        q (..., nq), v (..., nv) -> (..., nl) [N·m, N].
        """

    # -- dynamics

    @computed
    def constrained_forward_dynamics(
        self,
        q: Array,
        v: Array,
        tau: Array,
        *,
        wrenches: Wrenches | None = None,
        expressed_in: Axes = "world",
        gravity: ArrayLike | None = None,
        time: ArrayLike | None = None,
        loop_forces: ArrayLike | None = None,
        stabilization: ArrayLike | None = None,
        passive: bool = False,
        friction: Friction = "smooth",
        out: tuple[np.ndarray, ...] | None = None,
    ) -> Any:
        """Compute accelerations a and constraint forces λ under joint forces τ: M a + h = τ + Gᵀ λ, G a + γ = 0.

        ``loop_forces`` (..., nl) [N·m, N] are actuator forces in the joints that close loops, in the order of
        `loop_velocity`; with ``passive`` their damping, friction and springs are added.  q (..., nq), v, tau (..., nv)
        -> a (..., nv) [rad/s², m/s²], constraint_forces (..., nc) [N, N·m].  For dependent constraints, λ minimises Σ
        Λ_ii λ_i², with Λ = G M⁻¹ Gᵀ.  `forward_dynamics` returns a only.

        ``stabilization`` (...) [s] is a time constant T of Baumgarte stabilization, G a + γ + 2/T (G v + σ) + φ/T² = 0:
        constraint errors decay as e^(−t/T).  It is off by default; `project` is exact.
        """


class LoopFileMethods(RobotBase):
    """Methods that write and read the loops file, a file next to the robot's file: see the page on robot files."""

    __slots__ = ()

    def loops_document(self) -> str:
        """Return the JSON text of the loops file: all that the robot has in addition to its links and joints.

        These are constraints, force elements, actuators, named configurations, and added frames, points and directions.
        `linkwork.load` reads the file as ``loops=``.

        >>> import linkwork as lw
        >>> robot = lw.load("fourbar")
        >>> lw.load(lw.robots.path("fourbar")).with_loops_document(robot.loops_document()) == robot
        True

        Raises TypeError for a constraint or force element that a file cannot represent: one of a function, or of a
        user-defined kind.
        """
        from linkwork.formats import loops_text

        return loops_text(self._tree)

    def save_loops(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write `loops_document` to the file ``path``.  Raises FileExistsError unless ``overwrite``."""
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"save_loops: path: expected the path of a file, got {path!r}")
        text = self.loops_document()
        with replaced(path, text=True, overwrite=overwrite) as file:
            file.write(text)

    @edits
    def with_loops_document(
        self, document: str | bytes | os.PathLike[str], *, form: Literal["json", "yaml"] = "json"
    ) -> Self:
        """Return the robot with the contents of a loops file, a text or a file's path.

        These are frames, points, directions, constraints, force elements, actuators and named configurations.

        ``form`` is the format of a text, "json" or "yaml"; a path ends in .json, .yaml or .yml.  Raises ModelError that
        lists all errors of the document with their lines; ImportError for YAML without PyYAML; FileNotFoundError and
        PermissionError of the system for a path.
        """
        if form not in ("json", "yaml"):
            raise ValueError(f"with_loops_document: form: expected 'json' or 'yaml', got {form!r}")
        from linkwork.formats.loops_file import with_loops

        return type(self)(with_loops(self._tree, document, form))


class ForceElementMethods(RobotBase):
    """Methods of `Robot` for force elements: springs, dampers and bushings between bodies.

    See `linkwork.force_elements`. Like springs and damping in joints, they act in functions with ``passive=True`` and
    in simulations.
    """

    __slots__ = ()

    @property
    def force_elements(self) -> Named[ForceElement]:
        """Force elements, by name, in the order in which they were added."""
        return Named(self._tree.force_elements, "force element")

    @edits
    def with_force_elements(self, *elements: ForceElement) -> Self:
        """Return the robot with further force elements, after the existing ones.

        >>> import linkwork as lw
        >>> rail = lw.Joint.of(lw.joints.Prismatic((0, 0, 1)), name="rail", parent="world", child="mass")
        >>> robot = lw.Robot.build("oscillator", rail, lw.Link("mass", mass=2.0))
        >>> spring = lw.force_elements.SpringDamper("world", "mass", stiffness=50.0, damping=1.0)
        >>> robot = robot.with_force_elements(spring)
        >>> robot.passive_force([0.1], [0.2]).round(3)
        array([-5.2])

        Raises TypeError for an argument that is not a force element, UnknownNameError for an unknown frame or point,
        and ValueError for a name that exists already and for ends on the same rigid body.
        """
        return type(self)(with_force_elements(self._tree, elements))

    @edits
    def without_force_elements(self, *names: str) -> Self:
        """Return the robot without the named force elements; without names, all force elements are removed.

        Raises UnknownNameError for an unknown force element.
        """
        return type(self)(without_force_elements(self._tree, names or [e.name for e in self._tree.force_elements]))

    @computed
    def force_element_wrenches(self, q: Array, v: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the wrench (moment; force) of each force element, in the order of `force_elements`.

        The wrench of an element between points a and b acts on the frame of b; the wrench of a bushing acts on its
        frame M. It is at this frame's origin, in this frame's axes. The opposite wrench acts on the other end. q (...,
        nq), v (..., nv) -> (..., nfe, 6) [N·m, N].
        """
