"""Geoms of MJCF as shapes, sites as frames, and sensors."""

import struct

import numpy as np
import pytest

import linkwork as lw
from linkwork.shapes import Box, Capsule, Cylinder, Ellipsoid, HalfSpace, HeightField, Mesh, Polytope, Sphere
from linkwork.simulation import ContactMaterial, ContactPair

mujoco = pytest.importorskip("mujoco", reason="MJCF is read by MuJoCo's compiler")

GEOMS = """<asset><material name="red" rgba="1 0 0 .5"/>
    <hfield name="h" nrow="2" ncol="3" size="2 1 .5 .1" elevation="0 .5 1 .25 .5 0"/></asset>
<worldbody><geom type="plane" size="1 1 1"/><geom type="hfield" hfield="h"/>
<body name="a"><joint/><geom name="ball" size=".1" material="red" friction=".3"/>
    <geom type="capsule" size=".1 .2" group="3"/>
<geom type="ellipsoid" size=".1 .2 .3" rgba="0 1 0 1"/>
    <geom type="cylinder" size=".1 .2" contype="0" conaffinity="0"/>
<geom type="box" size=".1 .2 .3" pos="1 2 3" euler="0 0 90" friction="2 .1 .1"/>
    <geom type="box" size=".1 .1 .1" contype="0" conaffinity="0" rgba="1 1 1 0"/>
</body></worldbody>"""


def test_mjcf_geoms_become_shapes_with_friction_and_color():
    robot = lw.Robot.from_mujoco(mujoco.MjModel.from_xml_string(f"<mujoco>{GEOMS}</mujoco>"))
    frame, world = robot.tree.frame("a"), robot.tree.frame("world")
    assert [collision.shape for collision in frame.collisions] == [
        Sphere(0.1), Capsule(0.1, 0.4), Ellipsoid((0.1, 0.2, 0.3)), Box((0.2, 0.4, 0.6))
    ]  # fmt: skip
    assert [collision.shape for collision in frame.visuals] == [
        Sphere(0.1), Ellipsoid((0.1, 0.2, 0.3)), Cylinder(0.1, 0.4), Box((0.2, 0.4, 0.6))
    ]  # fmt: skip
    assert [collision.name for collision in frame.collisions] == ["ball", "geom3", "geom4", "geom6"]
    assert [collision.friction for collision in frame.collisions] == [0.3, 1.0, 1.0, 2.0]
    assert frame.visuals[0].material.name == "red" and frame.visuals[0].material.rgba == (1.0, 0.0, 0.0, 0.5)
    assert frame.visuals[1].material.rgba == (0.0, 1.0, 0.0, 1.0)
    np.testing.assert_allclose(
        np.reshape(frame.collisions[3].origin.elements(), (4, 4)), lw.pose((1, 2, 3), rpy=(0, 0, np.pi / 2)), atol=1e-15
    )
    floor, ground = (collision.shape for collision in world.collisions)
    assert isinstance(floor, HalfSpace) and isinstance(ground, HeightField)


def test_rows_of_mjcf_height_fields_are_along_y():
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{GEOMS}</mujoco>")
    ground = lw.Robot.from_mujoco(model).tree.frame("world").collisions[1].shape
    assert ground.heights.shape == (3, 2)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    for i, j in ((0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)):
        x, y = (ground.origin[k] + ground.spacing[k] * n for k, n in ((0, i), (1, j)))
        start = np.array([0.999 * x, 0.999 * y, 3.0])
        distance = mujoco.mj_rayHfield(
            model, data, 1, start, np.array([0.0, 0.0, -1.0]), *([None] if _takes_normal() else [])
        )
        assert 3.0 - distance == pytest.approx(ground.heights[i, j], abs=2e-3)


def _takes_normal():
    return "normal" in (mujoco.mj_rayHfield.__doc__ or "")


def stl(path, triangles):
    data = b"\0" * 80 + struct.pack("<I", len(triangles))
    for triangle in triangles:
        data += struct.pack("<12f", 0, 0, 0, *np.ravel(triangle)) + b"\0\0"
    path.write_bytes(data)


CORNERS = np.array([(0.0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]


def test_mjcf_meshes_are_convex_hulls_for_collision_and_mesh_files_for_display(tmp_path):
    """MuJoCo moves a mesh to its centre and principal axes: both shapes are where the file says."""
    stl(tmp_path / "wedge.stl", [CORNERS[list(face)] for face in FACES])
    path = tmp_path / "model.xml"
    path.write_text("""<mujoco><compiler meshdir="."/><asset><mesh name="m" file="wedge.stl" scale=".1 .2 .3"/>
    </asset>
      <worldbody><body name="a"><joint/><geom type="mesh" mesh="m" pos="1 2 3" euler="10 20 30"/></body></worldbody>
      </mujoco>""")
    frame = lw.load(path).tree.frame("a")
    (solid,), (visual,) = frame.collisions, frame.visuals
    assert isinstance(solid.shape, Polytope) and isinstance(visual.shape, Mesh)
    assert visual.shape.uri == str(tmp_path / "wedge.stl") and visual.shape.scale == (0.1, 0.2, 0.3)
    placed = np.reshape(visual.origin.elements(), (4, 4))
    corners = (CORNERS * [0.1, 0.2, 0.3]) @ placed[:3, :3].T + placed[:3, 3]
    hull = np.array([[*solid.origin.point(lw.spatial.Vec3(*v))] for v in solid.shape.vertices])
    np.testing.assert_allclose(sorted(hull.tolist()), sorted(corners.tolist()), atol=1e-6)
    np.testing.assert_allclose(placed[:3, 3], [1.0, 2.0, 3.0], atol=1e-6)
    path.write_text(path.read_text().replace("<mesh ", '<mesh refpos=".1 .2 .3" '))
    frame = lw.load(path).tree.frame("a")
    assert frame.visuals[0].shape == frame.collisions[0].shape  # the hull, as the file's own frame is not known


def test_mjcf_sites_become_frames():
    model = mujoco.MjModel.from_xml_string("""<mujoco><worldbody><body><joint name="j"/><geom size=".1"/>
      <site name="s" pos="1 2 3" euler="10 20 30"/></body></worldbody></mujoco>""")
    robot, data = lw.Robot.from_mujoco(model), mujoco.MjData(model)
    data.qpos[:] = 0.3
    mujoco.mj_kinematics(model, data)
    X = robot.pose([0.3], "s")
    np.testing.assert_allclose(X[:3, 3], data.site_xpos[0], atol=1e-15)
    np.testing.assert_allclose(X[:3, :3].ravel(), data.site_xmat[0], atol=1e-15)


def test_contacts_of_mjcf_robots_use_the_friction_of_their_geoms():
    model = mujoco.MjModel.from_xml_string("""<mujoco><worldbody><geom type="plane" size="1 1 1" friction=".25"/>
      <body name="a"><freejoint/><geom size=".1" friction="1"/></body></worldbody></mujoco>""")
    robot = lw.Robot.from_mujoco(model)

    def friction(*materials):
        (candidate,) = ContactPair("world", "a", *materials).candidates(robot, robot.neutral())
        return candidate.material.friction

    assert friction() == 0.5  # the geometric mean
    assert friction({"a": ContactMaterial(0.25)}) == 0.25
    assert friction(ContactMaterial(0.7)) == pytest.approx(0.7)


def test_mjcf_sensors_are_converted_or_reported():
    model = mujoco.MjModel.from_xml_string("""<mujoco><worldbody><body name="s"><joint name="j"/><geom size=".1"/>
    <site name="s"/></body></worldbody>
      <sensor><jointpos name="angle" joint="j" noise=".1"/><jointvel joint="j"/>
      <jointactuatorfrc name="tau" joint="j"/>
      <gyro name="turn" site="s"/><accelerometer name="felt" site="s"/><touch name="pad" site="s"/></sensor>
      </mujoco>""")
    robot, sensors = lw.Robot.from_mujoco(model), lw.simulation.sensors_of_mujoco(model)
    assert [*sensors] == ["angle", "sensor1", "tau", "turn", "felt"]
    assert sensors["angle"] == lw.simulation.Encoder(("j",), "position", noise=0.1)
    assert (sensors["sensor1"].of, sensors["tau"].of) == ("velocity", "force")
    assert sensors["turn"] == lw.simulation.IMU("s_site", "angular_velocity")
    run = robot.simulate([0.3], [2.0], duration=0.01, dt=0.005, sensors=sensors)
    assert [run.records[name].shape[-1] for name in sensors] == [1, 1, 1, 3, 3]
    np.testing.assert_allclose(run.records["turn"][-1], [0.0, 0.0, run.v[-1, 0]], atol=1e-14)
    (issue,) = (x for x in robot.report.warnings if "pad" in x.message)
    assert issue.code == "IGNORED" and "no sensor of the kind 'touch'" in issue.message
    with pytest.raises(TypeError, match="sensors_of_mujoco: model"):
        lw.simulation.sensors_of_mujoco(robot)
