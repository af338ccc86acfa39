"""What is in the joints: armature, damping, dry friction, springs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np

from linkwork.errors import Findings
from linkwork.kernels.robot_base import Array, RobotBase, edits
from linkwork.model.checks.value_check import check_joint_values
from linkwork.parts.construction.link_building import joint_description
from linkwork.parts.joint.joint import Joint, body_with, joint_of
from linkwork.parts.joint.passive_parameters import DRIVE, dof_values, given_drive
from linkwork.spatial.arguments import given_numbers

__all__ = ["ResistanceMethods"]


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
    who, nv = joint.name, joint.nv
    if "rotor_inertia" in said and "armature" in said:
        raise TypeError(f"joint {who!r}: armature and rotor_inertia say the same: give one of them")
    found: dict[str, Any] = {key: getattr(joint, key) for key in DRIVE}
    resisting: dict[str, Any] = {}
    for key in ("damping", "friction"):
        if key in said:
            resisting[key] = dof_values(who, key, said[key], nv, least=0.0, infinite=False)
    dry = np.asarray(resisting.get("friction", joint.friction))
    found["static_friction"] = np.where(joint.static_friction == joint.friction, dry, joint.static_friction)
    found |= {key: value for key, value in said.items() if key in DRIVE}
    if "rotor_inertia" in said:
        rotor = dof_values(who, "rotor_inertia", said["rotor_inertia"], nv, least=0.0, infinite=False)
        turns = dof_values(who, "gear_ratio", found["gear_ratio"], nv, infinite=False)
        found["armature"] = turns * turns * rotor
    return replace(joint, **resisting, **given_drive(who, joint.type, dry, found))
