"""Actuators of a compiled model.

`linkwork.Actuator` has MuJoCo's law of gain and bias. Transmissions to joints, fixed tendons and sites are read; the
report names content that has no counterpart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from linkwork.errors import Location
from linkwork.formats.description import Actuator, ActuatorDescription, FrameDescription
from linkwork.formats.mjcf.bodies_and_joints import Structure
from linkwork.formats.mjcf.compiled_model import WORLD_LINK, CompiledModel
from linkwork.formats.mjcf.tendons import FixedTendon

__all__ = ["Actuators", "read_actuators"]


@dataclass(slots=True)
class Actuators:
    """Actuators of a model, the frames that they act on besides sites, and their names by the index of the control."""

    actuators: list[ActuatorDescription]
    frames: list[FrameDescription]
    controls: dict[int, str]


class _Unsupported(Exception):
    """An actuator of a kind that linkwork does not have; the message is the reason."""


def read_actuators(source: CompiledModel, structure: Structure, tendons: dict[int, FixedTendon]) -> Actuators:
    """Return a model's actuators of the kinds that linkwork supports, and report the others."""
    reader = _Reader(source, structure, tendons)
    result = Actuators([], reader.frames, {})
    names = source.own_names("actuator", len(reader.kinds))
    off = reader.switched_off(names)
    for i, name in enumerate(names):
        where = source.where(reader.element(i), name, "actuator/")
        if i in off:
            continue
        try:
            actuator = reader.read(i, name, where)
        except _Unsupported as reason:
            source.unsupported(f"{source.title('actuator', name)} is not taken: {reason}", where)
            continue
        except ValueError as error:
            source.error("ACTUATOR", str(error), where)
            continue
        result.actuators.append(ActuatorDescription(actuator, where))
        result.controls[reader.control[i]] = name
    _limit_joints(source, structure, result)
    return result


class _Reader:
    """Reader of the actuators of a compiled MuJoCo model."""

    def __init__(self, source: CompiledModel, structure: Structure, tendons: dict[int, FixedTendon]) -> None:
        self.source, self.structure, self.tendons = source, structure, tendons
        self.frames: list[FrameDescription] = []
        array = source.array
        self.kinds = [source.kind("mjtTrn", x) for x in array("actuator_trntype")]
        self.ids = array("actuator_trnid")
        each = [*range(len(self.kinds))]
        single = [1] * len(each)
        self.control, self.controls = array("actuator_ctrladr", each), array("actuator_ctrlnum", single)
        self.output, self.outputs = array("actuator_outadr", each), array("actuator_outnum", single)
        self.gears, self.gain, self.bias = (array(f"actuator_{x}") for x in ("gear", "gainprm", "biasprm"))
        self.gain_types = [source.kind("mjtGain", x) for x in array("actuator_gaintype")]
        self.bias_types = [source.kind("mjtBias", x) for x in array("actuator_biastype")]
        self.dynamics = [source.kind("mjtDyn", x) for x in array("actuator_dyntype")]
        self.of_dynamics, self.delay = array("actuator_dynprm"), array("actuator_delay", [0.0] * len(each))
        self.types = [source.kind("mjtJoint", x) for x in array("jnt_type")]
        self.rigid = structure.rigid()
        self.moving = {joint.name for joint in structure.joints if joint.joint.nv > 0}

    def element(self, i: int) -> str:
        """Return the MJCF tag of actuator i, such as "motor", found from its fields in the compiled model."""
        name = self.source.name_in_model("actuator", i)
        tags = ("motor", "position", "velocity", "general", "intvelocity", "damper", "cylinder", "muscle", "adhesion")
        return next((tag for tag in tags if (tag, name) in self.source.lines), "general")

    def switched_off(self, names: Sequence[str]) -> set[int]:
        """Return the indices of the actuators that an option of the file disables, and add a note to the report."""
        source, every = self.source, set(range(len(names)))
        groups, mask = source.array("actuator_group"), getattr(source.model.opt, "disableactuator", 0)
        off = (
            every
            if "actuation" in source.disabled
            else {i for i in every if 0 <= groups[i] < 31 and mask >> groups[i] & 1}
        )
        source.ignored_all("actuators that an option of the file disables", [names[i] for i in sorted(off)])
        return off

    def read(self, i: int, name: str, where: Location) -> Actuator:
        """Return actuator i.  Raises _Unsupported."""
        if self.controls[i] != 1 or self.outputs[i] != 1:
            raise _Unsupported(f"it has {self.controls[i]} controls and {self.outputs[i]} forces")
        if self.gain_types[i] not in ("fixed", "affine"):
            raise _Unsupported(f"gain type {self.gain_types[i]!r}")
        if self.bias_types[i] not in ("none", "affine"):
            raise _Unsupported(f"bias type {self.bias_types[i]!r}")
        acting = self.transmission(i, name, where)
        gain, bias = self.gain[i][:3], self.bias[i][:3]
        if self.gain_types[i] == "fixed":
            gain = [gain[0], 0.0, 0.0]
        if self.bias_types[i] == "none":
            bias = [0.0, 0.0, 0.0]
        self.report_dynamics(i, name, where)
        return Actuator(
            name,
            **acting,
            gain=_three(gain),
            bias=_three(bias),
            control_range=self.range("ctrl", self.control[i]),
            force_range=self.range("force", i),
        )

    def range(self, prefix: str, k: int) -> tuple[float, float]:
        if prefix == "ctrl" and "clampctrl" in self.source.disabled:
            return -math.inf, math.inf
        if not self.source.array(f"actuator_{prefix}limited")[k]:
            return -math.inf, math.inf
        low, high = self.source.array(f"actuator_{prefix}range")[k]
        return low, high

    def report_dynamics(self, i: int, name: str, where: Location) -> None:
        """Report activation dynamics that linkwork does not have; the force then follows the control without delay."""
        kind, caller = self.dynamics[i], self.source.title("actuator", name)
        if kind in ("integrator", "filter", "filterexact"):
            constant_text = "" if kind == "integrator" else f" with the time constant {self.of_dynamics[i][0]:.6g} s"
            message = f"{caller}: its activation ({kind}{constant_text}) is not taken: the control acts in its place"
            self.source.unsupported(message, where)
        elif kind != "none":
            raise _Unsupported(f"activation dynamics {kind!r}")
        if self.delay[i]:
            self.source.unsupported(f"{caller}: its delay of {self.delay[i]:.6g} s is not taken", where)

    # -- transmissions

    def transmission(self, i: int, name: str, where: Location) -> dict[str, Any]:
        """Return the joints or frames on which the actuator acts, as arguments of `Actuator`.  Raises _Unsupported."""
        target, reference = self.ids[i]
        gear = self.gears[self.output[i]]
        match self.kinds[i]:
            case "joint":
                return self.on_joint(target, gear, i)
            case "jointinparent":
                if self.types[target] in ("hinge", "slide"):
                    return self.on_joint(target, gear, i)
                if self.types[target] == "ball":
                    return self.on_ball_in_parent(target, gear, where)
                return self.on_free_in_world(target, (*gear[3:6], *gear[0:3]), i)
            case "tendon":
                if target not in self.tendons:
                    raise _Unsupported("it acts on a spatial tendon")
                pairs = [(joint, (weight * gear[0],)) for joint, weight in self.tendons[target].weights.items()]
                return {"joints": tuple(pairs)}
            case "site":
                return self.on_site(target, reference, gear)
        raise _Unsupported(f"transmission {self.kinds[i]!r}")

    def on_joint(self, j: int, gear: Sequence[float], i: int) -> dict[str, Any]:
        joint, kind = self.source.joints[j], self.types[j]
        if joint not in self.moving:
            raise _Unsupported(f"joint {joint!r} is fixed")
        if kind == "free":
            if not any(gear[:3]):
                self.check_free(i)
                return {"joints": ((joint, (*gear[3:6], 0.0, 0.0, 0.0)),)}
            if any(gear[3:6]):
                raise _Unsupported("a force in the world's axes together with a torque in the body's axes")
            return self.on_free_in_world(j, (0.0, 0.0, 0.0, *gear[0:3]), i)
        return {"joints": ((joint, tuple(gear[: 3 if kind == "ball" else 1])),)}

    def on_free_in_world(self, j: int, wrench: Sequence[float], i: int) -> dict[str, Any]:
        """Return the arguments of `Actuator` for a force on free joint j.

        ``wrench`` (moment; force) acts on the origin of the free body, in the world's axes.
        """
        if self.source.joints[j] not in self.moving or not any(wrench):
            raise _Unsupported("its joint is fixed, or its gear is zero")
        self.check_free(i)
        body = self.source.bodies[self.source.array("jnt_bodyid")[j]]
        return {"frame": body, "wrench": tuple(wrench), "relative_to": WORLD_LINK}

    def check_free(self, i: int) -> None:
        """Raise _Unsupported if the force depends on the length of a free joint's transmission.

        In MuJoCo this length is zero.
        """
        gain = self.gain_types[i] == "affine" and self.gain[i][1]
        if gain or (self.bias_types[i] == "affine" and self.bias[i][1]):
            raise _Unsupported("its force depends on the length of a free joint, which is always zero")

    def on_ball_in_parent(self, j: int, gear: Sequence[float], where: Location) -> dict[str, Any]:
        """Return the arguments of `Actuator` for a torque on ball joint j.

        The torque acts on the joint's child link; its axes are constant in the parent link.
        """
        joint = next(x for x in self.structure.joints if x.name == self.source.joints[j])
        frame = self.source.frame_names.underscored(f"{joint.name}_parent")
        self.frames.append(FrameDescription(frame, joint.parent, joint.placement, where))
        return {"frame": joint.child, "wrench": (*gear[:3], 0.0, 0.0, 0.0), "relative_to": frame}

    def on_site(self, site: int, reference: int, gear: Sequence[float]) -> dict[str, Any]:
        """Return the arguments of `Actuator` for a wrench on a site, in the axes of the site or of its reference site.

        The opposite wrench acts on the reference site.
        """
        source = self.source
        bodies = source.array("site_bodyid")
        if not any(gear):
            raise _Unsupported("its gear is zero")
        wrench = (*gear[3:6], *gear[0:3])
        if reference < 0:
            return {"frame": source.sites[site], "wrench": wrench}
        if self.rigid[source.bodies[bodies[site]]] == self.rigid[source.bodies[bodies[reference]]]:
            raise _Unsupported("site and refsite are on one rigid body")
        return {"frame": source.sites[site], "wrench": wrench, "relative_to": source.sites[reference]}


def _three(values: Sequence[float]) -> tuple[float, float, float]:
    x, y, z = (value + 0.0 for value in values)  # -0.0 becomes 0.0
    return x, y, z


def _limit_joints(source: CompiledModel, structure: Structure, actuators: Actuators) -> None:
    """Transfer ranges of a joint's total actuator force that are not symmetric, which effort limits cannot represent.

    Such a range bounds the force of an actuator, if this actuator alone acts on the joint and on no other joint.
    """
    limited, ranges = source.array("jnt_actfrclimited"), source.array("jnt_actfrcrange")
    for j, (is_limited, (low, high)) in enumerate(zip(limited, ranges, strict=True)):
        if not is_limited or low == -high:
            continue
        name = source.joints[j]
        acting = [k for k, actuator in enumerate(actuators.actuators) if name in dict(actuator.actuator.joints)]
        where = source.of_body("joint", name, source.array("jnt_bodyid")[j])
        only = actuators.actuators[acting[0]].actuator if len(acting) == 1 else None
        gear = only.joints[0][1][0] if only is not None and len(only.joints) == 1 else 0.0
        if only is not None and gear:
            ends = sorted((low / gear, high / gear))
            force = max(only.force_range[0], ends[0]), min(only.force_range[1], ends[1])
            if force[0] <= force[1]:
                changed = replace(only, force_range=force)
                actuators.actuators[acting[0]] = replace(actuators.actuators[acting[0]], actuator=changed)
                continue
        message = (
            f"{source.title('joint', name)}: the range ({low:.6g}, {high:.6g}) of its actuators' force is not taken"
        )
        source.unsupported(message, where) if acting else source.ignored(message, where)
