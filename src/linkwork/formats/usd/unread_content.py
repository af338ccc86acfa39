"""Content of a stage that is not read: each kind is reported once, with the number of its prims."""

from __future__ import annotations

import re
from typing import Any

from linkwork._util.messages import did_you_mean
from linkwork.formats.usd.prim_values import PrimReader

__all__ = ["report_unread"]

_SIMULATORS = ("physx", "newton:", "mjc:", "drake:", "isaac:", "state:", "urdf:")
_READ = re.compile(
    # attributes that the reader uses on some prims
    r"newton:(armature|damping|friction|velocityLimit|inertia|mimic\w+|selfCollisionEnabled|jointsAddMobility"
    r"|gravityEnabled)$"
    r"|physxJoint:(armature|maxJointVelocity|jointFriction)$"
    r"|physxJointAxis:\w+:(armature|maxJointVelocity|viscousFrictionCoefficient|dynamicFrictionEffort|staticFrictionEffort)$"
    r"|physxArticulation:enabledSelfCollisions$|urdf:limit:effort$"
)
_HARMLESS = re.compile(
    # parameters of solvers, contacts and displays, which change neither masses nor the forces of joints
    r"physx(Scene|Articulation|Collision|\w*Collision|Material|Sdf\w*|Convex\w*|Triangle\w*|Cooked\w*)\b.*"
    r"|physxRigidBody:(sleepThreshold|stabilizationThreshold|solver\w+|max\w+|enableCCD|\w*contact\w*|retainAccelerations)"
    r"|physxLimit:\w+:(contactDistance|bounceThreshold|restitution)"
    r"|newton:(maxSolver\w*|timeSteps\w*|contact\w*|\w+Friction|restitution|max\w+|\w+:.*|massModel)"
    r"|mjc:(sol\w+|flag:.*|option:.*|compiler:.*|con\w+|group|priority|margin|gap|shellinertia|impratio|actuatorfrclimited)"
    r"|isaac:.*|urdf:(?!limit:|dynamics:).*"
)
_ZERO = re.compile(r"physxRigidBody:(linearDamping|angularDamping|disableGravity)|mjc:(stiffness|damping|gravcomp)\b.*")
_FORCES = re.compile(r"Mjc|Newton|Physx|Isaac|Physics(Deformable|Vehicle|Tendon)|Drake")


def report_unread(reader: PrimReader, prims: list[Any]) -> None:
    """Report content of a stage that is not read: attributes of simulators, their prims, and velocities.

    Content that changes the motion is UNSUPPORTED; the rest is IGNORED.
    """
    from pxr import UsdPhysics

    tokens = {str(getattr(UsdPhysics.Tokens, name)) for name in dir(UsdPhysics.Tokens)}
    known = sorted(token for token in tokens if token.startswith("physics:"))
    for prim in prims:
        kind = str(prim.GetTypeName())
        if kind.startswith("Physics") and prim.GetPrimTypeInfo().GetSchemaType().isUnknown:
            reader.once(prim, "UNKNOWN_TAG", f"prims of the unknown type {kind} are ignored")
            continue
        if _FORCES.match(kind):
            reader.once(prim, "UNSUPPORTED", f"prims of type {kind} are not read")
            continue
        for schema in prim.GetAppliedSchemas():
            name = schema.partition(":")[0]
            if "Tendon" in name or "Deformable" in name or name == "PhysxMimicJointAPI":
                reader.once(prim, "UNSUPPORTED", f"the schema {name} is not read")
        for name in ("physics:velocity", "physics:angularVelocity"):
            if any(reader.vector(prim, name) or ()):
                reader.once(prim, "IGNORED", f"{name}, a velocity at the start of a simulation, is not read")
        is_joint = kind.startswith("Physics") and kind.endswith("Joint")
        limits = any("PhysicsLimitAPI:" in schema for schema in prim.GetAppliedSchemas())
        if is_joint and kind != "PhysicsJoint" and limits:
            reader.once(prim, "UNSUPPORTED", f"the limits of PhysicsLimitAPI of a {kind} are not read")
        if is_joint and (str(prim.GetPath()), "physics:excludeFromArticulation") not in reader.used:
            continue  # a joint that is left out
        for name in map(str, prim.GetAuthoredPropertyNames()):
            if (str(prim.GetPath()), name) not in reader.used:
                _report(reader, prim, name, known)
    _report_variants(reader, prims)


def _report(reader: PrimReader, prim: Any, name: str, known: list[str]) -> None:
    """Report a property of UsdPhysics or of a simulator that was not read."""
    if name.startswith("physics:") and name not in known:
        close = did_you_mean(name, known)
        message = f"{name} is not an attribute of UsdPhysics: ignored"
        reader.once(prim, "UNKNOWN_TAG", f"{message}; {close}" if close else message)
    elif name.startswith(("physics:", "drive:", "limit:")) or _READ.match(name):
        owner = str(prim.GetTypeName()) or "prim without a type"
        reader.once(prim, "IGNORED", f"{name} of a {owner} has no effect on the robot")
    elif not name.startswith(_SIMULATORS):
        return
    elif _HARMLESS.match(name):
        reader.once(prim, "IGNORED", f"attributes {name.partition(':')[0]}: parameters of a simulator are not read")
    elif name.startswith("state:"):
        if prim.GetAttribute(name).Get(reader.time):
            message = "states of joints (state:...) are not read: coordinates follow from the poses of the bodies"
            reader.once(prim, "IGNORED", message)
    elif not _ZERO.match(name) or prim.GetAttribute(name).Get(reader.time):
        reader.once(prim, "UNSUPPORTED", f"the attribute {name} is not read")


def _report_variants(reader: PrimReader, prims: list[Any]) -> None:
    """Add a note that names the variants with which the stage is read."""
    for prim in prims:
        if not prim.HasVariantSets():
            continue
        sets = prim.GetVariantSets()
        for name in sets.GetNames():
            variant_set = sets.GetVariantSet(name)
            if len(variant_set.GetVariantNames()) > 1:
                chosen = variant_set.GetVariantSelection()
                reader.note(prim, f"of the variants {variant_set.GetVariantNames()} of {name!r}, {chosen!r} is read")
