"""A robot's own numbers as parameters: what they are, and robots with others.

What is in the joints: armature, damping, dry friction, springs.
"""

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
from linkwork.model.parametrized_tree import parametrized, with_parameter_values
from linkwork.model.tree import Tree
from linkwork.model.value_check import check_joint_values
from linkwork.parts.construction.link import joint_description
from linkwork.parts.joint.joint import Joint, body_with, joint_of
from linkwork.parts.joint.passive_parameters import DRIVE, dof_values, given_drive
from linkwork.spatial.arguments import LARGEST, given_numbers
from linkwork.spatial.inertia_vector import parameters_of

__all__ = ["ParameterMethods"]


class ResistanceMethods(RobotBase):
    """What is in the joints: armature, damping, dry friction, springs.

    The functions of dynamics count it with ``passive=True``; `passive_force` is what it exerts.  Arrays are those of
    the joints that have numbers of their own, in their order in v and q.  A joint that follows another keeps its own,
    in ``robot.joint(name)``; what they do is felt by its master, times the ratio, of armature and damping its square.
    """

    __slots__ = ()

    @property
    def armature(self) -> np.ndarray:
        """Inertia (nv,) of what turns with the joints alone [kg·m², kg]."""
        return self._stacked("armature")

    @property
    def gear_ratio(self) -> np.ndarray:
        """Turns (nv,) of the rotors for one of the joints."""
        return self._stacked("gear_ratio")

    @property
    def damping(self) -> np.ndarray:
        """Viscous damping (nv,) [N·m·s/rad, N·s/m]."""
        return self._stacked("damping")

    @property
    def friction(self) -> np.ndarray:
        """Dry friction (nv,) of joints that move [N·m, N]."""
        return self._stacked("friction")

    @property
    def static_friction(self) -> np.ndarray:
        """Dry friction (nv,) that holds joints at rest [N·m, N]; at least `friction`."""
        return self._stacked("static_friction")

    @property
    def friction_velocity(self) -> np.ndarray:
        """Speeds v_s (nv,) of the smooth law of friction, f tanh(v / v_s) [rad/s, m/s]."""
        return self._stacked("friction_velocity")

    @property
    def stiffness(self) -> np.ndarray:
        """Stiffness (nv,) of the joints' springs [N·m/rad, N/m]."""
        return self._stacked("stiffness")

    @property
    def rest_configuration(self) -> np.ndarray:
        """The configuration (nq,) at which the joints' springs exert nothing [rad, m]."""
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
        """The robot with other armature, damping, friction or springs in its joints; what is left out stays.

        Each is an array (nv,), of ``rest`` (nq,), in the order of v and q; or a dict by joint name, of a number or one
        for each of the joint's; or, but for ``rest``, a number for all joints except those that float, followers too.
        ``rotor_inertia`` [kg·m², kg] stands for the armature N² · rotor_inertia, N the gear ratio.  Static friction
        that was as friction stays so.  Units are those of the properties of these names.

        >>> import linkwork as lw
        >>> arm = lw.load("arm7").with_joint_dynamics(gear_ratio={"elbow": 100}, rotor_inertia={"elbow": 2e-5})
        >>> arm.joint("elbow").armature.round(6).tolist()
        [0.2]

        Raises ValueError, with the joint's name, for numbers that are negative or not finite, a gear ratio or a
        friction_velocity of zero, static friction below that of motion, a rest that is no configuration, and sizes that
        do not fit; UnknownNameError for a joint that is not there; TypeError where armature and rotor inertia are given
        for one joint.
        """
        given = {"armature": armature, "gear_ratio": gear_ratio, "rotor_inertia": rotor_inertia, "damping": damping}
        given |= {"friction": friction, "static_friction": static_friction, "friction_velocity": friction_velocity}
        given |= {"stiffness": stiffness, "rest": rest}
        said: dict[int, dict[str, Any]] = {}
        for key, value in given.items():
            if value is not None:
                for index, part in self._by_joint(key, value).items():
                    said.setdefault(index, {})[key] = part
        bodies, findings = list(self._tree.bodies), Findings()
        for index, values in said.items():
            joint = _resisting(joint_of(self._tree, index), values)
            check_joint_values(findings, joint_description(self._tree.name, joint))
            bodies[index] = body_with(joint, bodies[index])
        findings.raise_errors()
        return type(self)(replace(self._tree, bodies=tuple(bodies)))

    def _by_joint(self, key: str, value: Any) -> dict[int, Any]:
        """What is said of joints, by the index of the body that each carries."""
        tree = self._tree
        if isinstance(value, Mapping):
            return {tree.joint_index(name): part for name, part in value.items()}
        whole = (tree.nq,) if key == "rest" else (tree.nv,)
        expected = f"{key}: expected an array of shape {whole} or a dict by joint name"
        expected += "" if key == "rest" else ", or a number"
        shapes = [whole] if key == "rest" else [(), whole]
        numbers = given_numbers(value, expected, *shapes)
        if numbers.ndim == 0:
            return {i: float(numbers) for i, body in enumerate(tree.bodies) if not body.joint.is_floating}
        places = tree.q_slices if key == "rest" else tree.v_slices
        return {i: numbers[places[i]] for i, _ in tree.stacked()}

    def _stacked(self, key: str) -> np.ndarray:
        parts = [getattr(joint_of(self._tree, i), key) for i, _ in self._tree.stacked()]
        return np.concatenate([np.zeros(0), *parts])


def _resisting(joint: Joint, said: dict[str, Any]) -> Joint:
    """The joint with what is said of it."""
    caller, nv = joint.name, joint.nv
    if "rotor_inertia" in said and "armature" in said:
        raise TypeError(f"joint {caller!r}: armature and rotor_inertia say the same: give one of them")
    result: dict[str, Any] = {key: getattr(joint, key) for key in DRIVE}
    resisting: dict[str, Any] = {}
    for key in ("damping", "friction"):
        if key in said:
            resisting[key] = dof_values(caller, key, said[key], nv, least=0.0, infinite=False)
    dry = np.asarray(resisting.get("friction", joint.friction))
    result["static_friction"] = np.where(joint.static_friction == joint.friction, dry, joint.static_friction)
    result |= {key: value for key, value in said.items() if key in DRIVE}
    if "rotor_inertia" in said:
        rotor = dof_values(caller, "rotor_inertia", said["rotor_inertia"], nv, least=0.0, infinite=False)
        turns = dof_values(caller, "gear_ratio", result["gear_ratio"], nv, infinite=False)
        result["armature"] = turns * turns * rotor
    return replace(joint, **resisting, **given_drive(caller, joint.type, dry, result))


_FILE = 1e-5  # relative: what is left of a file's six digits


class ParameterMethods(ResistanceMethods):
    """The robot's own numbers, by the names under which kernels take them."""

    __slots__ = ()

    def parameters(self, names: str | Iterable[str]) -> dict[str, np.ndarray]:
        """The robot's own numbers for parameters, by the names of the inputs of a kernel that has them.

        ``kernel(q, v, a, **robot.parameters(names))`` is what the robot's method gives.  Names are texts, one or
        several, as `compile` takes them; one with ``*``, ``?`` or ``[`` stands for all that fit:

        - ``inertia:<link>`` (10,): a link's own mass [kg], first moments of mass [kg·m] and rotational inertia J_xx,
          J_xy, J_xz, J_yy, J_yz, J_zz [kg·m²], about its origin in its axes; ``inertia`` (nb, 10): of each body as a
          whole, in the order of `bodies`, as `inertial_parameters` has them;
        - ``armature``, ``damping``, ``friction``, ``static_friction``, ``friction_velocity``, ``stiffness``:``<joint>``
          (nv of the joint,), a follower's too, or alone (nv,); ``rest:<joint>`` and ``rest`` of q's numbers.  Units are
          those of the properties of these names; they count where ``passive=True``;
        - ``gravity`` (3,) [m/s²];
        - ``placement:<joint>`` (6,): an offset (φ; d) of the joint from its place on the link before it, turned by the
          rotation vector φ [rad] and moved by d [m] in its own axes, a fixed joint's too; ``placement`` (nb, 6): of
          each moving joint, in the order of `bodies`.  ``frame:<frame>`` (6,): the same of a frame on what carries it,
          with all that is fixed to it.  The robot's own offsets are zero;
        - ``point:<point>`` (3,) [m] and ``direction:<direction>`` (3,), of unit length, in their frames.

        Raises UnknownNameError for a kind and a name that are not there, ValueError for what is named twice.
        """
        asked = inputs_of(read_parameters(self._tree, "parameters", names))
        return {
            key: np.array(p.nominal(self._tree), dtype=float).reshape(p.shape(self._tree)) for p, key in asked.items()
        }

    def with_parameters(self, values: Mapping[str, Any]) -> Self:
        """The robot with other numbers, by the names of parameters or of their inputs: see `parameters`.

        >>> import linkwork as lw
        >>> arm = lw.load("arm7").with_parameters({"inertia:hand": [0.5, 0, 0, 0.02, 2e-3, 0, 0, 2e-3, 0, 1e-3]})
        >>> arm.link("hand").mass
        0.5

        In a function that is compiled, numbers may be symbols: the robot's methods then are functions of them, and it
        is of use in that function only.

        Raises ValueError for another shape, for numbers that are not finite, and for inertias that no body has, which
        says why; what the robot's own are is taken as it is.
        """
        if not isinstance(values, Mapping):
            raise TypeError(f"with_parameters: expected a dict by parameter, got {values!r}")
        given = {p: x for key, x in values.items() for p in read_parameters(self._tree, _WHO, key)}
        read_parameters(self._tree, _WHO, [*values])  # refuses what is given twice
        if has_symbols(self._subject) or any(map(is_traced, given.values())):
            return self._with_symbols({p: _scalars(self._tree, p, x) for p, x in given.items()})
        numbers = {p: _numbers(self._tree, p, x) for p, x in given.items()}
        in_joints: dict[str, dict[str, Any]] = {}
        for p in [p for p in numbers if isinstance(KINDS[p.kind].size, str)]:
            in_joints.setdefault(p.kind, {}).update(_by_joint(self._tree, p, numbers.pop(p)))
        tree = with_parameter_values(self._tree, {p: x.ravel().tolist() for p, x in numbers.items()})
        if any(p.kind == "inertia" and not p.name for p in numbers):
            _check_own_links(self._tree, tree)
        robot = type(self)(tree)
        return robot.with_joint_dynamics(**in_joints) if in_joints else robot

    def _with_symbols(self, numbers: Mapping[Parameter, list[Any]]) -> Self:
        """A robot some of whose numbers are symbols: what it is made of is known, and its functions take them."""
        subject = replace(self._subject, parameter_values={**self._subject.parameter_values, **numbers})
        robot = type(self)(subject.tree)
        robot._subject, robot._tree = subject, parametrized(subject.tree, subject.parameter_values)
        return robot


_WHO = "with_parameters"


def _expected(tree: Tree, p: Parameter) -> str:
    shape = p.shape(tree)
    return f"{_WHO}: {p}: expected numbers of shape {shape}, {KINDS[p.kind].doc}"


def _scalars(tree: Tree, p: Parameter, value: Any) -> list[Any]:
    """Numbers and symbols, row by row."""
    array = scalars(value)
    if array.shape != p.shape(tree):
        raise ValueError(f"{_expected(tree, p)}, got an array of shape {array.shape}")
    return array.ravel().tolist()


def _numbers(tree: Tree, p: Parameter, value: Any) -> np.ndarray:
    """Numbers that a robot can have."""
    expected = _expected(tree, p)
    numbers = given_numbers(value, expected, p.shape(tree))
    if np.abs(numbers).max(initial=0.0) > LARGEST:
        raise ValueError(f"{expected} of at most {LARGEST:.0e}, got {value!r}")
    own = np.reshape(p.nominal(tree), p.shape(tree))
    if np.array_equal(numbers, own):
        return numbers
    if p.kind == "direction":
        return np.array([*unit_axis(numbers.tolist(), f"{_WHO}: {p}", "direction")])
    if p.kind == "inertia":
        for k, (x, known) in enumerate(zip(numbers.reshape(-1, 10), own.reshape(-1, 10), strict=True)):
            why = () if np.array_equal(x, known) else explain(x, tolerance=_FILE)
            if why:
                whose = "" if p.name else f": row {k}, body {tree.bodies[k].name!r}"
                raise ValueError(
                    f"{_WHO}: {p}{whose}: no body has these numbers: {'; '.join(why)}; "
                    f"linkwork.parameters.from_log_cholesky gives what a body can have, whatever it is given"
                )
    return numbers


def _check_own_links(before: Tree, after: Tree) -> None:
    """Raises ValueError where bodies as a whole are lighter than the other links on them."""
    known = {frame.name: frame.inertia for frame in frames_with_inertias(before.bodies, before.frames)}
    own = {body.name for body in after.bodies}
    for frame in after.frames:
        if frame.name in own and frame.inertia != known.get(frame.name):
            why = explain(parameters_of(frame.inertia), tolerance=_FILE)
            if why:
                raise ValueError(
                    f"{_WHO}: inertia: body {frame.name!r}: what its other links leave to link {frame.name!r} is no "
                    f"inertia: {'; '.join(why)}; give links' own, as inertia:{frame.name}"
                )


def _by_joint(tree: Tree, p: Parameter, numbers: np.ndarray) -> dict[str, np.ndarray]:
    """What joints are given, by name."""
    if p.name:
        return {p.name: numbers}
    places = tree.q_slices if p.kind == "rest" else tree.v_slices
    return {body.joint_name: numbers[places[i]] for i, body in tree.stacked() if body.joint.nv}
