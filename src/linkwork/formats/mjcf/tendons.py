"""Tendons of a compiled model.

Fixed tendons, which are weighted sums of joint coordinates, serve equality constraints and actuators.  A spatial tendon
between two sites that is a spring or a damper becomes a `SpringDamper`.  Other spatial tendons are reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from linkwork.errors import Location
from linkwork.force_elements import SpringDamper
from linkwork.formats.description import ForceElementDescription
from linkwork.formats.mjcf.bodies_and_joints import Structure
from linkwork.formats.mjcf.compiled_model import CompiledModel
from linkwork.formats.unique_names import Names

__all__ = ["FixedTendon", "Tendons", "read_tendons"]


@dataclass(frozen=True, slots=True)
class FixedTendon:
    """A fixed tendon: its name, and its coefficients by joint. Its length is the weighted sum of joint coordinates."""

    name: str
    weights: dict[str, float]
    unit: str  # of its length, by its first joint


@dataclass(slots=True)
class Tendons:
    """Fixed tendons of a model by index, and springs between sites."""

    fixed: dict[int, FixedTendon] = field(default_factory=dict)
    springs: list[ForceElementDescription] = field(default_factory=list)


def read_tendons(source: CompiledModel, structure: Structure) -> Tendons:
    """Read the tendons of a compiled MuJoCo model, and report content of tendons that linkwork ignores."""
    reader, result = _Reader(source, structure), Tendons()
    names = source.own_names("tendon", len(reader.kinds))
    for i, name in enumerate(names):
        kind = reader.kinds[i]
        where = source.where(kind, name, "tendon/")
        title = f"{kind} {source.title('tendon', name)}"
        left = reader.dynamics(i)
        if kind == "fixed":
            result.fixed[i] = reader.fixed(i, name)
        elif (spring := reader.spring(i, name, left, where)) is not None:
            result.springs.append(spring)
            left = [word for word in left if word not in ("stiffness", "damping")]
        elif not left:
            source.ignored(f"{title} is not taken", where)
        if left:
            source.unsupported(f"{title}: its {subject(left)} not taken", where)
    return result


class _Reader:
    """Reader of tendons."""

    def __init__(self, source: CompiledModel, structure: Structure) -> None:
        self.source, array = source, source.array
        self.first, self.count = array("tendon_adr"), array("tendon_num")
        self.wraps = [source.kind("mjtWrap", x) for x in array("wrap_type")]
        self.kinds = ["fixed" if self.wraps[k] == "joint" else "spatial" for k in self.first]
        self.objects, self.parameters = array("wrap_objid"), array("wrap_prm")
        self.types, self.rigid = array("jnt_type"), structure.rigid()
        self.taken = Names()

    def fixed(self, i: int, name: str) -> FixedTendon:
        weights: dict[str, float] = {}
        for k in range(self.first[i], self.first[i] + self.count[i]):
            joint = self.source.joints[self.objects[k]]
            weights[joint] = weights.get(joint, 0.0) + self.parameters[k]
        slides = self.source.kind("mjtJoint", self.types[self.objects[self.first[i]]]) == "slide"
        return FixedTendon(name, weights, "m" if slides else "rad")

    def spring(self, i: int, name: str, acting: Sequence[str], where: Location) -> ForceElementDescription | None:
        """Return the spring and damper of tendon i between two sites; None if the tendon is neither."""
        source, array = self.source, self.source.array
        path = range(self.first[i], self.first[i] + self.count[i])
        if not {"stiffness", "damping"} & {*acting} or [self.wraps[k] for k in path] != ["site", "site"]:
            return None
        sites = [self.objects[k] for k in path]
        bodies = [source.bodies[array("site_bodyid")[k]] for k in sites]
        low, high = array("tendon_lengthspring")[i]
        powers = [
            x for key in ("stiffnesspoly", "dampingpoly") if array(f"tendon_{key}") for x in array(f"tendon_{key}")[i]
        ]
        yields = array("tendon_springyield")
        if self.rigid[bodies[0]] == self.rigid[bodies[1]] or low != high or any(powers) or (yields and yields[i] > 0.0):
            return None
        k, c = (array(f"tendon_{key}")[i] if key in acting else 0.0 for key in ("stiffness", "damping"))
        if k < 0.0 or c < 0.0:
            return None
        a, b = (source.sites[site] for site in sites)
        spring = SpringDamper(a, b, stiffness=k, damping=c, rest_length=low, name=self.taken.underscored(name))
        return ForceElementDescription(spring, where)

    def dynamics(self, i: int) -> list[str]:
        """Return names of the forces on tendon i other than those of actuators and equality constraints."""
        array, off = self.source.array, self.source.disabled
        fields: tuple[tuple[str, set[str], tuple[str, ...]], ...] = (
            ("stiffness", {"spring"}, ("tendon_stiffness", "tendon_stiffnesspoly")),
            ("damping", {"damper"}, ("tendon_damping", "tendon_dampingpoly")),
            ("friction", {"frictionloss", "constraint"}, ("tendon_frictionloss",)),
            ("armature", set(), ("tendon_armature",)),
            ("limits", {"limit", "constraint"}, ("tendon_limited",)),
            ("limits of the actuators' force", set(), ("tendon_actfrclimited",)),
        )
        result = []
        for word, flags, names in fields:
            values = [array(name)[i] for name in names if array(name)]
            if not flags & off and any(any(x) if isinstance(x, list) else x for x in values):
                result.append(word)
        return result


def subject(words: Sequence[str]) -> str:
    """Return the listed words with the verb: "stiffness is", "stiffness and damping are"."""
    if len(words) == 1:
        return f"{words[0]} {'are' if words[0].startswith('limits') else 'is'}"
    return f"{', '.join(words[:-1])} and {words[-1]} are"
