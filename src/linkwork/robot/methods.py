"""Methods of `Robot` for its structure, limits, display and compilation.

They look up joints, links and frames by name, name the coordinates of q and v, and compile kernels of several
functions.  Notebooks show a robot as its tree and a table of its joints, with all names escaped.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, Self, cast

import numpy as np

from linkwork._util.console import Stream
from linkwork._util.named_tuples import Named
from linkwork._util.validation import boolean
from linkwork.errors import UnknownNameError
from linkwork.kernels.compiler_api import Kernel, make_single_call
from linkwork.kernels.function_request import read_requests
from linkwork.kernels.robot_base import Array, RobotBase, edits
from linkwork.model.coordinate_names import index_of, names_of
from linkwork.model.kernel_parameters import read_parameters
from linkwork.model.limited_coordinates import position_limits
from linkwork.model.tree_drawing import constraint_lines, tree_lines
from linkwork.robot.joint.joint import Bounds, Joint, joint_of
from linkwork.robot.joint.loop_joint_view import loop_joints
from linkwork.robot.joint.passive_parameters import resistance
from linkwork.robot.placed_link import PlacedLink, fixed_joints_of, links_of, placed_link

__all__ = ["CompilingMethods", "LimitMethods", "StructureMethods"]


class StructureMethods(RobotBase):
    """Methods of `Robot` for its joints, links and frames by name, and the names of its coordinates."""

    __slots__ = ()

    @property
    def joints(self) -> Named[Joint]:
        """Moving joints, in the order of their coordinates in q and v; a follower has its master's coordinates.

        The tuple also accepts names: ``robot.joints["elbow"]``.
        """
        return Named([joint_of(self._tree, i) for i in self._tree.order], "joint")

    @property
    def fixed_joints(self) -> Named[Joint]:
        """Fixed joints, of type `linkwork.joints.Fixed`, which have no coordinates in q and v."""
        return Named(fixed_joints_of(self._tree), "fixed joint")

    def joint(self, name: str) -> Joint:
        """Return the joint ``name``: a `Joint`, fixed or moving, or the `LoopJointView` of a joint that closes a loop.

        Raises UnknownNameError.
        """
        try:
            return joint_of(self._tree, self._tree.joint_index(name))
        except UnknownNameError as error:
            for joint in self.fixed_joints:
                if joint.name == name:
                    return joint
            loops = loop_joints(self)
            for loop in loops:
                if loop.name == name:
                    return cast(Any, loop)  # type: ignore[no-any-return]
            known = (*error.known, *self._tree.fixed_joints, *(loop.name for loop in loops))
            raise UnknownNameError("joint", name, known, error.remedy) from None

    @property
    def bodies(self) -> Named[str]:
        """Names of the moving bodies, in the order of `forward_kinematics`."""
        return Named([body.name for body in self._tree.bodies], "body")

    @property
    def frames(self) -> Named[str]:
        """Names of all frames: first all links, moving or fixed, then further frames.

        "world" is a valid frame that is not listed.  ``robot.frames["hand"]`` is the name itself, for completion in
        editors.
        """
        return Named([frame.name for frame in self._tree.frames], "frame")

    @property
    def links(self) -> Named[PlacedLink]:
        """Links in the order of the file, with their inertia, shapes and parent joint."""
        return Named(links_of(self._tree), "link")

    def link(self, name: str) -> PlacedLink:
        """Return the link, or further frame, ``name``.  Raises UnknownNameError."""
        return placed_link(self._tree, name)

    # -- names of coordinates

    @property
    def q_names(self) -> tuple[str, ...]:
        """Names of the coordinates of q: the joint's name, or ``"floating_base.qw"`` for joints with several."""
        return names_of(self._tree, "q")

    @property
    def v_names(self) -> tuple[str, ...]:
        """Names of the coordinates of v, accelerations and joint forces: ``"elbow"``, ``"floating_base.wx"``."""
        return names_of(self._tree, "v")

    def q_index(self, names: str | Iterable[str]) -> np.ndarray:
        """Return the indices of coordinates in q: ``q[..., robot.q_index(names)]`` has them in the order of ``names``.

        ``names`` is a name or several; each is one of `q_names`, or the name of a joint for all of its coordinates.
        With another library's order as ``names``, the result is the map between the two orders (docs/coming_from.md).
        Raises UnknownNameError, and ValueError for repeated coordinates.
        """
        return index_of(self._tree, "q", names)

    def v_index(self, names: str | Iterable[str]) -> np.ndarray:
        """Return the indices of ``names`` in v, accelerations and joint forces by `v_names`: see `q_index`."""
        return index_of(self._tree, "v", names)

    # -- display

    def __str__(self) -> str:
        """Return the tree with its joints, then its constraints, in characters that standard output can print."""
        return Stream(sys.stdout).fitting("\n".join([*tree_lines(self._tree), *constraint_lines(self._tree)]))


class CompilingMethods(RobotBase):
    """The method of `Robot` that compiles several functions into one kernel."""

    __slots__ = ()

    def compile(self, functions: Any, *, parameters: str | Iterable[str] = (), name: str | None = None) -> Kernel:
        """Return a kernel of one or several of the robot's functions, which share all common computations.

        ``functions`` is a name (``"mass_matrix"``), a name with a frame (``("jacobian", "hand")``, or with options
        ``("jacobian", "hand", {"expressed_in": "hand"})``), a list of these, or a dict of these by output name.  The
        kernel's inputs are the inputs of all functions, in the order q, v, a, tau; several results are returned as a
        named tuple.  In a list, a function that occurs once names its output; otherwise the frame is appended:
        ``jacobian_left_foot``.

        ``parameters`` become further inputs of the kernel, after the others and in this order: ``["inertia:forearm",
        "gravity"]`` adds the inputs ``inertia_forearm`` and ``gravity``. They broadcast and can be differentiated like
        all inputs. The method `parameters` lists the available ones and returns the robot's own values.

        Unlike the robot's methods, a kernel propagates NaN and infinity according to IEEE 754.
        """
        requests = read_requests(self._subject, "compile", functions)
        symbols = read_parameters(self._tree, "compile", parameters)
        if symbols:
            requests = {key: replace(request, parameters=symbols) for key, request in requests.items()}
        if name is not None and not name.isidentifier():
            raise ValueError(f"compile: name: expected an identifier as the name of the kernel, got {name!r}")
        kernel = self._kernel(name or "_".join(requests), requests)
        make_single_call(kernel)
        return kernel


class LimitMethods(RobotBase):
    """Methods of `Robot` for the limits of q, v and τ as arrays; an infinite entry means no limit."""

    __slots__ = ()

    @property
    def lower(self) -> np.ndarray:
        """Lower joint position limits (nq,) [rad, m]; −inf where there is no limit.

        Disabled limits are ignored.  The limits of followers restrict their master.  Raises ValueError, with the
        joints' names, if no position satisfies them all.
        """
        return self._positions(0)

    @property
    def upper(self) -> np.ndarray:
        """Upper joint position limits (nq,) [rad, m]; inf where there is no limit: see `lower`."""
        return self._positions(1)

    @property
    def position_limits(self) -> Bounds:
        """Joint position limits: the pair of `lower` and `upper`, (nq,) each [rad, m]; −inf and inf for no limit.

        >>> import linkwork as lw
        >>> lower, upper = lw.load("double_pendulum").position_limits
        >>> upper.tolist()
        [inf, inf]
        """
        return Bounds(self.lower, self.upper)

    @property
    def velocity_limits(self) -> np.ndarray:
        """Joint speed limits (nv,) on |v| [rad/s, m/s]; inf where there is no limit.

        A follower limits its master's speed to its own limit divided by |ratio|.
        """
        return self._rate_limits("velocity")

    @property
    def acceleration_limits(self) -> np.ndarray:
        """Joint acceleration limits (nv,) on |a| [rad/s², m/s²]; inf where there is no limit.

        A follower limits its master as in `velocity_limits`.  Few files have such limits.
        """
        return self._rate_limits("acceleration")

    @property
    def jerk_limits(self) -> np.ndarray:
        """Joint jerk limits (nv,) [rad/s³, m/s³]; inf where there is no limit: see `acceleration_limits`."""
        return self._rate_limits("jerk")

    def _rate_limits(self, quantity: Literal["velocity", "acceleration", "jerk"]) -> np.ndarray:
        """Return the velocity, acceleration or jerk limits (nv,); limits of followers restrict their masters.

        The limit of a follower is divided by |ratio|.
        """
        tree = self._tree
        limits = np.full(tree.nv, np.inf)
        for body, columns in zip(tree.bodies, tree.v_slices, strict=True):
            ratio = 1.0 if body.coupling is None else abs(body.coupling.ratio)
            rate = getattr(body.limits, quantity)
            if rate and ratio > 0.0:
                limits[columns] = np.minimum(limits[columns], np.array(rate) / ratio)
        return limits

    @property
    def effort_limits(self) -> np.ndarray:
        """Joint force limits (nv,) on |τ| [N·m, N]; inf where there is no limit.

        A follower limits its master's force to its own limit times |ratio|; a limit of 0 states that it has no motor,
        and does not count.
        """
        tree = self._tree
        limits = np.array([x for _, body in tree.stacked() for x in body.limits.effort], dtype=float)
        for body, columns in zip(tree.bodies, tree.v_slices, strict=True):
            if body.coupling is not None and body.coupling.ratio != 0.0 and any(body.limits.effort):
                limits[columns] = np.minimum(limits[columns], abs(body.coupling.ratio) * np.array(body.limits.effort))
        return limits

    def passive_torque(self, v: Array) -> np.ndarray:
        """Compute the joint forces of damping and dry friction, τ = −damping · v − friction · sign(v), sign(0) = 0.

        Forces on followers act on their masters, times the ratio.  Joints whose ``dynamics`` is "none" do not
        contribute.  The functions of dynamics include these forces, springs and armature only with ``passive=True``:
        see `passive_force`.  v (..., nv) -> (..., nv) [N·m, N].
        """
        damping, friction = np.zeros((2, self.nv))
        for body, columns in zip(self._tree.bodies, self._tree.v_slices, strict=True):
            if body.dynamics != "none":
                ratio = 1.0 if body.coupling is None else body.coupling.ratio
                damping[columns] += ratio * ratio * np.array(body.damping)
                friction[columns] += abs(ratio) * np.array(body.friction)
        return resistance(self._subject, v, damping, friction)

    @edits
    def with_joint_limits_document(self, document: str | bytes | os.PathLike[str], *, strict: bool = False) -> Self:
        """Return the robot with the limits of MoveIt's joint_limits.yaml, a text or a file's path.

        ``max_velocity`` of a joint sets its limit, unless ``has_velocity_limits`` is false, which removes the limit.
        So do the keys of accelerations, jerks, efforts and positions.  Limits that are not stated do not change.

        `report` notes what has no effect, such as scaling factors.  Unknown joints and keys are ignored with a
        `ModelWarning`; with ``strict`` they are errors.

        >>> import linkwork as lw
        >>> text = "joint_limits: {elbow: {has_velocity_limits: true, max_velocity: 2.5, max_acceleration: 4.0}}"
        >>> arm = lw.load("arm6").with_joint_limits_document(text)
        >>> arm.joint("elbow").velocity.tolist(), arm.joint("elbow").acceleration.tolist()
        ([2.5], [4.0])

        Raises ModelError that lists all errors of the document with their lines; ImportError for YAML without PyYAML;
        FileNotFoundError and PermissionError of the system for a path.
        """
        from linkwork.formats.file_reading import warn_of_repairs
        from linkwork.formats.joint_limits_file import with_joint_limits

        boolean("with_joint_limits_document", "strict", strict)
        tree = with_joint_limits(self._tree, document, strict=strict)
        known = self._tree.report.repairs
        repairs = [issue for issue in tree.report.repairs if issue not in known]
        warn_of_repairs("with_joint_limits_document", repairs, "robot.report")
        return type(self)(tree)

    def _positions(self, side: int) -> np.ndarray:
        return np.array(position_limits(self._tree)[side], dtype=float)
