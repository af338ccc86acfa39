"""Function specifications: inputs, outputs and properties of a function of a robot or of a joint.

A specification is in the module of its algorithm.  Methods, kernels, the command line, the documentation, the tests and
the benchmarks read it.  Arrays of one name mean the same in every function: they are in `QUANTITIES`, in the order in
which kernels of several functions accept them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from linkwork._util.lazy_dataclass import dataclass
from linkwork.model import friction_laws

__all__ = [
    "ACTUATORS",
    "FRICTION",
    "LOADS",
    "PASSIVE",
    "PASSIVE_BY_DEFAULT",
    "QUANTITIES",
    "SMOOTH_FRICTION",
    "FunctionSpec",
    "InertiaCheck",
    "Option",
    "Output",
    "Quantity",
    "Shape",
    "frame_options",
    "quantity_of",
    "table",
]

Shape = tuple[int | str, ...]
"""Array shape: integers, or names of sizes of the owner, such as "nq" and "nv", or of the request, such as "np", the
number of points.  A size of the request is left out if a single name is given instead of a list."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """Array that functions accept as an argument: its name, shape, meaning and bounds."""

    name: str
    shape: Shape
    doc: str
    configuration: bool = False  # lies on the manifold of the joints' configurations
    least: float | None = None  # lower bound, if any
    most: float | None = None  # upper bound, if any

    @property
    def stacked(self) -> bool:
        """True if the array consists of coordinates of the joints, one joint after the other."""
        return self.shape in (("nq",), ("nv",))


_POSE, _SIX = (4, 4), (6,)

QUANTITIES: dict[str, Quantity] = {
    quantity.name: quantity
    for quantity in (
        Quantity("q", ("nq",), "configuration [rad, m; unit quaternions (w, x, y, z)]", configuration=True),
        Quantity("v", ("nv",), "velocity [rad/s, m/s]"),
        Quantity("a", ("nv",), "acceleration [rad/s², m/s²]"),
        Quantity("tau", ("nv",), "joint forces [N·m, N]"),
        Quantity("x", ("nv",), "joint forces, or whatever M⁻¹ is applied to [N·m, N]"),
        Quantity("q0", ("nq",), "configuration to start from [rad, m; unit quaternions (w, x, y, z)]", True),
        Quantity("q1", ("nq",), "configuration to reach [rad, m; unit quaternions (w, x, y, z)]", True),
        Quantity("q_dot", ("nq",), "rate of the configuration [rad/s, m/s, 1/s]"),
        Quantity("f_v", ("nv",), "force on the velocity [N·m, N]"),
        Quantity("phi", ("nv",), "local coordinates [rad, m]"),
        Quantity("wrench", _SIX, "wrench (moment [N·m]; force [N])"),
        Quantity("positions", ("np", 3), "positions of points in their frames [m]"),
        Quantity("vectors", ("np", 3), "directions in their frames [1]"),
        Quantity("gravity", (3,), "gravity in the world [m/s²]"),
        Quantity("weights", ("nv",), "weights of joint forces, accelerations or steps in a sum [1]"),
        Quantity("time", (), "time, where constraints depend on it [s]"),
        Quantity("loop_forces", ("nl",), "forces of the joints that close loops [N·m, N]"),
        Quantity("constraint_forces", ("nc",), "forces of the constraint equations [N, N·m]"),
        Quantity("restitution", (), "coefficient of restitution [1]", least=0.0, most=1.0),
        Quantity("stabilization", (), "time constant of the decay of constraint errors [s]", least=1e-9),
        Quantity("dt", (), "time step [s]", least=1e-9),
        Quantity("pose", _POSE, "pose X_FM of the frame after the joint in the frame before it [1, m]"),
        Quantity("motion", _SIX, "twist (ω [rad/s]; v [m/s]) of the frame after the joint, in its own coordinates"),
        Quantity("world_pose", _POSE, "pose X_WM of the frame after the joint in the world [1, m]"),
        Quantity("parent_pose", _POSE, "pose of the parent [1, m]"),
        Quantity("parent_twist", _SIX, "twist (ω [rad/s]; v [m/s]) of the parent, in its own coordinates"),
        Quantity(
            "parent_acceleration", _SIX, "spatial acceleration [rad/s²; m/s²] of the parent, in its own coordinates"
        ),
    )
}

LOADS = {"wrenches": "wrench", "impulses": "impulse"}
"""External loads on frames: plural and singular."""

_FAMILIES = {
    "wrench_": Quantity("wrench_", _SIX, "wrench (moment [N·m]; force [N]) on a frame, at its origin"),
    "impulse_": Quantity("impulse_", _SIX, "impulse (moment [N·m·s]; force [N·s]) on a frame, at its origin"),
}


def quantity_of(name: str) -> Quantity:
    """Return the quantity of an input by its name: a name in ``QUANTITIES``, or one such as ``wrench_hand``."""
    result = QUANTITIES.get(name)
    if result is None:
        prefix = next(prefix for prefix in _FAMILIES if name.startswith(prefix))
        result = replace(_FAMILIES[prefix], name=name)
    return result


@dataclass(frozen=True, slots=True)
class Output:
    """Result of a function: its shape and units, and its name if the function has several."""

    shape: Shape
    units: str = ""
    name: str = ""
    configuration: bool = False  # lies on the manifold of the joints' configurations


@dataclass(frozen=True, slots=True)
class Option:
    """Option of a function that is fixed when it is compiled: the name of a frame, or one of several words."""

    name: str
    default: Any = None
    choices: tuple[Any, ...] = ()  # the words; () if it is a name
    required: bool = False
    names: str = "frame"  # kind of object in place of a word: "frame", "point", "direction", "joint" or "velocity"
    counted: str = ""  # the size that the number of names is, where it takes a list of them too, or that a word picks
    counts: tuple[str, ...] = ()  # the sizes that words pick, a word each
    read: Callable[[str, Any], Any] | None = None  # (caller, value): the value that is used; raises for a wrong one


def frame_options(*names: str) -> tuple[Option, ...]:
    """Return the options with these names, for the frame of interest and its reference frames.

    "frame" is the frame of interest.  "relative_to", "expressed_in" and "point" are the reference frames A, E and P of
    `docs/conventions.md`.
    """
    defaults = {"relative_to": "world", "expressed_in": "world"}
    return tuple(Option(name, defaults.get(name), required=name == "frame") for name in names)


PASSIVE = Option("passive", False, (False, True))  # whether armature, damping, friction and springs are part of it
PASSIVE_BY_DEFAULT = replace(PASSIVE, default=True)  # of functions that stand beside a simulation
ACTUATORS = Option("actuators", names="joint", counted="na")  # None: all that do not float
_SMOOTH_LAWS = tuple(law.name for law in friction_laws.ALL if not law.sticks)
FRICTION = Option(  # law of dry friction
    "friction", friction_laws.DEFAULT.name, tuple(friction_laws.BY_NAME), read=friction_laws.read_friction
)
SMOOTH_FRICTION = Option(  # a law that does not stick, for derivatives and constrained dynamics
    "friction", friction_laws.DEFAULT.name, _SMOOTH_LAWS, read=friction_laws.read_smooth_friction
)


@dataclass(frozen=True, slots=True)
class InertiaCheck:
    """Checks of functions that need the inverse of the mass matrix."""

    refuse: Callable[..., None]  # (owner, request): raises SingularInertiaError before a function is traced
    guards: Callable[..., list[Any]]  # (owner, request, tree, q): values that are positive near singular inertia
    warn: Callable[..., None]  # (owner, request, label, arrays): warns of singular configurations after a call
    joints: Callable[..., tuple[str, ...]]  # (tree, passive): names of the joints that move no inertia


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """Specification of a function: its algorithm over any scalar, its inputs and its outputs.

    ``compute`` accepts the owner (a `Tree`, or a `PlacedJoint`), a list of scalars for each input, and options and
    optional inputs by name.  It returns scalars in nested lists, or values with a method ``elements`` that lists them.
    External wrenches are passed as the argument ``wrench_argument``, a list of (frame, expressed_in, scalars).
    Gravity passed with a call replaces the tree's.
    """

    compute: Callable[..., Any]
    inputs: tuple[str, ...]  # names of quantities
    outputs: tuple[Output, ...]
    doc: str
    optional: tuple[str, ...] = ()  # quantities that may be omitted: then None
    options: tuple[Option, ...] = ()
    takes_wrenches: bool = False  # accepts external wrenches, each with the frame that it acts on
    wrench_argument: str = "wrenches"  # name of this argument: "wrenches" or "impulses"
    per_wrench_output: Output | None = None  # a further result for each wrench; its name ends with the wrench's
    joint_space: bool = False  # depends on inertias only by their effect on joints, and not on frames
    needs_body_inertia: bool = False  # depends on the inertias of the bodies themselves
    needs_passive_forces: bool = False  # depends on damping, friction and springs of joints
    needs_joint_limits: bool = False
    needs_placement: bool = False  # of a joint: depends on its placement on its links and on its direction
    any_configuration: bool = False  # accepts configurations off their manifold
    requires_regular_coordinates: bool = False  # undefined where the joints' coordinates are singular
    float64_only: bool = False  # has decisions at the level of rounding: computed in float64 for all input types
    derivative_rule: Callable[..., Any] | None = None  # (tree, marked) -> rule that differentiates the result
    constrained: Callable[..., Any] | None = None  # computes the function of robots with constraints
    with_time: str = ""  # name of the function that computes it if constraints depend on time, given the time
    tree_forces_only: bool = False  # leaves out the forces of joints that close loops
    joint_forces_only: bool = False  # leaves out the forces of force elements
    inertia_check: InertiaCheck | None = None  # refuses and reports singular mass matrices

    @staticmethod
    def of(
        compute: Callable[..., Any], inputs: str, outputs: Output | Iterable[Output], doc: str, **more: Any
    ) -> FunctionSpec:
        """Return a specification of a function; ``inputs`` are the names of its inputs, separated by spaces."""
        result = (outputs,) if isinstance(outputs, Output) else tuple(outputs)
        return FunctionSpec(compute, tuple(inputs.split()), result, doc, **more)

    @property
    def name(self) -> str:
        return self.compute.__name__

    @property
    def needs_inertias(self) -> bool:
        """True if the function is undefined for a robot without inertias."""
        return self.joint_space or self.needs_body_inertia

    @property
    def wrench_arguments(self) -> tuple[str, ...]:
        """Names of two arguments: external wrenches, and the frames in whose axes they are.

        Empty for a function without external wrenches.
        """
        if not self.takes_wrenches:
            return ()
        has_axes = any(option.name == "expressed_in" for option in self.options)  # axes of the result
        return self.wrench_argument, f"{self.wrench_argument}_expressed_in" if has_axes else "expressed_in"

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Quantities of the inputs that every call needs."""
        return tuple(QUANTITIES[name] for name in self.inputs)

    @property
    def units(self) -> str:
        """Units of the first output."""
        return self.outputs[0].units

    @property
    def requires_frame(self) -> bool:
        return any(option.required for option in self.options)


def table(rows: Iterable[FunctionSpec]) -> Mapping[str, FunctionSpec]:
    """Return the specifications by function name.  Raises ValueError for a repeated name."""
    result: dict[str, FunctionSpec] = {}
    for row in rows:
        if result.setdefault(row.name, row) is not row:
            raise ValueError(f"two functions are named {row.name!r}")
    return result
