"""Report of a compiled model's content that linkwork does not read, and the list of the model's sensors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork._util.messages import listed
from linkwork.formats.description import Findings
from linkwork.formats.mjcf.bodies_and_joints import read_structure, sites_as_frames
from linkwork.formats.mjcf.compiled_model import CompiledModel, imported_mujoco

__all__ = ["listed_sensors", "report_further_content"]

_KINDS = (
    *(("camera", "ncam", "cameras"), ("light", "nlight", "lights")),
    *(("texture", "ntex", "textures"), ("pair", "npair", "friction and other parameters of contact pairs")),
    *(("numeric", "nnumeric", "custom numbers"), ("text", "ntext", "custom texts")),
    ("tuple", "ntuple", "custom tuples"),
)  # kinds of content that robots lack: word, field with their number, and the part that is not read
_SHOWN = (("skin", "nskin", "skins"), ("flex", "nflex", "surfaces of flexes"))  # those of these kinds that MuJoCo shows


_SOLREF, _SOLIMP = (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0)  # MuJoCo's defaults
_PARAMETERS: tuple[tuple[str, str, float | tuple[float, ...]], ...] = (
    *(("jnt_solref", "solreflimit", _SOLREF), ("jnt_solimp", "solimplimit", _SOLIMP), ("jnt_margin", "margin", 0.0)),
    *(("dof_solref", "solreffriction", _SOLREF), ("dof_solimp", "solimpfriction", _SOLIMP)),
    ("jnt_actgravcomp", "actuatorgravcomp", False),
    *(("geom_solref", "solref", _SOLREF), ("geom_solimp", "solimp", _SOLIMP), ("geom_solmix", "solmix", 1.0)),
    *(("geom_margin", "margin", 0.0), ("geom_gap", "gap", 0.0), ("geom_condim", "condim", 3)),
    *(("geom_priority", "priority", 0), ("geom_fluid", "fluidshape and fluidcoef", 0.0)),
    *(("eq_solref", "solref", _SOLREF), ("eq_solimp", "solimp", _SOLIMP)),
    *(("tendon_solref_lim", "solreflimit", _SOLREF), ("tendon_solimp_lim", "solimplimit", _SOLIMP)),
    *(("tendon_solref_fri", "solreffriction", _SOLREF), ("tendon_solimp_fri", "solimpfriction", _SOLIMP)),
    ("tendon_margin", "margin", 0.0),
    *(("key_time", "time", 0.0), ("key_act", "act", 0.0), ("key_plastic", "plastic", 0.0)),
    *(("sensor_cutoff", "cutoff", 0.0), ("sensor_interval", "interval", 0.0)),
    ("sensor_history", "nsample and interp", 0),
)  # of MuJoCo's soft limits, contacts, constraints, states and sensors: field, attribute and default
_OWNERS = {
    "jnt": "joint",
    "dof": "joint",
    "eq": "equality",
}  # kinds of elements, where a field begins with another word
_NAMES = {"equality": "equality constraints", "key": "keyframes"}  # in messages, besides plurals with s
_READ_OPTIONS = frozenset(("gravity", "density", "viscosity", "timestep", "integrator")) | frozenset(
    ("disableactuator", "disableflags", "enableflags")
)  # that are read, or reported by themselves
_READ_FLAGS = frozenset(
    ("constraint", "equality", "frictionloss", "limit", "contact", "spring", "damper", "passive", "gravity")
) | frozenset(("clampctrl", "filterparent", "actuation"))


_OF_JOINTS = {"jointpos": "position", "jointvel": "velocity", "ballangvel": "velocity", "jointactfrc": "force"}
_OF_SITES = {"gyro": "angular_velocity", "accelerometer": "specific_force"}
READ_SENSORS = (*_OF_JOINTS, *_OF_SITES)


class ModelSensor(NamedTuple):
    """A MuJoCo sensor that linkwork has too, at a joint or in a frame."""

    name: str
    joint: str | None
    frame: str | None
    quantity: str
    noise: float  # standard deviation
    delay: float  # [s]


def listed_sensors(model: Any, caller: str) -> list[ModelSensor]:
    """List the sensors of a `mujoco.MjModel` whose kinds linkwork has.

    Raises TypeError for another type, ImportError without the package mujoco.
    """
    mujoco = imported_mujoco(caller)
    if not isinstance(model, mujoco.MjModel):
        raise TypeError(f"{caller}: model: expected a mujoco.MjModel, got {type(model).__name__}")
    source = CompiledModel(model)
    read_structure(source, Findings(), {}, None)  # which takes the names of links
    sites_as_frames(source)
    array, count = source.array, model.nsensor
    values = array("sensor_type"), array("sensor_objid"), array("sensor_noise"), array("sensor_delay", [0.0] * count)
    result = []
    for name, kind, target, noise, delay in zip(source.own_names("sensor", count), *values, strict=True):
        word = source.kind("mjtSensor", kind)
        if word in _OF_JOINTS:
            result.append(ModelSensor(name, source.joints[target], None, _OF_JOINTS[word], noise, delay))
        elif word in _OF_SITES:
            result.append(ModelSensor(name, None, source.sites[target], _OF_SITES[word], noise, delay))
    return result


def report_further_content(source: CompiledModel) -> None:
    """Report forces that the robot does not have (UNSUPPORTED), and content without effect on motion (IGNORED)."""
    _forces(source)
    _flexes_and_plugins(source)
    _sensors(source)
    for kind, count, subject in _KINDS:
        source.ignored_all(subject, source.own_names(kind, getattr(source.model, count)))
    for kind, count, subject in _SHOWN:
        source.not_drawn(subject, source.own_names(kind, getattr(source.model, count, 0)))
    _parameters(source)
    option = source.model.opt
    integrator = source.kind("mjtIntegrator", option.integrator)
    where = source.where("option", "timestep")
    default = source.mujoco.MjOption()
    names = [name for name in dir(option) if not name.startswith("_") and name not in _READ_OPTIONS]
    unequal = [name for name in names if np.any(getattr(option, name) != getattr(default, name))]
    more = f", nor are {listed(unequal)} of option" if unequal else ""
    message = f"the time step {option.timestep:.6g} s and the integrator {integrator!r} are not taken{more}"
    source.ignored(message, where)


def _parameters(source: CompiledModel) -> None:
    """Note parameters of MuJoCo's solver, states, sensors and flags that differ from their defaults."""
    model = source.model
    for field, attribute, default in _PARAMETERS:
        if values := source.array(field):
            _changed(source, field.partition("_")[0], attribute, np.reshape(values, (len(values), -1)) != default)
    welds = model.eq_type == source.mujoco.mjtEq.mjEQ_WELD
    _changed(source, "eq", "torquescale", welds[:, None] & (model.eq_data[:, 10:11] != 1.0))
    carried = model.body_mocapid >= 0
    _changed(source, "key", "mpos", model.key_mpos != model.body_pos[carried].ravel())
    _changed(source, "key", "mquat", model.key_mquat != model.body_quat[carried].ravel())
    source.ignored_all("flags that are enabled", sorted(source.flags("mjtEnableBit", source.model.opt.enableflags)))
    source.ignored_all("flags that are disabled", sorted(source.disabled - _READ_FLAGS))


def _changed(source: CompiledModel, prefix: str, attribute: str, differs: np.ndarray) -> None:
    """Add a note about an attribute of MuJoCo objects; ``differs`` (n, k) is True where a value is not the default."""
    kind = _OWNERS.get(prefix, prefix)
    rows, count = np.flatnonzero(differs.any(axis=1)), len(differs)
    if prefix == "dof":
        rows, count = np.unique(source.model.dof_jntid[rows]), source.model.njnt
    names = source.own_names(kind, count) if rows.size else []
    source.ignored_all(f"values of {attribute} of {_NAMES.get(kind, f'{kind}s')}", [names[i] for i in rows])


def _forces(source: CompiledModel) -> None:
    array, option = source.array, source.model.opt
    lifted = [source.bodies[i] for i, x in enumerate(array("body_gravcomp")) if x]
    if lifted:
        source.unsupported(f"compensation of gravity (gravcomp) is not taken: {listed(lifted)}")
    if option.density or option.viscosity:
        values = f"density {option.density:.6g} kg/m³, viscosity {option.viscosity:.6g} Pa·s"
        source.unsupported(f"forces of the medium are not taken: {values}", source.where("option", "density"))
    pairs = source.own_names("pair", source.model.npair)
    for name, subject, names in (
        ("geom_adhesion", "adhesion of contacts", source.geoms),
        ("geom_surfacevel", "surface velocities", source.geoms),
        ("pair_adhesion", "adhesion of contact pairs", pairs),
    ):
        moved = [names[i] for i, x in enumerate(array(name)) if (any(x) if isinstance(x, list) else x)]
        if moved:
            source.unsupported(f"{subject} is not taken: {listed(moved)}")


def _flexes_and_plugins(source: CompiledModel) -> None:
    model = source.model
    for i in range(getattr(model, "nflex", 0)):
        name = source.name_in_model("flex", i) or f"flex{i}"
        message = f"{source.title('flex', name)}: its elasticity and contacts are not taken; its points are bodies"
        source.unsupported(message, source.where("flex", name, "deformable/"))
    owners = (
        ("body", "body_plugin"),
        ("geom", "geom_plugin"),
        ("actuator", "actuator_plugin"),
        ("sensor", "sensor_plugin"),
    )
    used: set[int] = set()
    for kind, field in owners:
        for i, k in enumerate(source.array(field)):
            if k < 0:
                continue
            used.add(k)
            name = source.name_in_model(kind, i) or f"{kind}{i}"
            message = f"{source.title(kind, name)}: its plugin is not taken"
            report = source.unsupported if kind in ("body", "actuator") else source.ignored
            report(message, source.where(kind, name))


def _sensors(source: CompiledModel) -> None:
    kinds: dict[str, list[str]] = {}
    names = source.own_names("sensor", source.model.nsensor)
    for name, kind in zip(names, source.array("sensor_type"), strict=True):
        kinds.setdefault(source.kind("mjtSensor", kind), []).append(name)
    for word, those in kinds.items():
        where = source.where(word, those[0], "sensor/")
        if word in READ_SENSORS:
            hint = "linkwork.simulation.sensors_of_mujoco(model) returns them for simulations"
            source.ignored(f"sensors are not part of a robot ({word}): {listed(those)}", where, hint)
        else:
            source.ignored(f"linkwork has no sensor of the kind {word!r}: {listed(those)}", where)
