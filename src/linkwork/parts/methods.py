"""What a robot is made of: joints, links and frames by name, the names of its numbers, and how it is shown.

Kernels of a robot's functions, one or several together.

A robot as notebooks show it: its tree, and a table of its joints.  Every name is escaped.

The limits of a whole robot, and what damping and friction exert on it, joints that follow others included.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any, cast

import numpy as np

from linkwork._util.console import Stream
from linkwork._util.messages import label, number, numbers
from linkwork._util.named_tuple_list import Named
from linkwork._util.progress import Progress
from linkwork._util.thread_pool import in_parallel
from linkwork.errors import UnknownNameError
from linkwork.kernels.compiler_api import Kernel, make_ready
from linkwork.kernels.function_request import Request, read_request, read_requests
from linkwork.kernels.robot_base import Array, RobotBase
from linkwork.model.coordinate_names import index_of, names_of
from linkwork.model.coupled_joints import bounds
from linkwork.model.kernel_parameters import read_parameters
from linkwork.model.tree import Tree
from linkwork.parts.joint.joint import Bounds, Joint, joint_of
from linkwork.parts.joint.loop_joint_view import closing_joints
from linkwork.parts.joint.passive_parameters import resistance
from linkwork.parts.placed_link import PlacedLink, fixed_joints_of, links_of, placed_link
from linkwork.parts.tree_drawing import axis_text, constraint_lines, follows_text, slice_text, tree_lines

__all__ = ["CompilingMethods", "LimitMethods", "StructureMethods"]


class StructureMethods(RobotBase):
    """A robot's parts, looked up by name."""

    __slots__ = ()

    @property
    def joints(self) -> Named[Joint]:
        """The moving joints, in the order of their numbers in q and v; a follower's are its master's.

        A tuple that is looked into by name too: ``robot.joints["elbow"]``.
        """
        return Named([joint_of(self._tree, i) for i in self._tree.order], "joint")

    @property
    def fixed_joints(self) -> Named[Joint]:
        """The fixed joints, of type `linkwork.joints.Fixed`, with no numbers in q and v: what is welded to what."""
        return Named(fixed_joints_of(self._tree), "fixed joint")

    def joint(self, name: str) -> Joint:
        """The named joint, a `Joint`, a fixed one too; or where it closes a loop the `LoopJointView`
        of ``robot.loops``.

        Raises UnknownNameError.
        """
        try:
            return joint_of(self._tree, self._tree.joint_index(name))
        except UnknownNameError as error:
            for joint in self.fixed_joints:
                if joint.name == name:
                    return joint
            loops = closing_joints(self)
            for loop in loops:
                if loop.name == name:
                    return cast(Any, loop)  # type: ignore[no-any-return]
            known = (*error.known, *self._tree.fixed_joints, *(loop.name for loop in loops))
            raise UnknownNameError("joint", name, known, error.remedy) from None

    @property
    def bodies(self) -> Named[str]:
        """The names of the moving bodies, in the order of `forward_kinematics`."""
        return Named([body.name for body in self._tree.bodies], "body")

    @property
    def frames(self) -> Named[str]:
        """The names of all frames: every link, whether it moves or is fixed to another, then further frames.  "world"
        is one besides.

        ``robot.frames["hand"]`` is the name itself, which editors complete.
        """
        return Named([frame.name for frame in self._tree.frames], "frame")

    @property
    def links(self) -> Named[PlacedLink]:
        """The links, in the order of the file: what each weighs, and what it moves on or is welded to."""
        return Named(links_of(self._tree), "link")

    def link(self, name: str) -> PlacedLink:
        """The named link, or further frame.  Raises UnknownNameError."""
        return placed_link(self._tree, name)

    # -- the numbers' names

    @property
    def q_names(self) -> tuple[str, ...]:
        """A name for each number of q: the joint's, or, where it has several, ``"floating_base.qw"``."""
        return names_of(self._tree, "q")

    @property
    def v_names(self) -> tuple[str, ...]:
        """A name for each number of v, accelerations and joint forces: ``"elbow"``, ``"floating_base.wx"``."""
        return names_of(self._tree, "v")

    def q_index(self, names: Iterable[str]) -> np.ndarray:
        """Where these numbers are in q: ``q[..., robot.q_index(names)]`` has them in the order of ``names``.

        A name is one of `q_names`, or a joint's for all of its numbers.  With another library's order for ``names``
        this is the map between the two (docs/coming_from.md).  Raises UnknownNameError, and ValueError where a number
        comes twice.
        """
        return index_of(self._tree, "q", names)

    def v_index(self, names: Iterable[str]) -> np.ndarray:
        """Where these numbers are in v, accelerations and joint forces: as `q_index`, with names of `v_names`."""
        return index_of(self._tree, "v", names)

    # -- how it is shown

    def __str__(self) -> str:
        """The tree with its joints, then its constraints, in characters that standard output can print."""
        return Stream(sys.stdout).fitting("\n".join([*tree_lines(self._tree), *constraint_lines(self._tree)]))

    def _repr_html_(self) -> str:
        return robot_html(self._tree)


class CompilingMethods(RobotBase):
    """What makes kernels before they are needed, or of several functions."""

    __slots__ = ()

    def compile(self, functions: Any, *, parameters: str | Iterable[str] = (), name: str | None = None) -> Kernel:
        """A kernel for one or several of the robot's functions, which then share all common work.

        ``functions`` is a name (``"mass_matrix"``), a name with a frame (``("jacobian", "hand")``, and options as
        ``("jacobian", "hand", {"expressed_in": "hand"})``), a list of such, or a dict of such that names the outputs.
        The kernel takes the inputs that any of them take, in the order q, v, a, tau; several results come as a named
        tuple.  In a list, a function asked for once is named as it is, and otherwise with its frame:
        ``jacobian_left_foot``.

        ``parameters`` are numbers of the robot that the kernel takes as inputs too, after the others and in this order:
        ``["inertia:forearm", "gravity"]`` gives it the inputs ``inertia_forearm`` and ``gravity``.  They broadcast and
        are differentiated as all inputs are; `parameters` lists what there is, and gives the robot's own numbers.

        Unlike the robot's methods, a kernel lets NaN and infinity pass through as IEEE 754 has it.
        """
        requests = read_requests(self._subject, "compile", functions)
        asked = read_parameters(self._tree, "compile", parameters)
        if asked:
            requests = {key: replace(request, parameters=asked) for key, request in requests.items()}
        if name is not None and not name.isidentifier():
            raise ValueError(f"compile: name: expected an identifier as the name of the kernel, got {name!r}")
        return self._kernel(name or "_".join(requests), requests)

    def warm_up(self, functions: Sequence[Any], *, progress: bool | Callable[[Progress], Any] | None = None) -> None:
        """Compile functions before they are needed, several at a time.

        ``functions`` is a list of what `compile` takes one of: ``["inverse_dynamics", ("jacobian", "hand")]``.  The
        robot's methods are then ready for use.  What the cache on disk holds is not compiled.  ``progress`` shows
        a bar on standard error, by default if that is a terminal, or is a function of a `linkwork.Progress`.

        Raises what `compile` raises for a function that it does not know, before anything is compiled, and
        SingularInertiaError as the functions do.
        """
        if isinstance(functions, (str, Mapping)) or not isinstance(functions, Iterable):
            raise TypeError(f"warm_up: expected a list of functions, got {functions!r}")
        requests = list(dict.fromkeys(read_request(self._subject, asked) for asked in functions))
        in_parallel("warm_up", [partial(self._warmed_up, request) for request in requests], "compiling", progress)

    def _warmed_up(self, request: Request) -> None:
        """A method's code, for single calls and for batches."""
        self._prepared(request)
        make_ready(self._kernel(request.label, {request.label: request}))


_MOST = 200  # lines of the tree and rows of the table that are shown


def robot_html(tree: Tree) -> str:
    """The tree in a <pre>, and below it a <table> with a row for each joint."""
    joints = f"{len(tree.bodies)} moving joint{'' if len(tree.bodies) == 1 else 's'}"
    mass = "" if tree.inertias_ignored else f", {number(tree.mass)} kg"
    head = f"<b>{escape(label(tree.name))}</b>: {joints}, nq {tree.nq}, nv {tree.nv}{mass}"
    lines = tree_lines(tree)
    drawn = escape("\n".join([*lines[:_MOST], *_more(len(lines), "links")]))
    rows = [_row(tree, i) for i in tree.order[:_MOST]]
    table = _tag("tr", *(_tag("th", escape(name)) for name in _HEADER)) + "".join(rows) if rows else ""
    rest = "".join(_tag("div", escape(text)) for text in _more(len(tree.bodies), "joints"))
    return _tag("div", _tag("div", head), f'<pre style="line-height: 1.2">{drawn}</pre>', _tag("table", table), rest)


_HEADER = ("joint", "type", "axis", "q", "v", "lower", "upper", "velocity", "effort", "follows")


def _row(tree: Tree, i: int) -> str:
    body = tree.bodies[i]
    lower, upper = body.limits.positions
    cells = (
        label(body.joint_name),
        body.joint.type_name(),
        axis_text(body.joint),
        slice_text(tree.q_slices[i]),
        slice_text(tree.v_slices[i]),
        *(numbers(x) if len(x) else "-" for x in (lower, upper, body.limits.velocity, body.limits.effort)),
        "" if body.coupling is None else follows_text(body.coupling),
    )
    return _tag("tr", *(_tag("td", escape(cell)) for cell in cells))


def _more(count: int, what: str) -> Sequence[str]:
    return [f"… and more: {count} {what} in all"] if count > _MOST else []


def _tag(name: str, *inner: str) -> str:
    return f"<{name}>{''.join(inner)}</{name}>"


class LimitMethods(RobotBase):
    """Bounds of the numbers of q, v and τ, in their order; there are none where they are infinite."""

    __slots__ = ()

    @property
    def lower(self) -> np.ndarray:
        """The least configuration (nq,) that the joints' limits allow [rad, m]; −inf where there is none.

        Limits that are switched off do not count.  Where joints follow others, all of them are within theirs.  Raises
        ValueError, with the joints' names, where they nowhere are.
        """
        return self._positions(0)

    @property
    def upper(self) -> np.ndarray:
        """The greatest configuration (nq,) that the joints' limits allow [rad, m], as `lower`."""
        return self._positions(1)

    @property
    def position_limits(self) -> Bounds:
        """The pair of `lower` and `upper`, each (nq,) [rad, m]; −inf and inf where there is no limit.

        >>> import linkwork as lw
        >>> lower, upper = lw.load("double_pendulum").position_limits
        >>> upper.tolist()
        [inf, inf]
        """
        return Bounds(self.lower, self.upper)

    @property
    def velocity_limits(self) -> np.ndarray:
        """The greatest speeds (nv,) of the joints [rad/s, m/s]: |v| is not to be more; inf where there is none.

        A joint that follows another with a ratio bounds its speed to its own limit divided by |ratio|.
        """
        tree = self._tree
        limits = np.full(tree.nv, np.inf)
        for body, place in zip(tree.bodies, tree.v_slices, strict=True):
            ratio = 1.0 if body.coupling is None else abs(body.coupling.ratio)
            if ratio > 0.0:
                limits[place] = np.minimum(limits[place], np.array(body.limits.velocity) / ratio)
        return limits

    @property
    def effort_limits(self) -> np.ndarray:
        """The greatest joint forces (nv,) [N·m, N]: |τ| is not to be more; inf where there is none.

        They are those of the joints that have numbers of their own: a joint that follows another is not driven itself.
        """
        return np.array([x for _, body in self._tree.stacked() for x in body.limits.effort], dtype=float)

    def passive_torque(self, v: Array) -> np.ndarray:
        """τ = −damping · v − friction · sign(v), what damping and dry friction of all joints exert at velocity v.

        What they exert on joints that follow others counts for their masters, times the ratio; nothing comes from
        joints whose ``dynamics`` is "none".  sign(0) is 0.  The functions of dynamics include it with ``passive=True``
        alone, springs and armature too: see `passive_force`.
        v (..., nv) -> (..., nv) [N·m, N].
        """
        damping, friction = np.zeros((2, self.nv))
        for body, place in zip(self._tree.bodies, self._tree.v_slices, strict=True):
            if body.dynamics != "none":
                ratio = 1.0 if body.coupling is None else body.coupling.ratio
                damping[place] += ratio * ratio * np.array(body.damping)
                friction[place] += abs(ratio) * np.array(body.friction)
        return resistance(self._subject, v, damping, friction)

    def _positions(self, side: int) -> np.ndarray:
        result = bounds(self._tree)
        return np.array([x for i, _ in self._tree.stacked() for x in result[i][side]], dtype=float)
