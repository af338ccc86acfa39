"""Each property of UsdPhysics changes the robot or the report."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from formats.element_tables import disagreements
from formats.silent_content import NOT_READ, described
from linkwork.errors import ModelError
from linkwork.formats.usd.usd_reader import read_usd

pxr = pytest.importorskip("pxr", reason="USD is read by OpenUSD")
from pxr import Gf, Sdf, Tf, Usd, UsdGeom, UsdPhysics, UsdShade  # noqa: E402

TARGETS = {
    "PhysicsCollisionAPI": "/w/b/shape",
    "PhysicsCollisionGroup": "/w/g1",
    "PhysicsFilteredPairsAPI": "/w/a",
    "PhysicsMassAPI": "/w/a",
    "PhysicsMaterialAPI": "/w/m",
    "PhysicsMeshCollisionAPI": "/w/a/mesh",
    "PhysicsRigidBodyAPI": "/w/b",
    "PhysicsScene": "/w/scene",
}  # prims with a schema; the joint "/w/j0" has the others
SHAPES = ("Cube", "Sphere", "Capsule", "Capsule_1", "Cylinder", "Cylinder_1", "Cone", "Plane", "Mesh")
TARGETS |= {**dict.fromkeys(SHAPES, "/w/b/shape"), "Mesh": "/w/a/mesh"}
OF_PICTURES = {
    *("doubleSided", "extent", "orientation", "proxyPrim", "accelerations", "velocities", "normals", "holeIndices"),
    *("cornerIndices", "cornerSharpnesses", "creaseIndices", "creaseLengths", "creaseSharpnesses", "faceVertexCounts"),
    *("faceVaryingLinearInterpolation", "interpolateBoundary", "subdivisionScheme", "triangleSubdivisionRule"),
    *("length of Plane", "width of Plane"),  # a half-space has no ends
    *("primvars:displayColor of Mesh", "primvars:displayOpacity of Mesh"),  # which is not drawn
}  # properties of shapes
JOINTS = ("Fixed", "Revolute", "Prismatic", "Spherical", "Distance", "")


def stage_with(joint: str) -> Any:
    """A stage of three bodies with shapes, a material, collision groups, and two joints of a type."""
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, "Z")
    stage.SetDefaultPrim(stage.DefinePrim("/w", "Xform"))
    stage.DefinePrim("/w/scene", "PhysicsScene")
    material = stage.DefinePrim("/w/m", "Material")
    UsdPhysics.MaterialAPI.Apply(material)
    for name in "abc":
        body = stage.DefinePrim(f"/w/{name}", "Xform")
        UsdPhysics.RigidBodyAPI.Apply(body)
        UsdPhysics.MassAPI.Apply(body)
        shape = stage.DefinePrim(f"/w/{name}/shape", "Cube")
        UsdPhysics.CollisionAPI.Apply(shape)
        UsdShade.MaterialBindingAPI.Apply(shape).Bind(UsdShade.Material(material))
    mesh = stage.DefinePrim("/w/a/mesh", "Mesh")
    UsdPhysics.CollisionAPI.Apply(mesh)
    UsdPhysics.MeshCollisionAPI.Apply(mesh)
    UsdGeom.Mesh(mesh).CreatePointsAttr([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
    UsdGeom.Mesh(mesh).CreateFaceVertexCountsAttr([3] * 4)
    UsdGeom.Mesh(mesh).CreateFaceVertexIndicesAttr([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3])
    for k, ends in enumerate(("ab", "bc")):
        prim = UsdPhysics.Joint(stage.DefinePrim(f"/w/j{k}", f"Physics{joint}Joint"))
        prim.CreateBody0Rel().SetTargets([f"/w/{ends[0]}"])
        prim.CreateBody1Rel().SetTargets([f"/w/{ends[1]}"])
        for direction in ("transX", "transY", "transZ", "rotY", "rotZ") if not joint else ():
            limit = UsdPhysics.LimitAPI.Apply(prim.GetPrim(), direction)
            limit.CreateLowAttr(1.0)  # above the upper limit: no motion
            limit.CreateHighAttr(-1.0)
    for name, body in (("g1", "a"), ("g2", "c")):
        group = UsdPhysics.CollisionGroup(stage.DefinePrim(f"/w/{name}", "PhysicsCollisionGroup"))
        group.GetCollidersCollectionAPI().CreateIncludesRel().SetTargets([f"/w/{body}"])
    return stage


def author(prim: Any, name: str) -> None:
    """Author a value of a property that is not its default."""
    target = "/w/c" if "body" in name or "Pairs" in name else "/w/g2" if "Groups" in name else "/w/scene"
    if isinstance(prim.GetProperty(name), Usd.Relationship):
        prim.GetRelationship(name).SetTargets([target])
        return
    attribute = prim.GetAttribute(name)
    if attribute.GetTypeName().isArray:
        kind = str(attribute.GetTypeName())
        points = [(0, 0, 0), (2, 0, 0), (0, 1, 0), (0, 0, 1)]
        integers = [1, 2, 0] * 4 if name == "faceVertexIndices" else [0, 1]
        attribute.Set(points if "3" in kind else integers if kind.startswith("int") else [0.5])
        return
    kind, default = attribute.GetTypeName(), attribute.Get()
    value: Any = 0.75
    if kind == Sdf.ValueTypeNames.Bool:
        value = not default
    elif kind == Sdf.ValueTypeNames.Token:
        allowed = [word for word in attribute.GetMetadata("allowedTokens") or ["other"] if word != default]
        value = "Y" if default == "X" else allowed[-1]
    elif kind == Sdf.ValueTypeNames.String:
        value = "other"
    elif "quat" in str(kind):
        value = Gf.Quatf(0.5, 0.5, 0.5, 0.5)
    elif "3" in str(kind):
        value = Gf.Vec3f(0.3, 0.4, 0.5)
    attribute.Set(value)


def cases() -> Iterator[tuple[str, str, str, str]]:
    """Yield each schema, a type of joint, an instance of the schema, and each property of UsdPhysics that it has."""
    registry = Usd.SchemaRegistry()
    types = Tf.Type.FindByName("UsdSchemaBase").GetAllDerivedTypes()
    for schema in sorted(map(Usd.SchemaRegistry.GetSchemaTypeName, types)):
        definition = registry.FindAppliedAPIPrimDefinition(schema) or registry.FindConcretePrimDefinition(schema)
        if not schema.startswith("Physics") or not definition:
            continue
        instances = {"PhysicsLimitAPI": ("rotX", "distance"), "PhysicsDriveAPI": ("angular", "rotX")}.get(schema, ("",))
        joints = JOINTS if instances != ("",) else (schema[7:-5],) if schema.endswith("Joint") else ("Revolute",)
        for name in definition.GetPropertyNames():
            for instance in instances if "physics:" in name else ():
                for joint in joints:
                    yield schema, joint, instance, name.replace("__INSTANCE_NAME__", instance)
    for schema in SHAPES:
        names = registry.FindConcretePrimDefinition(schema).GetPropertyNames()
        yield from ((schema, "Revolute", "", name) for name in names if name != "xformOpOrder")


OF_SIMULATORS = {
    **{f"newton:{name}": 2.0 for name in ("armature", "damping", "friction", "velocityLimit", "mimicCoef0", "unknown")},
    **{f"newton:{name}": False for name in ("selfCollisionEnabled", "gravityEnabled", "mimicEnabled")},
    **{f"physxJoint:{name}": 2.0 for name in ("armature", "maxJointVelocity", "jointFriction")},
    **{f"physxJointAxis:angular:{name}": 2.0 for name in ("armature", "viscousFrictionCoefficient", "unknown")},
    "physxArticulation:enabledSelfCollisions": False,
    "mjc:stiffness": 2.0,
    "isaac:unknown": 2.0,
    "urdf:limit:effort": 2.0,
    "urdf:calibration:rising": 2.0,
}  # attributes that some prims have, and values that are not the defaults


def outcome_of(stage: Any, folder: Path) -> tuple[str, list[tuple[str, str, Any]]]:
    """Return the description of a stage without its report, and the report."""
    stage.GetRootLayer().Export(str(folder / "stage.usda"))
    description = read_usd(folder / "stage.usda")
    issues = [(issue.code, issue.message, issue.where and issue.where.element) for issue in description.warnings]
    return described(replace(description, warnings=())), issues


@pytest.mark.slow(every=5)
def test_every_simulator_specific_usd_attribute_is_read_or_reported(tmp_path: Path, drawn: Any) -> None:
    for joint in ("Fixed", "Revolute", "Spherical"):
        first, silent = outcome_of(stage_with(joint), tmp_path), []
        for path in drawn(["/w", "/w/scene", "/w/m", "/w/b", "/w/b/shape", "/w/g1", "/w/j0"]):
            for name, value in OF_SIMULATORS.items():
                stage = stage_with(joint)
                kind = Sdf.ValueTypeNames.Bool if isinstance(value, bool) else Sdf.ValueTypeNames.Float
                stage.GetPrimAtPath(path).CreateAttribute(name, kind).Set(value)
                silent += [f"{path} {name}"] if outcome_of(stage, tmp_path) == first else []
        assert silent == []


def outcomes(drawn: Callable[[Sequence[Any]], Iterable[Any]] = iter) -> Iterator[tuple[str, str, str]]:
    """Yield schemas and properties, and the outcome of a value that is not the default."""
    folder = tempfile.TemporaryDirectory()

    for schema, joint, instance, name in drawn([*cases()]):
        stage = stage_with(joint)
        prim = stage.GetPrimAtPath(TARGETS.get(schema, "/w/j0"))
        if schema in SHAPES:
            prim.SetTypeName(schema)
        if instance or schema == "PhysicsFilteredPairsAPI":
            prim.ApplyAPI(schema, *([instance] if instance else []))
        if "target" in name or ":type" in name:
            for gain in ("stiffness", "damping"):
                prim.GetAttribute(f"drive:{instance}:physics:{gain}").Set(2.0)
        short = name.replace(f":{instance}:", ":") if instance else name
        short = short.removeprefix("physics:").removeprefix("drive:physics:").removeprefix("limit:physics:")
        if name == "primvars:displayOpacity":
            UsdGeom.Gprim(prim).CreateDisplayColorAttr([(0.1, 0.2, 0.3)])
        elif name == "physics:principalAxes":
            UsdPhysics.MassAPI(prim).CreateDiagonalInertiaAttr((1.0, 2.0, 2.5))
        elif name == "physics:mergeGroup":
            UsdPhysics.CollisionGroup(stage.GetPrimAtPath("/w/g2")).CreateMergeGroupNameAttr("other")
            UsdPhysics.CollisionGroup(prim).CreateFilteredGroupsRel().SetTargets(["/w/g1"])
        elif name == "physics:excludeFromArticulation":
            closing = UsdPhysics.FixedJoint.Define(stage, "/w/j2")
            closing.CreateBody0Rel().SetTargets(["/w/c"])
            closing.CreateBody1Rel().SetTargets(["/w/a"])
        before = outcome_of(stage, Path(folder.name))
        author(prim, name)
        try:
            after = outcome_of(stage, Path(folder.name))
        except ModelError:
            yield schema, short, "refused"
            continue
        is_reported = any(code in NOT_READ and element == str(prim.GetPath()) for code, _, element in before[1])
        if after[0] != before[0]:
            yield schema, short, "taken"
        elif after != before:
            yield schema, short, "reported"
        elif {name, f"{name} of {schema}"} & OF_PICTURES:
            yield schema, short, "label"
        else:
            yield schema, short, "reported" if is_reported else f"silent: {joint} {name}"
    folder.cleanup()


def test_usd_opacity_without_a_color_is_reported(tmp_path: Path) -> None:
    stage = stage_with("Fixed")
    UsdGeom.Gprim(stage.GetPrimAtPath("/w/b/shape")).CreateDisplayOpacityAttr([0.5])
    assert "NOT_DRAWN" in [code for code, _, _ in outcome_of(stage, tmp_path)[1]]


@pytest.mark.slow(every=5)
def test_every_property_of_usd_physics_and_shapes_is_read_or_reported(drawn: Any) -> None:
    assert len([*cases()]) > 150
    rows = [*outcomes(drawn)]
    assert [f"{schema} {outcome}" for schema, _, outcome in rows if outcome.startswith("silent")] == []
    assert disagreements("usd", rows) == []
