"""Methods of `Robot` that add, remove and list constraints and force elements, and read and write its loops as
text.
"""

from __future__ import annotations

import os
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.file_access import replaced
from linkwork._util.named_tuple_list import Named
from linkwork.constraints import Constraint
from linkwork.dynamics.algorithms import ROWS as DYNAMICS
from linkwork.force_elements import ForceElement
from linkwork.formats import loops_text, parse_loops
from linkwork.joints import JointType
from linkwork.kernels.compiled_method import computed_from
from linkwork.kernels.robot_base import Array, Axes, RobotBase, Wrenches, edits
from linkwork.mechanisms.algorithms import ROWS as MECHANISMS
from linkwork.mechanisms.algorithms.constraint_rows import KinematicState, bind_constraints
from linkwork.model.attached_constraints import attached
from linkwork.model.body import FRICTION_VELOCITY
from linkwork.model.friction_laws import Friction
from linkwork.model.tree_attachments import (
    with_constraints,
    with_force_elements,
    without_constraints,
    without_force_elements,
)
from linkwork.parts.joint.joint import Joint
from linkwork.parts.joint.loop_joint_view import LoopJointView, closing_joints, loop_of
from linkwork.spatial.arguments import given_text

__all__ = ["ConstraintMethods", "ForceElementMethods", "LoopFileMethods"]


computed = computed_from(MECHANISMS)


class ConstraintMethods(RobotBase):
    """What a robot obeys besides its joints: loops, couplings, rolling ... (see `linkwork.constraints`).

    Rows of all constraints stand one after the other, ``nc`` of them, ``ne`` of those that have an error; G is their
    matrix.  ``time`` (...) [s] is for constraints that depend on it, 0 if left out.
    """

    __slots__ = ()

    @property
    def constraints(self) -> Named[Constraint]:
        """The constraints, by name, in the order in which they were put on."""
        return Named(self._tree.constraints, "constraint")

    @property
    def loops(self) -> Named[LoopJointView]:
        """The joints that close loops, by name, in the order of their numbers in `loop_configuration` and
        `loop_velocity`.
        """
        return Named(closing_joints(cast(Any, self)), "loop")

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

        The joint's frame F is ``frame`` and its frame M is ``other``, as a tree's joint leads from parent to child.
        ``robot.joint(name)`` is the joint.  It has what a joint of the tree has, in the words of `Joint.of`: bounds,
        damping, dry friction and springs, numbers or one for each number of q (``lower``, ``upper``, ``rest``) or v.
        Damping, friction and springs act on the robot with ``passive=True``.

        Raises UnknownNameError for a frame that is not there, TypeError for what is no joint type, ValueError for a
        name that is taken, for frames of one rigid body, and for what a joint cannot have.
        """
        if not isinstance(joint, JointType):
            raise TypeError(f"with_loop: expected a joint type, as in linkwork.joints, got {joint!r}")
        bounds = {"lower": lower, "upper": upper, "velocity": velocity, "effort": effort}
        resisting = {"damping": damping, "friction": friction, "static_friction": static_friction}
        resisting |= {"friction_velocity": friction_velocity, "stiffness": stiffness, "rest": rest}
        given_text(name, "with_loop: name")
        made = Joint.of(joint, name=name, parent="F", child="M", **cast(Any, bounds | resisting))
        return type(self)(with_constraints(self._tree, [loop_of(made, other, frame)]))

    @edits
    def with_constraints(self, *constraints: Constraint) -> Self:
        """The robot with further constraints, after those that it has.

        Raises UnknownNameError for a name that the robot does not have, TypeError for what is no constraint, ValueError
        for a name that is taken, for what cannot be of this robot, and for a function that raises or gives no numbers.
        """
        return type(self)(with_constraints(self._tree, [bind_constraints(self._tree, c) for c in constraints]))

    @edits
    def without_constraints(self, *names: str) -> Self:
        """The robot without the named constraints, or without any where none is named.

        Raises UnknownNameError for a name that no constraint has.
        """
        return type(self)(without_constraints(self._tree, names or [c.name for c in self._tree.constraints]))

    def _kinematic_state(self, q: Any, v: Any, time: float) -> KinematicState:
        """Return the robot in a state, as constraints query it: `Constraint.error` and the like take it."""
        return KinematicState(self._tree, list(q), list(v), time)

    # -- what they rule out

    @computed
    def constraint_error(self, q: Array, *, time: ArrayLike | None = None, out: np.ndarray | None = None) -> np.ndarray:
        """φ(q, t): what is left to where the constraints hold, those that are of configurations.

        q (..., nq) -> (..., ne) [m, rad].  All are zero where they hold, and nowhere else.
        """

    @computed
    def constraint_jacobian(
        self, q: Array, *, time: ArrayLike | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """G(q): velocities that obey all constraints have G v + σ = 0, σ what time adds.  q (..., nq) -> (..., nc, nv)
        [m, 1].
        """

    @computed
    def constraint_drift(self, q: Array, *, time: ArrayLike | None = None, out: np.ndarray | None = None) -> np.ndarray:
        """σ(q, t): velocities that obey all constraints have G v + σ = 0; 0 but where these move by themselves.

        q (..., nq) -> (..., nc) [m/s, rad/s].
        """

    @computed
    def constraint_bias(
        self, q: Array, v: Array, *, time: ArrayLike | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """γ(q, v): accelerations that obey all constraints have G a + γ = 0.

        q (..., nq), v (..., nv) -> (..., nc) [m/s², rad/s²].
        """

    # -- the joints that close loops

    @computed
    def loop_configuration(self, q: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """q of the joints that close loops, one after the other: the nearest, where they are not closed.

        q (..., nq) -> (..., nlq) [rad, m].
        """

    @computed
    def loop_velocity(self, q: Array, v: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """v of the joints that close loops, one after the other: the nearest, where v does not obey them.

        q (..., nq), v (..., nv) -> (..., nl) [rad/s, m/s].
        """

    @computed
    def loop_wrenches(self, q: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """W: the wrench (moment; force) that a unit of each row of the joints that close loops exerts on M.

        It is in M's coordinates, F feels the opposite, and rows of other constraints are zero; with the rows' forces
        λ of `constrained_forward_dynamics` a joint exerts Σ λ W, which its `wrench_of` gives.
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
        """What springs, damping and dry friction exert on the joints that close loops, as `passive_force` on others.

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
        """a and λ, the accelerations under joint forces τ and what each row exerts: M a + h = τ + Gᵀ λ, G a + γ = 0.

        ``loop_forces`` (..., nl) [N·m, N] are forces of the joints that close loops, of motors in them, in the order of
        `loop_velocity`; with ``passive`` those of their damping, friction and springs come to them.
        q (..., nq), v, tau (..., nv) -> a (..., nv) [rad/s², m/s²], constraint_forces (..., nc) [N, N·m].  Where rows
        depend on each other, λ is the one of least Σ Λ_ii λ_i², with Λ = G M⁻¹ Gᵀ.  `forward_dynamics` gives a alone.

        With ``stabilization`` (...) [s], a time constant T, G a + γ + 2/T (G v + σ) + φ/T² = 0: what a motion is off
        the constraints fades as e^(−t/T).  Nothing of the kind is done unless asked for: `project` is exact.
        """


class LoopFileMethods(RobotBase):
    """What a file beside the robot's says of it: see the page on robot files."""

    __slots__ = ()

    def loops_document(self) -> str:
        """Return the JSON text of the loops file: all that the robot has in addition to its links and joints.

        These are constraints, force elements, actuators, named configurations, and added frames, points and directions.
        `linkwork.load` reads the file as ``loops=``.

        >>> import linkwork as lw
        >>> robot = lw.load("fourbar")
        >>> lw.load(lw.robots.path("fourbar")).with_loops_document(robot.loops_document()) == robot
        True

        Raises TypeError for a constraint or force element that no file can say: one made from a function, or of a kind
        of one's own.
        """
        return loops_text(self._tree)

    def save_loops(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write `loops_document` to a file.  Raises FileExistsError for one that is there, unless ``overwrite``."""
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"save_loops: path: expected the path of a file, got {path!r}")
        text = self.loops_document()
        with replaced(path, text=True, overwrite=overwrite) as file:
            file.write(text)

    @edits
    def with_loops_document(self, text: str | bytes, *, form: Literal["json", "yaml"] = "json") -> Self:
        """Return the robot with the contents of a loops file.

        These are frames, points, directions, constraints, force elements, actuators and named configurations.

        Raises ModelError that lists all that is wrong with it, with lines; ImportError for YAML without PyYAML.
        """
        if form not in ("json", "yaml"):
            raise ValueError(f"with_loops_document: form: expected 'json' or 'yaml', got {form!r}")
        return type(self)(attached(self._tree, parse_loops(text, form=form)))


computed_dynamics = computed_from(DYNAMICS)


class ForceElementMethods(RobotBase):
    """Springs, dampers and bushings between bodies (see `linkwork.force_elements`).

    They act where functions are asked with ``passive=True``, and in simulations, as springs and damping in joints do.
    """

    __slots__ = ()

    @property
    def force_elements(self) -> Named[ForceElement]:
        """The force elements, by name, in the order in which they were put on."""
        return Named(self._tree.force_elements, "force element")

    @edits
    def with_force_elements(self, *elements: ForceElement) -> Self:
        """Return the robot with further force elements, after those that it has.

        >>> import linkwork as lw
        >>> rail = lw.Joint.of(lw.joints.Prismatic((0, 0, 1)), name="rail", parent="world", child="mass")
        >>> robot = lw.Robot.build("oscillator", rail, lw.Link("mass", mass=2.0))
        >>> robot = robot.with_force_elements(lw.force_elements.SpringDamper("world", "mass", stiffness=50.0,
        damping=1.0))
        >>> robot.passive_force([0.1], [0.2]).round(3)
        array([-5.2])

        Raises TypeError for what is no force element, UnknownNameError for a frame or point that is not there, and
        ValueError for a name that is taken, and for ends on one rigid body.
        """
        return type(self)(with_force_elements(self._tree, elements))

    @edits
    def without_force_elements(self, *names: str) -> Self:
        """Return the robot without the named force elements, or without any where none is named.

        Raises UnknownNameError for a name that no force element has.
        """
        return type(self)(without_force_elements(self._tree, names or [e.name for e in self._tree.force_elements]))

    @computed_dynamics
    def force_element_wrenches(self, q: Array, v: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """Return the wrench of each force element on its body.

        In the order of `force_elements`, of each the wrench (moment; force) on the frame of point b, or on the frame M
        of a bushing, at its origin in its axes; the other end feels the opposite wrench.
        q (..., nq), v (..., nv) -> (..., nfe, 6) [N·m, N].
        """
