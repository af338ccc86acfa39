"""Rigid bodies of USD stages: units, axes, masses, shapes and scales."""

from __future__ import annotations

import math
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError, ModelWarning
from linkwork.model.inertia_check import mass_properties
from linkwork.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, Geometry, HalfSpace, Polytope, Sphere
from usd_texts import at, body, collider, joint, load, prim, stage, written

pytest.importorskip("pxr", reason="needs usd-core")
MESH = """
int[] faceVertexCounts = [3, 3, 3, 3]
int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]
point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (9, 9, 9)]
"""
STEEL = prim(
    "Material",
    "steel",
    "float physics:density = 7800;float physics:dynamicFriction = 0.5",
    schemas="PhysicsMaterialAPI",
)


def shapes(robot: lw.Robot, link: str = "a") -> tuple[Geometry, ...]:
    return robot.tree.frame(link).collisions


def inertia(robot: lw.Robot, link: str = "a") -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre of mass and rotational inertia about it, of a link."""
    mass, center, J = mass_properties(robot.tree.frame(link).inertia)
    return mass, np.array([*center]), np.array([[*row] for row in (J.x, J.y, J.z)])


def test_usd_units_of_length_and_mass_are_converted(tmp_path: Path) -> None:
    values = (
        "float physics:mass = 3;point3f physics:centerOfMass = (0, 0, 10);float3 physics:diagonalInertia = (1, 2, 3)"
    )
    text = stage(body("a", at(0, 0, 50) + "\n" + values, mass=None), length=0.01, mass=0.001)
    robot = load(tmp_path, text)
    mass, center, J = inertia(robot)
    assert mass == 0.003
    np.testing.assert_allclose(center, (0, 0, 0.1), rtol=1e-12)
    np.testing.assert_allclose(J, 0.001 * 0.01**2 * np.diag([1.0, 2.0, 3.0]), rtol=1e-9, atol=1e-20)
    (state,) = robot.tree.named_configurations
    np.testing.assert_allclose(dict(state.q)["floating_base"], (1, 0, 0, 0, 0, 0, 0.5))


def test_usd_stage_with_y_up_is_rotated(tmp_path: Path) -> None:
    scene = prim(
        "PhysicsScene", "scene", "vector3f physics:gravityDirection = (0, -3, 4);float physics:gravityMagnitude = 500"
    )
    text = stage(
        body("a", at(1, 2, 3)),
        joint("Fixed", "w", "", "a", "point3f physics:localPos0 = (1, 2, 3)"),
        length=0.01,
        up="Y",
        scene=scene,
    )
    robot = load(tmp_path, text)
    np.testing.assert_allclose(robot.gravity, (0, -4, -3))
    X = robot.tree.frame("a").placement
    np.testing.assert_allclose([*X.translation], (0.01, -0.03, 0.02), rtol=1e-12)
    assert [[*row] for row in (X.rotation.x, X.rotation.y, X.rotation.z)] == [[1, 0, 0], [0, 0, -1], [0, 1, 0]]


@pytest.mark.light
@pytest.mark.parametrize(
    ("values", "gravity"),
    [
        ("", (0, 0, -9.81)),  # what the schema says of values that are not authored
        ("float physics:gravityMagnitude = -inf", (0, 0, -9.81)),
        ("float physics:gravityMagnitude = 200", (0, 0, -2)),
        ("vector3f physics:gravityDirection = (2, 0, 0)", (9.81, 0, 0)),
        ("float physics:gravityMagnitude = 0", (0, 0, 0)),
    ],
)
def test_gravity_of_a_usd_stage_is_read(tmp_path: Path, values: str, gravity: tuple[float, ...]) -> None:
    robot = load(tmp_path, stage(body("a"), length=0.01, scene=prim("PhysicsScene", "s", values)))
    np.testing.assert_allclose(robot.gravity, gravity)
    np.testing.assert_allclose(load(tmp_path, stage(body("a")), gravity=(0, 0, 1)).gravity, (0, 0, 1))


def test_missing_units_of_a_usd_stage_are_reported(tmp_path: Path) -> None:
    text = stage(body("a", at(0, 1, 0)), joint("Fixed", "w", "", "a", "point3f physics:localPos0 = (0, 1, 0)"))
    with pytest.warns(ModelWarning, match="does not state metersPerUnit"):
        robot = load(tmp_path, text.replace("metersPerUnit = 1", "").replace('upAxis = "Z"', ""))
    np.testing.assert_allclose([*robot.tree.frame("a").placement.translation], (0, 0, 0.01), rtol=1e-9)
    assert [repair.code for repair in robot.report.repairs] == ["UNITS_MISSING"] * 2


def test_usd_principal_axes_of_inertia_are_read(tmp_path: Path) -> None:
    values = "float physics:mass = 2;float3 physics:diagonalInertia = (1, 2, 3);quatf "
    values += "physics:principalAxes = (0.7071068, 0, 0, 0.7071068)"
    np.testing.assert_allclose(
        inertia(load(tmp_path, stage(body("a", values, mass=None))))[2], np.diag([2, 1, 3]), atol=1e-15
    )
    zero = values.replace("(0.7071068, 0, 0, 0.7071068)", "(0, 0, 0, 0)")  # the schema's sign of no value
    np.testing.assert_allclose(inertia(load(tmp_path, stage(body("a", zero, mass=None))))[2], np.diag([1, 2, 3]))
    whole = values + ";double[] newton:inertia = [1, 2, 2.5, 0.1, 0.2, 0.3]"
    J = inertia(load(tmp_path, stage(body("a", whole, mass=None))))[2]
    np.testing.assert_allclose(J, [[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 2.5]])


@pytest.mark.light
@pytest.mark.parametrize(
    ("of_body", "of_collider"),
    [
        ("", ""),
        ("float physics:mass = 10", ""),
        ("float physics:density = 3", ""),
        ("float physics:density = 3", "float physics:density = 7"),
        ("", "float physics:mass = 5"),
        ("", "float physics:mass = 5;point3f physics:centerOfMass = (0.5, 0, 0)"),
        ("", "float physics:mass = 5;float3 physics:diagonalInertia = (1, 2, 3)"),
        ("float physics:mass = 10;point3f physics:centerOfMass = (0, 0, 0)", ""),
        ("float physics:mass = 10;point3f physics:centerOfMass = (1, 0, 0.5)", "float physics:density = 7"),
        ("float physics:mass = 10;float3 physics:diagonalInertia = (3, 4, 5)", ""),
        ("float physics:mass = 10", "float physics:mass = 20"),  # the parent's mass overrides the child's
    ],
)
def test_masses_of_usd_bodies_follow_the_rules_of_usd_physics(tmp_path: Path, of_body: str, of_collider: str) -> None:
    """The reference is USD's own computation, which needs the volumes of the shapes: here a scaled box and a ball."""
    from pxr import Gf, Usd, UsdPhysics

    box = collider("Cube", "box", at(1, 0, 0) + "\n" + of_collider, schemas="PhysicsMassAPI")
    ball = collider("Sphere", "ball", at(0, 1, 0) + "\ndouble radius = 0.5")
    text = stage(body("a", at(3, 4, 5, scale="(2, 2, 2)") + "\n" + of_body, box, ball, mass=None))
    path = written(tmp_path, text)
    opened = Usd.Stage.Open(str(path))

    def information(prim: object) -> object:
        result = UsdPhysics.RigidBodyAPI.MassInformation()
        is_box = prim.GetName() == "box"  # type: ignore[attr-defined]
        result.volume = 64.0 if is_box else 4.0 / 3.0 * math.pi
        result.inertia = Gf.Matrix3f(64.0 * 32.0 / 12.0 if is_box else 0.4 * 4.0 / 3.0 * math.pi)
        result.centerOfMass, result.localRot = Gf.Vec3f(0), Gf.Quatf(1)
        result.localPos = Gf.Vec3f(2, 0, 0) if is_box else Gf.Vec3f(0, 2, 0)
        return result

    api = UsdPhysics.RigidBodyAPI(opened.GetPrimAtPath("/r/a"))
    mass, diagonal, center, axes = api.ComputeMassProperties(information)
    R = np.array(Gf.Matrix3d(Gf.Quatd(axes).GetNormalized())).T if "diagonalInertia" not in of_body else np.eye(3)
    is_default = "mass" not in of_body and "density" not in of_body  # the ball states nothing
    with pytest.warns(ModelWarning) if is_default else nullcontext():
        robot = lw.load(path)
    assert [prim.code for prim in robot.report.repairs] == ["DENSITY_DEFAULT"] * is_default
    outcome = inertia(robot)
    np.testing.assert_allclose(outcome[0], mass, rtol=1e-6)
    np.testing.assert_allclose(outcome[1], center, atol=1e-6)
    np.testing.assert_allclose(outcome[2], R @ np.diag(diagonal) @ R.T, rtol=2e-5, atol=2e-5 * max(diagonal))


def test_densities_of_usd_physics_materials_give_masses(tmp_path: Path) -> None:
    ball = collider(
        "Sphere", "ball", "double radius = 10;rel material:binding:physics = </r/steel>", schemas="MaterialBindingAPI"
    )
    steel = STEEL.replace("7800", "0.0078")
    robot = load(tmp_path, stage(steel, body("a", "", ball, mass=None), length=0.01))
    volume = 4.0 / 3.0 * math.pi * 0.1**3
    np.testing.assert_allclose(inertia(robot)[0], 7800.0 * volume, rtol=1e-6)
    assert shapes(robot)[0].friction == 0.5
    with pytest.warns(ModelWarning, match="the body has 4.189 kg"):
        water = load(tmp_path, stage(body("a", "", ball.replace("</r/steel>", "</r/none>"), mass=None), length=0.01))
    np.testing.assert_allclose(inertia(water)[0], 1000.0 * volume, rtol=1e-12)


@pytest.mark.parametrize(
    ("values", "code", "mass"),
    [("", "MASS_MISSING", 0.0), ("float physics:mass = 2", "INERTIA_MISSING", 2.0)],
)
def test_usd_bodies_without_shapes_have_a_default_mass_and_a_warning(
    tmp_path: Path, values: str, code: str, mass: float
) -> None:
    with pytest.warns(ModelWarning):
        robot = load(tmp_path, stage(body("a", values, mass=None)))
    assert [repair.code for repair in robot.report.repairs] == [code]
    np.testing.assert_allclose(inertia(robot)[2], np.eye(3) * 0.4 * mass * 0.01)


@pytest.mark.light
@pytest.mark.parametrize(
    ("kind", "values", "shape", "axis"),
    [
        ("Cube", "double size = 3", Box((3, 3, 3)), None),
        ("Sphere", "double radius = 3", Sphere(3), None),
        ("Capsule", 'double radius = 2;double height = 5;uniform token axis = "X"', Capsule(2, 5), 0),
        ("Cylinder", 'double radius = 2;double height = 5;uniform token axis = "Y"', Cylinder(2, 5), 1),
        ("Cone", "double radius = 2;double height = 5", Cone(2, 5), 2),
        ("Cube", "", Box((2, 2, 2)), None),
        ("Sphere", "", Sphere(1), None),
        ("Cylinder", "", Cylinder(1, 2), 2),
        ("Capsule", "", Capsule(0.5, 1), 2),
        ("Cone", "", Cone(1, 2), 2),
        ("Capsule_1", "double radiusTop = 2;double radiusBottom = 2;double height = 5", Capsule(2, 5), 2),
        ("Plane", 'uniform token axis = "X"', HalfSpace(), 0),
    ],
)
def test_shapes_of_usd_bodies_are_read(tmp_path: Path, kind: str, values: str, shape: object, axis: int | None) -> None:
    robot = load(tmp_path, stage(body("a", "", collider(kind, "s", values + "\n" + at(1, 2, 3)))))
    (result,) = shapes(robot)
    assert result.shape == shape and result.name == "s"
    np.testing.assert_allclose([*result.origin.translation], (1, 2, 3))
    if axis is not None:
        z = [row.z for row in (result.origin.rotation.x, result.origin.rotation.y, result.origin.rotation.z)]
        assert z == [float(k == axis) for k in range(3)]


@pytest.mark.light
@pytest.mark.parametrize(
    ("kind", "scale", "shape"),
    [
        ("Cube", "(1, 2, -3)", Box((2, 4, 6))),
        ("Sphere", "(2, 2, 2)", Sphere(2)),
        ("Sphere", "(1, 2, 3)", Ellipsoid((1, 2, 3))),
        ("Cylinder", "(3, 3, 2)", Cylinder(3, 4)),
        ("Capsule", "(2, 2, 2)", Capsule(1, 2)),
        ("Cone", "(3, 3, 2)", Cone(3, 4)),
    ],
)
def test_scales_of_usd_shapes_are_applied(tmp_path: Path, kind: str, scale: str, shape: object) -> None:
    (result,) = shapes(load(tmp_path, stage(body("a", "", collider(kind, "s", at(1, 0, 0, scale=scale))))))
    assert result.shape == shape
    (scaled,) = shapes(
        load(tmp_path, stage(body("a", at(0, 0, 0, scale="(2, 2, 2)"), collider(kind, "s", at(1, 0, 0, scale=scale)))))
    )
    assert scaled.shape.volume == pytest.approx(8.0 * shape.volume)  # type: ignore[attr-defined]
    assert scaled.origin.translation.x == 2.0


def test_mirrored_usd_cone_points_down(tmp_path: Path) -> None:
    (cone,) = shapes(load(tmp_path, stage(body("a", "", collider("Cone", "s", at(0, 0, 0, scale="(1, 1, -1)"))))))
    assert cone.origin.rotation.z.z == -1.0


def test_usd_scales_that_deform_round_shapes_are_reported(tmp_path: Path) -> None:
    text = stage(body("a", "", collider("Cylinder", "s", at(0, 0, 0, scale="(1, 3, 1)"))))
    with pytest.warns(ModelWarning, match="deform a Cylinder"):
        (result,) = shapes(load(tmp_path, text))
    assert result.shape == Cylinder(3, 2)


def test_scale_above_usd_bodies_moves_them_and_their_joints(tmp_path: Path) -> None:
    inner = (
        body("a", at(1, 0, 0)),
        body("b", at(1, 0, 2)),
        joint("Fixed", "w", "", "a", "point3f physics:localPos0 = (2, 0, 0)"),
        joint("Revolute", "j", "a", "b", "point3f physics:localPos0 = (0, 0, 2)"),
    )
    robot = load(tmp_path, stage(*inner, root=at(0, 0, 0, scale="(2, 2, 2)")))
    assert not robot.report.warnings
    np.testing.assert_allclose([*robot.tree.bodies[0].placement.translation], (2, 0, 4))
    tilted = "(0.9238795, 0, 0.3826834, 0)"
    with pytest.raises(ModelError, match="shears"):
        load(tmp_path, stage(body("a", at(1, 0, 0, orient=tilted)), root=at(0, 0, 0, scale="(1, 1, 3)")))
    with pytest.raises(ModelError, match="mirrors"):
        load(tmp_path, stage(body("a"), root=at(0, 0, 0, scale="(1, 1, -1)")))


def test_usd_meshes_become_hulls_of_the_points_that_faces_use(tmp_path: Path) -> None:
    robot = load(tmp_path, stage(body("a", "", collider("Mesh", "m", MESH + at(0, 0, 1, scale="(2, 2, 2)")))))
    (result,) = shapes(robot)
    assert result.shape == Polytope(((0, 0, 1), (2, 0, 1), (0, 2, 1), (0, 0, 3)))
    turned = at(0.3, -0.2, 1, orient="(0.5, 0.1, -0.7, 0.5)", scale="(2, 3, 0.5)")
    (general,) = shapes(load(tmp_path, stage(body("a", "", collider("Mesh", "m", MESH + turned)))))
    X = lw.pose((0.3, -0.2, 1.0), quaternion_wxyz=(0.5, 0.1, -0.7, 0.5))
    corners = [X[:3, 3], *(X[:3, 3] + X[:3, :3].T * [[2.0], [3.0], [0.5]])]
    assert np.allclose(general.shape.vertices, corners, rtol=0.0, atol=1e-6)
    assert any("approximation 'none'" in warning.message for warning in robot.report.warnings)
    for approximation, kind in (("boundingSphere", Sphere), ("boundingCube", Box)):
        values = f'{MESH}uniform token physics:approximation = "{approximation}"'
        (result,) = shapes(
            load(tmp_path, stage(body("a", "", collider("Mesh", "m", values, "PhysicsMeshCollisionAPI"))))
        )
        assert isinstance(result.shape, kind)
    flat = MESH.replace("(0, 0, 1)", "(1, 1, 0)")
    with pytest.warns(ModelWarning, match="without volume"):
        assert not shapes(load(tmp_path, stage(body("a", "", collider("Mesh", "m", flat)))))
    with pytest.raises(ModelError, match="MESH_CORRUPT"):
        load(tmp_path, stage(body("a", "", collider("Mesh", "m", MESH.replace("1, 2, 3]", "1, 2, 5]")))))


def test_usd_visual_shapes_colors_and_purposes_are_read(tmp_path: Path) -> None:
    color = "color3f[] primvars:displayColor = [(0.25, 0.5, 1)];float[] primvars:displayOpacity = [0.5]"
    inner = (
        prim("Cube", "seen", color),
        collider("Cube", "both"),
        collider("Cube", "guide", 'uniform token purpose = "guide"'),
        collider("Cube", "off", "bool physics:collisionEnabled = 0"),
        prim("Cube", "invisible", 'token visibility = "invisible"'),
        prim("Mesh", "mesh", MESH),
    )
    frame = load(tmp_path, stage(body("a", "", *inner))).tree.frame("a")
    assert [visual.name for visual in frame.visuals] == ["seen", "both", "off"]
    assert [visual.name for visual in frame.collisions] == ["both", "guide"]
    (*srgb, alpha) = frame.visuals[0].material.rgba  # type: ignore[union-attr]
    assert np.allclose(srgb, [0.537099, 0.735357, 1.0], atol=1e-6) and alpha == 0.5  # IEC 61966-2-1


def test_usd_colors_are_inherited_and_shapes_collide_as_their_nearest_group_states(tmp_path: Path) -> None:
    """A group that does not collide, in one that does; shapes after it collide again, and only they have mass."""
    color = 'color3f[] primvars:displayColor = [(0, 1, 0)] (interpolation = "constant")'
    off = "bool physics:collisionEnabled = 0"
    nested = (
        prim("Xform", "ghosts", off, prim("Cube", "ghost"), collider("Cube", "b"), schemas="PhysicsCollisionAPI"),
        collider("Cube", "off", off),
        prim("Cube", "last", "color3f[] primvars:displayColor = [(0, 0, 1)]"),
    )
    group = prim("Xform", "group", color, prim("Cube", "a"), *nested, schemas="PhysicsCollisionAPI")
    with pytest.warns(ModelWarning, match="DENSITY_DEFAULT"):
        robot = load(tmp_path, stage(prim("Xform", "link", "", group, schemas="PhysicsRigidBodyAPI")))
    frame = robot.tree.frame("link")
    assert [shape.name for shape in frame.collisions] == ["a", "b", "last"]
    assert robot.mass == pytest.approx(3 * 8000.0)
    colors = {shape.name: shape.material.rgba[:3] for shape in frame.visuals}  # type: ignore[index,union-attr]
    assert colors == dict.fromkeys(("a", "ghost", "b", "off"), (0.0, 1.0, 0.0)) | {"last": (0.0, 0.0, 1.0)}


@pytest.mark.light
@pytest.mark.parametrize(
    ("values", "code"),
    [
        ("float physics:mass = -1", "MASS_NEGATIVE"),
        ("float physics:mass = nan", "NOT_FINITE"),
        ("float physics:mass = inf", "NOT_FINITE"),
        ("float physics:mass = 1e30", "MAGNITUDE"),
        ("float physics:density = -1", "NEGATIVE"),
        ("float physics:mass = 1;float3 physics:diagonalInertia = (1, 1, -1)", "INERTIA_NOT_PSD"),
        ("float3 physics:diagonalInertia = (nan, 1, 1)", "NOT_FINITE"),
        ("float3 physics:diagonalInertia = (1, 1, 1);quatf physics:principalAxes = (2, 0, 0, 0)", "QUAT_NORM"),
        ("float3 physics:diagonalInertia = (1, 1, 1);float4 physics:principalAxes = (1, 0, 0, 0)", "DATA_TYPE"),
        ("point3f physics:centerOfMass = (nan, 0, 0)", "NOT_FINITE"),
        ('string physics:mass = "one"', "DATA_TYPE"),
        (at(0, 0, 0, orient="(0, 0, 0, 0)"), "QUAT_NORM"),
        (at(0, 0, 0, orient="(nan, 0, 0, 0)"), "NOT_FINITE"),
        (at(0, 0, 0, orient="(0.99, 0, 0, 0)"), "QUAT_NORM"),
        (at(0, 0, 0, scale="(0, 1, 1)"), "SCALE"),
        (at(math.nan, 0, 0), "NOT_FINITE"),
    ],
)
def test_errors_of_usd_values_name_the_prim(tmp_path: Path, values: str, code: str) -> None:
    path = written(tmp_path, stage(body("a", values, mass=None)))
    with pytest.raises(ModelError, match=code) as caught:
        lw.load(path)
    assert (caught.value.code, caught.value.element, caught.value.file) == (code, "/r/a", str(path))


@pytest.mark.parametrize(("kind", "values"), [("Sphere", "double radius = 0"), ("Cube", "double size = -1")])
def test_invalid_sizes_of_usd_shapes_are_refused(tmp_path: Path, kind: str, values: str) -> None:
    with pytest.raises(ModelError, match="GEOM_SIZE"):
        load(tmp_path, stage(body("a", "", collider(kind, "s", values))))


def test_single_precision_usd_quaternions_are_normalised_without_a_warning(tmp_path: Path) -> None:
    (tilted, off) = ("(0.9238795, 0, 0.3826834, 0)", "(0.9238, 0, 0.3827, 0)")
    assert not load(tmp_path, stage(body("a", at(0, 0, 0, orient=tilted)))).report.warnings
    with pytest.warns(ModelWarning, match="normalised"):
        load(tmp_path, stage(body("a", at(0, 0, 0, orient=off))))
