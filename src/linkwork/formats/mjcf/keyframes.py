"""Keyframes of a compiled model as named configurations, in linkwork's coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linkwork.formats.description import NamedState, NamedStateDescription
from linkwork.formats.mjcf.bodies_and_joints import Structure
from linkwork.formats.mjcf.compiled_model import CompiledModel
from linkwork.formats.unique_names import Names
from linkwork.joints import Floating
from linkwork.spatial import Rotation, Vec3

__all__ = ["INITIAL", "read_keyframes"]

INITIAL = "qpos0"  # name of the configuration in which the model is stated


def read_keyframes(
    source: CompiledModel, structure: Structure, controls: Mapping[int, str]
) -> list[NamedStateDescription]:
    """Return the keyframes, and the model's initial configuration by the name "qpos0".

    ``controls`` are the names of actuators by the index of their control.  Velocities and controls that are all zero
    are left out.
    """
    if not structure.joints:
        return []
    reader = _Reader(source, structure)
    stated_names = [source.name_in_model("key", i) for i in range(source.model.nkey)]
    names, result = Names(stated_names), []
    array = source.array
    if source.model.njnt and INITIAL not in names.taken:
        names.taken.add(INITIAL)
        result.append(NamedStateDescription(NamedState(INITIAL, reader.q(array("qpos0")))))
    keys = zip(stated_names, array("key_qpos"), array("key_qvel"), array("key_ctrl"), strict=True)
    for i, (name, qpos, qvel, ctrl) in enumerate(keys):
        title = name or names.underscored(f"key{i}")
        v = reader.v(qpos, qvel) if any(qvel) else None
        u = tuple((actuator, ctrl[k]) for k, actuator in controls.items()) if any(ctrl) else None
        where = source.where("key", title, "keyframe/")
        result.append(NamedStateDescription(NamedState(title, reader.q(qpos), v, u), where))
    return result


class _Reader:
    """Reader of configurations and velocities by joint."""

    def __init__(self, source: CompiledModel, structure: Structure) -> None:
        self.starts, self.dofs = source.array("jnt_qposadr"), source.array("jnt_dofadr")
        index = {name: j for j, name in enumerate(source.joints)}
        self.joints = [(x.name, x.joint, index[x.name]) for x in structure.joints if x.name in index]

    def q(self, qpos: Sequence[float]) -> tuple[tuple[str, tuple[float, ...]], ...]:
        result = []
        for name, joint, j in self.joints:
            x = qpos[self.starts[j] : self.starts[j] + joint.nq]
            result.append((name, (*x[3:], *x[:3]) if isinstance(joint, Floating) else tuple(x)))
        return tuple(result)

    def v(self, qpos: Sequence[float], qvel: Sequence[float]) -> tuple[tuple[str, tuple[float, ...]], ...]:
        result = []
        for name, joint, j in self.joints:
            x = qvel[self.dofs[j] : self.dofs[j] + joint.nv]
            if isinstance(joint, Floating):
                turn = Rotation.from_quaternion(*qpos[self.starts[j] + 3 : self.starts[j] + 7])
                x = [*x[3:], *turn.inv_act(Vec3.of(x[:3]))]
            result.append((name, tuple(x)))
        return tuple(result)
