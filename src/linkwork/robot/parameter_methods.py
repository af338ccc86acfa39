"""Methods of `Robot` for its parameters: inertias, placements, gravity, armature, damping, friction and springs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np

from linkwork.dynamics.inertial_parameters import explain
from linkwork.errors import Findings
from linkwork.expr.arrays.symbol_array import is_traced, scalars
from linkwork.joints.axis import unit_axis
from linkwork.kernels.owners import has_symbols
from linkwork.kernels.robot_base import Array, RobotBase, edits
from linkwork.model.composite_body import frames_with_inertias
from linkwork.model.kernel_parameters import KINDS, Parameter, inputs_of, read_parameters
from linkwork.model.loop_joints import loops_of
from linkwork.model.parametrized_tree import inertia_factor, parametrized, with_parameter_values
from linkwork.model.tree import Tree
from linkwork.model.value_check import check_joint_values
from linkwork.robot.construction.link import joint_description
from linkwork.robot.joint.joint import Joint, body_with, joint_of
from linkwork.robot.joint.passive_parameters import DRIVE, dof_values, read_drive
from linkwork.spatial import Inertia
from linkwork.spatial.arguments import LARGEST, checked_array

__all__ = ["ParameterMethods"]


class ResistanceMethods(RobotBase):
    """Methods of `Robot` for passive joint parameters: armature, damping, dry friction and springs.

    The functions of dynamics include them with ``passive=True``; `passive_force` is their force.  Arrays have the
    joints with their own coordinates, in the order of v and q.  A follower has its own values, in
    ``robot.joint(name)``; they act on its master, times the ratio (armature and damping: times its square).
    """

    __slots__ = ()

    @property
    def armature(self) -> np.ndarray:
        """Armature (nv,), the reflected inertia of rotors [kg·m², kg]."""
        return self._stacked("armature")

    @property
    def gear_ratio(self) -> np.ndarray:
        """Gear ratio (nv,), rotor revolutions per joint revolution."""
        return self._stacked("gear_ratio")

    @property
    def damping(self) -> np.ndarray:
        """Viscous damping (nv,) [N·m·s/rad, N·s/m]."""
        return self._stacked("damping")

    @property
    def friction(self) -> np.ndarray:
        """Kinetic dry friction (nv,) [N·m, N]."""
        return self._stacked("friction")

    @property
    def static_friction(self) -> np.ndarray:
        """Static dry friction (nv,) [N·m, N]; at least `friction`."""
        return self._stacked("static_friction")

    @property
    def friction_velocity(self) -> np.ndarray:
        """Speeds v_s (nv,) of the smooth friction law f tanh(v / v_s) [rad/s, m/s]."""
        return self._stacked("friction_velocity")

    @property
    def stiffness(self) -> np.ndarray:
        """Stiffness (nv,) of the joints' springs [N·m/rad, N/m]."""
        return self._stacked("stiffness")

    @property
    def rest_configuration(self) -> np.ndarray:
        """Rest configuration (nq,) of the joints' springs, where their force is zero [rad, m]."""
        return self._stacked("rest")

    @edits
    def with_joint_dynamics(
        self,
        *,
        armature: Array | None = None,
        gear_ratio: Array | None = None,
        rotor_inertia: Array | None = None,
        damping: Array | None = None,
        friction: Array | None = None,
        static_friction: Array | None = None,
        friction_velocity: Array | None = None,
        stiffness: Array | None = None,
        rest: Array | None = None,
    ) -> Self:
        """Return the robot with other armature, damping, friction or springs in its joints.

        Each argument is an array (nv,), for ``rest`` (nq,), in the order of v and q; or a dict by joint name of numbers
        or arrays; or, except for ``rest``, a number for all joints but floating ones, followers included.
        ``rotor_inertia`` [kg·m², kg] sets the armature to N² · rotor_inertia, with the gear ratio N.  Static friction
        that was equal to the friction changes with it.  Springs have a ``stiffness``, and laws of friction
        ``static_friction`` and ``friction_velocity``.  Units are those of the properties of these names.  Arguments
        left out do not change.

        >>> import linkwork as lw
        >>> arm = lw.load("arm7").with_joint_dynamics(gear_ratio={"elbow": 100}, rotor_inertia={"elbow": 2e-5})
        >>> arm.joint("elbow").armature.round(6).tolist()
        [0.2]

        Raises ValueError, with the joint's name, for negative or non-finite values, a zero gear ratio or friction
        velocity, static friction below kinetic friction, an invalid rest configuration and wrong sizes;
        UnknownNameError for an unknown joint; TypeError for armature and rotor inertia of the same joint.
        """
        arguments = {"armature": armature, "gear_ratio": gear_ratio, "rotor_inertia": rotor_inertia, "damping": damping}
        arguments |= {"friction": friction, "static_friction": static_friction, "friction_velocity": friction_velocity}
        arguments |= {"stiffness": stiffness, "rest": rest}
        by_joint: dict[int, dict[str, Any]] = {}
        for key, value in arguments.items():
            if value is not None:
                for index, per_joint in self._by_joint(key, value).items():
                    by_joint.setdefault(index, {})[key] = per_joint
        bodies, findings = list(self._tree.bodies), Findings()
        for index, values in by_joint.items():
            joint = _with_passive(joint_of(self._tree, index), values)
            check_joint_values(findings, joint_description(self._tree.name, joint))
            bodies[index] = body_with(joint, bodies[index])
        findings.raise_errors()
        return type(self)(replace(self._tree, bodies=tuple(bodies)))

    def _by_joint(self, key: str, value: Any) -> dict[int, Any]:
        """Return the values of a passive parameter as a dict by the index of each joint's body.

        ``value`` is an array for all joints, a dict by joint name, or a number for all joints but floating ones.
        """
        tree = self._tree
        if isinstance(value, Mapping):
            return {tree.joint_index(name): x for name, x in value.items()}
        whole = (tree.nq,) if key == "rest" else (tree.nv,)
        expected = f"{key}: expected an array of shape {whole} or a dict by joint name"
        expected += "" if key == "rest" else ", or a number"
        shapes = [whole] if key == "rest" else [(), whole]
        array = checked_array(value, expected, *shapes)
        if array.ndim == 0:
            return {i: float(array) for i, body in enumerate(tree.bodies) if not body.joint.is_floating}
        slices = tree.q_slices if key == "rest" else tree.v_slices
        return {i: array[slices[i]] for i, _ in tree.stacked()}

    def _stacked(self, key: str) -> np.ndarray:
        arrays = [getattr(joint_of(self._tree, i), key) for i, _ in self._tree.stacked()]
        return np.concatenate([np.zeros(0), *arrays])


def _with_passive(joint: Joint, values: dict[str, Any]) -> Joint:
    """Return the joint with the passive parameters in ``values`` replaced."""
    caller, nv = joint.name, joint.nv
    result: dict[str, Any] = {key: getattr(joint, key) for key in DRIVE}
    if "rotor_inertia" in values:
        del result["armature"]
    changes: dict[str, Any] = {}
    for key in ("damping", "friction"):
        if key in values:
            changes[key] = dof_values(caller, key, values[key], nv, least=0.0, infinite=False)
    dry = np.asarray(changes.get("friction", joint.friction))
    result["static_friction"] = np.where(joint.static_friction == joint.friction, dry, joint.static_friction)
    result |= {key: value for key, value in values.items() if key in (*DRIVE, "rotor_inertia")}
    return replace(joint, **changes, **read_drive(caller, joint.type, dry, result))


_FILE_ROUNDING = 1e-5  # relative rounding of six digits in files


class ParameterMethods(ResistanceMethods):
    """Methods that return and replace the robot's parameters, such as inertias, by name."""

    __slots__ = ()

    def parameters(self, names: str | Iterable[str]) -> dict[str, np.ndarray]:
        """Return values of the robot's parameters, as a dict by the names of a kernel's inputs.

        ``kernel(q, v, a, **robot.parameters(names))`` equals the result of the robot's method.  ``names`` is a string
        or several, as in `compile`; a name with ``*``, ``?`` or ``[`` matches all names of the pattern:

        - ``inertia:<link>`` (10,): a link's own mass [kg], first moments of mass [kg·m] and rotational inertia J_xx,
          J_xy, J_xz, J_yy, J_yz, J_zz [kg·m²] about its origin in its axes; ``inertia`` (nb, 10): the total of each
          body in the order of `bodies`, as in `inertial_parameters`;
        - ``armature``, ``damping``, ``friction``, ``static_friction``, ``friction_velocity``, ``stiffness``:``<joint>``
          (nv of the joint,), followers included, or without a joint (nv,); ``rest:<joint>`` (nq of the joint,) and
          ``rest`` (nq,).  Units are those of the properties of these names; they act with ``passive=True``.  All but
          armature are also those of a joint that closes a loop, by its name;
        - ``gravity`` (3,) [m/s²];
        - ``placement:<joint>`` (6,): an offset (φ; d) of a moving or fixed joint from its placement on the parent link,
          a rotation vector φ [rad] and a displacement d [m] in the joint's axes; ``placement`` (nb, 6): of each moving
          joint in the order of `bodies`.  ``frame:<frame>`` (6,): the same offset of a frame and all that is fixed to
          it.  The robot's own offsets are zero;
        - ``point:<point>`` (3,) [m] and ``direction:<direction>`` (3,), of unit length, in their frames.

        Raises UnknownNameError for an unknown kind or name, ValueError for a repeated parameter.
        """
        inputs = inputs_of(read_parameters(self._tree, "parameters", names))
        return {
            key: np.array(p.nominal(self._tree), dtype=float).reshape(p.shape(self._tree)) for p, key in inputs.items()
        }

    def with_parameters(self, values: Mapping[str, Any]) -> Self:
        """Return the robot with other parameter values, by parameter or kernel input: see `parameters`.

        >>> import linkwork as lw
        >>> arm = lw.load("arm7").with_parameters({"inertia:hand": [0.5, 0, 0, 0.02, 2e-3, 0, 0, 2e-3, 0, 1e-3]})
        >>> arm.link("hand").mass
        0.5

        In a compiled function, values may be symbols: the robot's methods are then functions of them, and the robot is
        valid in that function only.

        Raises ValueError for a wrong shape, values that are not finite and unphysical inertias, with the reason.  The
        robot's own values are always accepted.
        """
        if not isinstance(values, Mapping):
            raise TypeError(f"with_parameters: values: expected a dict by parameter, got {values!r}")
        arguments = {p: x for key, x in values.items() for p in read_parameters(self._tree, _CALLER, key)}
        read_parameters(self._tree, _CALLER, [*values])  # raises for repeated parameters
        if has_symbols(self._subject) or any(map(is_traced, arguments.values())):
            return self._with_symbols({p: _scalars(self._tree, p, x) for p, x in arguments.items()})
        arrays = {p: _checked_values(self._tree, p, x) for p, x in arguments.items()}
        in_joints: dict[str, dict[str, Any]] = {}
        loops = [loop.name for loop in loops_of(self._tree)]
        for p in [p for p in arrays if isinstance(KINDS[p.kind].size, str) and p.name not in loops]:
            in_joints.setdefault(p.kind, {}).update(_by_joint(self._tree, p, arrays.pop(p)))
        tree = with_parameter_values(self._tree, {p: x.ravel().tolist() for p, x in arrays.items()})
        for loop in loops_of(tree):
            for fault in loop.checked(self):
                raise ValueError(f"{_CALLER}: {loop.name}: {fault}")
        if any(p.kind == "inertia" and not p.name for p in arrays):
            _check_own_links(self._tree, tree)
        robot = type(self)(tree)
        return robot.with_joint_dynamics(**in_joints) if in_joints else robot

    def _with_symbols(self, values: Mapping[Parameter, list[Any]]) -> Self:
        """Return the robot with symbols as the values of the named parameters, in a compiled function."""
        subject = replace(self._subject, parameter_values={**self._subject.parameter_values, **values})
        robot = type(self)(subject.tree)
        robot._subject, robot._tree = subject, parametrized(subject.tree, subject.parameter_values)
        return robot


_CALLER = "with_parameters"
_ORDER = "(m, m c_x, m c_y, m c_z, Jxx, Jxy, Jxz, Jyy, Jyz, Jzz)"


def _expected(tree: Tree, p: Parameter) -> str:
    shape = p.shape(tree)
    return f"{_CALLER}: {p}: expected numbers of shape {shape}, {KINDS[p.kind].doc}"


def _scalars(tree: Tree, p: Parameter, value: Any) -> list[Any]:
    """Return a parameter's value, an array of numbers and symbols, as a flat list."""
    array = scalars(value)
    if array.shape != p.shape(tree):
        raise ValueError(f"{_expected(tree, p)}, got an array of shape {array.shape}")
    return array.ravel().tolist()


def _checked_values(tree: Tree, p: Parameter, value: Any) -> np.ndarray:
    """Convert the value of a parameter to an array. Raises ValueError if it is not physically possible."""
    expected = _expected(tree, p)
    array = checked_array(value, expected, p.shape(tree))
    if np.abs(array).max(initial=0.0) > LARGEST:
        raise ValueError(f"{expected} of at most {LARGEST:.0e}, got {value!r}")
    nominal = np.reshape(p.nominal(tree), p.shape(tree))
    if np.array_equal(array, nominal):
        return array
    if p.kind == "direction":
        return np.array([*unit_axis(array.tolist(), f"{_CALLER}: {p}", "direction")])
    if p.kind == "inertia":
        for k, (x, known) in enumerate(zip(array.reshape(-1, 10), nominal.reshape(-1, 10), strict=True)):
            is_multiple = inertia_factor(x.tolist(), known.tolist()) is not None  # the robot's own was accepted
            reasons = () if is_multiple else explain(x, tolerance=_FILE_ROUNDING)
            if reasons:
                body = "" if p.name else f": row {k}, body {tree.bodies[k].name!r}"
                is_own = bool(explain(known, tolerance=_FILE_ROUNDING))
                note = ', and so are the robot\'s own, which load(path, inertia="nearest") repairs' if is_own else ""
                raise ValueError(
                    f"{_CALLER}: {p}{body}: unphysical inertial parameters{note}: {'; '.join(reasons)}; "
                    f"the order is {_ORDER} about the link's origin, in its axes; "
                    f"linkwork.parameters.from_log_cholesky always returns physical inertias"
                )
    return array


def _check_own_links(before: Tree, after: Tree) -> None:
    """Raise ValueError if the link at a body's frame has an unphysical inertia.

    It is the body's inertia minus the inertia of its welded links.

    ``before`` and ``after`` are the trees before and after a change of inertias.
    """
    known = {frame.name: frame.inertia for frame in frames_with_inertias(before.bodies, before.frames)}
    names = {body.name for body in after.bodies}
    for frame in after.frames:
        if frame.name in names and frame.inertia != known.get(frame.name):
            values, nominal = frame.inertia.parameters(), known.get(frame.name, Inertia.zero()).parameters()
            reasons = explain(values, tolerance=_FILE_ROUNDING)
            if reasons and inertia_factor(values, nominal) is None:
                raise ValueError(
                    f"{_CALLER}: inertia: body {frame.name!r}: less the inertia of its welded links, link "
                    f"{frame.name!r} is unphysical: {'; '.join(reasons)}; set the links' own, as inertia:{frame.name}"
                )


def _by_joint(tree: Tree, p: Parameter, values: np.ndarray) -> dict[str, np.ndarray]:
    """Return a parameter's values as a dict by joint name."""
    if p.name:
        return {p.name: values}
    slices = tree.q_slices if p.kind == "rest" else tree.v_slices
    return {body.joint_name: values[slices[i]] for i, body in tree.stacked() if body.joint.nv}
