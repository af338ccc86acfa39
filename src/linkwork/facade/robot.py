"""The robot: every function of an articulated system, by its name in the field."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from keyword import iskeyword
from typing import Any

import numpy as np

from .._locks import Lock
from .._parallel import in_parallel
from ..bridge.arguments import checked
from ..bridge.kernels import Kernel, Request, compile_requests, labelled, make_ready, read_request
from ..model.couple import bounds
from ..model.tree import Report, Tree
from .loading import Continuous, Inertias, Mimicry, Options, read_robot
from .robot_editing import EditingMethods
from .robot_structure import StructureMethods
from .sampling import Size, generator_of, shape_of

__all__ = ["Robot", "load"]

Array = Any  # an array, anything NumPy makes one of, or a dict by joint name


class Robot(EditingMethods, StructureMethods):
    """An articulated system, and its functions as compiled code.

    Conventions: SI units and radians; frames are right-handed; 6-vectors have the angular part first; poses are 4 × 4
    matrices; quaternions are (w, x, y, z).  ``q`` stacks the joints' configurations and ``v`` their velocities in the
    order of `joints`, but for those that follow others; a floating joint's q is (w x y z, x y z) and its v the body's
    twist in the body's own axes, so ``q̇ ≠ v`` in general.

    Each function takes arrays with any leading dimensions, a batch, which broadcast as NumPy's do: ``q`` has shape
    (..., nq), ``v``, ``a`` and ``tau`` (..., nv).  A dict by joint name does too; joints that it leaves out are at
    their zero.  ``out=`` takes an array to write to.  A function is compiled when it is first called (see `compile`).

    They raise ValueError for an array of the wrong shape or type, with a NaN in it, or with a quaternion whose length
    is off by more than 1e-3 (nearer ones are normalised with a `linkwork.errors.ConfigurationWarning`), and
    UnknownNameError (a KeyError) for a name that the robot does not have.

    A robot is an immutable value: equal robots compare and hash equal, and it pickles.
    """

    __slots__ = ("__weakref__", "_calls", "_kernels", "_lock", "_turns")

    def __init__(self, tree: Tree) -> None:
        super().__init__(tree)
        self._calls: dict[Any, Callable[..., np.ndarray]] = {}
        self._kernels: dict[Any, Kernel] = {}
        self._turns: dict[Any, Lock] = {}
        self._lock = Lock()

    # -- what it is

    @property
    def name(self) -> str:
        return self._tree.name

    @property
    def tree(self) -> Tree:
        """The tree of bodies, joints and frames that the robot is made of."""
        return self._tree

    @property
    def report(self) -> Report:
        """What reading the robot's file found odd: everything repaired or ignored is listed in it, and printed."""
        return self._tree.report

    @property
    def nq(self) -> int:
        """How many numbers a configuration has."""
        return self._tree.nq

    @property
    def nv(self) -> int:
        """How many degrees of freedom there are: the numbers of a velocity."""
        return self._tree.nv

    @property
    def gravity(self) -> np.ndarray:
        """Gravity in the world, (3,) [m/s²]."""
        return np.array([*self._tree.gravity])

    @property
    def mass(self) -> float:
        """The mass of all links [kg], those fixed to the world included."""
        self._tree.require_inertias("mass")
        return self._tree.mass

    # -- configurations

    def neutral(self) -> np.ndarray:
        """The configuration (nq,) with every joint at its zero, followers at their offset, within limits or not."""
        return np.array([x for _, body in self._tree.stacked() for x in body.joint.zero()], dtype=float)

    def random_configuration(
        self, rng: np.random.Generator | None = None, *, size: Size = None, seed: int | None = None
    ) -> np.ndarray:
        """Configurations drawn between the joints' limits, of shape (nq,) or (*size, nq).

        A joint without limits: angles from [-π, π], lengths from [-1, 1] m, rotations evenly from SO(3).  Joints that
        others follow stay where all are within limits (ValueError where that is nowhere).  ``rng`` is a NumPy
        generator and ``seed`` a number to make one from; without either it is a fresh one.  A bare number is refused
        (TypeError): it could be a seed as well as a size.
        """
        generator = generator_of(rng, seed)
        shape = shape_of(size)
        q = np.zeros((*shape, self.nq))
        limits = bounds(self._tree)
        for i, body in self._tree.stacked():
            q[..., self._tree.q_slices[i]] = body.joint.random(generator, *limits[i], shape)
        return q

    def normalize(self, q: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """The nearest configuration on the joints' manifolds: quaternions become unit.

        q (..., nq) [rad, m, 1] -> (..., nq) [rad, m, 1].
        """
        call = self._calls.get("normalize") or self._call("normalize")
        return call(q) if out is None else call(q, out=out)

    def integrate(self, q: Array, v: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """q ⊕ v: the configuration that a velocity, held for unit time, leads to.

        q (..., nq), v (..., nv) [rad, m: a rate times a time] -> (..., nq) [rad, m, 1].  A floating joint moves along
        the exponential of its twist (a screw), and its quaternion stays unit.
        """
        call = self._calls.get("integrate") or self._call("integrate")
        return call(q, v) if out is None else call(q, v, out=out)

    def difference(self, q0: Array, q1: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """q1 ⊖ q0: the velocity that leads from one configuration to another in unit time.

        q0 (..., nq), q1 (..., nq) -> (..., nv) [rad, m].  ``integrate(q0, difference(q0, q1))`` is q1; rotations go
        the short way round.
        """
        call = self._calls.get("difference") or self._call("difference")
        return call(q0, q1) if out is None else call(q0, q1, out=out)

    # -- kinematics

    def forward_kinematics(self, q: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """X_WB, the pose in the world of every body B, in the order of `bodies`.

        q (..., nq) -> (..., nb, 4, 4) [1, m], nb bodies.
        """
        call = self._calls.get("forward_kinematics") or self._call("forward_kinematics")
        return call(q) if out is None else call(q, out=out)

    def pose(self, q: Array, frame: str, *, relative_to: str = "world", out: np.ndarray | None = None) -> np.ndarray:
        """X_AB, the pose of a frame B relative to A (``relative_to``): p_A = X_AB p_B.

        q (..., nq) -> (..., 4, 4) [1, m].
        """
        call = self._calls.get(("pose", frame, relative_to)) or self._call("pose", frame=frame, relative_to=relative_to)
        return call(q) if out is None else call(q, out=out)

    def twist(
        self,
        q: Array,
        v: Array,
        frame: str,
        *,
        relative_to: str = "world",
        expressed_in: str = "world",
        at: str | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """(ω; v) of a frame B relative to A, in the axes of E (``expressed_in``).

        v is the velocity of the point of B that coincides with the origin of the frame ``at`` (B's own by default;
        ``at="world"`` is the Plücker form).  q (..., nq), v (..., nv) -> (..., 6) [rad/s, m/s].
        """
        call = self._calls.get(("twist", frame, relative_to, expressed_in, at)) or self._call(
            "twist", frame=frame, relative_to=relative_to, expressed_in=expressed_in, at=at
        )
        return call(q, v) if out is None else call(q, v, out=out)

    def acceleration(
        self,
        q: Array,
        v: Array,
        a: Array,
        frame: str,
        *,
        relative_to: str = "world",
        expressed_in: str = "world",
        at: str | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """(ω̇; v̇) of a frame B as seen by an observer in A, in the axes of E (``expressed_in``).

        v̇ is the classical acceleration of the point of B that coincides with the origin of the frame ``at`` (B's own
        by default): no gravity in it.  q (..., nq), v, a (..., nv) -> (..., 6) [rad/s², m/s²].
        """
        call = self._calls.get(("acceleration", frame, relative_to, expressed_in, at)) or self._call(
            "acceleration", frame=frame, relative_to=relative_to, expressed_in=expressed_in, at=at
        )
        return call(q, v, a) if out is None else call(q, v, a, out=out)

    def jacobian(
        self,
        q: Array,
        frame: str,
        *,
        relative_to: str = "world",
        expressed_in: str = "world",
        at: str | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """J with J v the twist of a frame B relative to A, in the axes of E, at the point that `twist` describes.

        q (..., nq) -> (..., 6, nv) [1, m].
        """
        call = self._calls.get(("jacobian", frame, relative_to, expressed_in, at)) or self._call(
            "jacobian", frame=frame, relative_to=relative_to, expressed_in=expressed_in, at=at
        )
        return call(q) if out is None else call(q, out=out)

    # -- dynamics

    def inverse_dynamics(self, q: Array, v: Array, a: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """τ = M(q) a + h(q, v): the joint forces under which the robot accelerates by a (recursive Newton-Euler).

        q (..., nq), v, a (..., nv) -> (..., nv) [N·m, N].  Joint damping and friction are not part of it.
        """
        call = self._calls.get("inverse_dynamics") or self._call("inverse_dynamics")
        return call(q, v, a) if out is None else call(q, v, a, out=out)

    def forward_dynamics(self, q: Array, v: Array, tau: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """a = M(q)⁻¹ (τ − h(q, v)): the accelerations under joint forces τ (articulated bodies).

        q (..., nq), v, tau (..., nv) -> (..., nv) [rad/s², m/s²].  Joint damping and friction are not part of it.
        Raises SingularInertiaError where a joint moves no inertia; where only some configurations make M singular, the
        accelerations are not finite there.
        """
        call = self._calls.get("forward_dynamics") or self._call("forward_dynamics")
        return call(q, v, tau) if out is None else call(q, v, tau, out=out)

    def mass_matrix(self, q: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """M(q), symmetric: the kinetic energy is ½ vᵀ M v (composite rigid bodies).

        q (..., nq) -> (..., nv, nv) [kg·m², kg·m, kg].
        """
        call = self._calls.get("mass_matrix") or self._call("mass_matrix")
        return call(q) if out is None else call(q, out=out)

    def bias_force(self, q: Array, v: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """h(q, v) = C(q, v) v + g(q): the joint forces at which nothing accelerates.

        q (..., nq), v (..., nv) -> (..., nv) [N·m, N].
        """
        call = self._calls.get("bias_force") or self._call("bias_force")
        return call(q, v) if out is None else call(q, v, out=out)

    def gravity_force(self, q: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """g(q): the joint forces that hold the robot still.

        q (..., nq) -> (..., nv) [N·m, N].
        """
        call = self._calls.get("gravity_force") or self._call("gravity_force")
        return call(q) if out is None else call(q, out=out)

    # -- compiled code

    def compile(self, functions: Any, *, name: str | None = None) -> Kernel:
        """A kernel for one or several of the robot's functions, which then share all common work.

        ``functions`` is a name (``"mass_matrix"``), a name with a frame (``("jacobian", "hand")``, and options as
        ``("jacobian", "hand", {"expressed_in": "hand"})``), a list of such, or a dict of such that names the outputs.
        The kernel takes the inputs that any of them take, in the order q, v, a, tau; several results come as a named
        tuple.  In a list, a function asked for once is named as it is, and otherwise with its frame:
        ``jacobian_left_foot``.

        Unlike the robot's methods, a kernel lets NaN pass through as IEEE 754 has it.
        """
        if isinstance(functions, Mapping):
            requests = {key: read_request(self._tree, asked) for key, asked in functions.items()}
            for key in requests:
                if not (isinstance(key, str) and key.isidentifier()) or key.startswith("_") or iskeyword(key):
                    raise ValueError(f"compile: expected outputs named by identifiers, got {key!r}")
        else:
            asked = functions if isinstance(functions, list) else [functions]
            requests = labelled([read_request(self._tree, one) for one in asked])
        if not requests:
            raise ValueError("compile: expected at least one function")
        if name is not None and not name.isidentifier():
            raise ValueError(f"compile: expected a kernel named by an identifier, got {name!r}")
        return self._kernel(name or "_".join(requests), requests)

    def warm_up(self, functions: Sequence[Any], *, progress: bool | None = None) -> None:
        """Compile functions before they are needed, several at a time.

        ``functions`` is a list of what `compile` takes one of: ``["inverse_dynamics", ("jacobian", "hand")]``.  The
        robot's methods are then ready for use.  What the cache on disk holds is not compiled.  ``progress`` says
        whether standard error shows how far it is; by itself it does where that is a terminal.

        Raises what `compile` raises for a function that it does not know, before anything is compiled, and
        SingularInertiaError as the functions do.
        """
        if isinstance(functions, (str, Mapping)) or not isinstance(functions, Iterable):
            raise TypeError(f"warm_up: expected a list of functions, got {functions!r}")
        requests = list(dict.fromkeys(read_request(self._tree, asked) for asked in functions))
        in_parallel([partial(self._warmed_up, request) for request in requests], "compiling", progress)

    def _warmed_up(self, request: Request) -> None:
        """A method's code, for single calls and for batches."""
        self._prepared(request)
        make_ready(self._kernel(request.label, {request.label: request}))

    def _kernel(self, name: str, requests: dict[str, Request]) -> Kernel:
        key = (name, *requests.items())
        with self._lock:
            turn = self._turns.setdefault(key, Lock())
        with turn:  # others may compile other functions meanwhile
            if key not in self._kernels:
                self._kernels[key] = compile_requests(self._tree, name, requests)
            return self._kernels[key]

    def _prepared(self, request: Request) -> Callable[..., np.ndarray]:
        """What a method runs: the kernel, with a look at the arguments where the kernel is not content with them."""
        call = self._calls.get(request)
        if call is None:
            call = checked(self._tree, request.function.name, self._kernel(request.label, {request.label: request}))
            self._calls[request] = call
        return call

    def _call(self, name: str, **frames: str | None) -> Callable[..., np.ndarray]:
        """The same for a method's arguments, by which it is found faster the next time."""
        key = (name, *frames.values()) if frames else name
        call = self._prepared(read_request(self._tree, (name, frames) if frames else name))
        self._calls[key] = call
        return call

    # -- a value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Robot) and self._tree == other._tree

    def __hash__(self) -> int:
        return hash((Robot, self._tree))

    def __reduce__(self) -> tuple[Any, ...]:
        return Robot, (self._tree,)

    def __repr__(self) -> str:
        bodies, dof = len(self._tree.bodies), self.nv
        return f"<Robot {self.name!r}: {bodies} moving bodies, {dof} degrees of freedom>"


def load(
    robot: str | os.PathLike[str],
    *,
    floating_base: bool = False,
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    strict: bool = False,
    multi_root: bool = False,
    mimic: Mimicry = "free",
    continuous: Continuous = "angle",
    inertia: Inertias = "given",
) -> Robot:
    """A robot: one of those that linkwork has inside, by name (`linkwork.robots.names`), or from a URDF file.

    ``floating_base`` frees the root link: it moves by a floating joint named "floating_base" instead of being fixed
    to the world.  ``multi_root`` allows a file several links without a parent, all fixed to the world.  ``gravity`` is
    in the world's axes [m/s²].  What the reader repairs or ignores is listed in ``robot.report``; repairs are told by
    one `linkwork.errors.ModelWarning`, and ``strict`` makes errors of them.

    ``mimic="coupled"`` binds joints that the file makes follow others, exactly (`Robot.coupled`): they have no numbers
    in q and v; ``"free"`` leaves them free, and what the file says in ``joint.mimic``; ``"ignore"`` does not look at
    it.  ``continuous`` says how the configuration of a continuous joint is written: as its ``"angle"``, or as
    ``"sincos"``, two numbers (sin, cos).  ``inertia="nearest"`` replaces rotational inertias that no body has by the
    nearest that one has, where it is near enough, instead of refusing the robot as ``"given"`` does; ``"ignore"``
    leaves all inertias out, for kinematics alone.  The page on robot files says more of all of these.

    A path may begin with ``~``, one's home; ``./~`` is a file of that name.

    Raises ModelError (a ValueError) that says what is wrong in the file and where; FileNotFoundError and
    PermissionError as the system gives them; UnknownNameError for a name that is none of a robot inside.
    """
    options = Options(
        floating_base=floating_base,
        gravity=gravity,
        strict=strict,
        multi_root=multi_root,
        mimic=mimic,
        continuous=continuous,
        inertia=inertia,
    )
    return Robot(read_robot(robot, options))
