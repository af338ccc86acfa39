"""Pictures of robots: shapes, meshes that are found, and lines where there is nothing else to draw."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw

mpl = pytest.importorskip("matplotlib")
mpl.use("agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    mpl.pyplot.close("all")


MESHES = """<robot name="r"><link name="base"/><link name="arm"><collision><geometry>
<mesh filename="package://arm/box.stl" scale="0.1 0.1 0.1"/></geometry></collision></link><link name="tip"/>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/><origin xyz="1 0 0"/>
<limit lower="-3" upper="3" effort="1" velocity="2"/></joint>
<joint name="f" type="fixed"><parent link="arm"/><child link="tip"/><origin xyz="0 2 0"/></joint></robot>"""


def lines(axes) -> list[np.ndarray]:
    return [np.stack(line.get_data_3d(), axis=1) for line in axes.lines]


def test_shapes_frames_scenes_and_several_configurations():
    arm = lw.load("arm7")
    axes = arm.plot()
    (surfaces,) = axes.collections
    count = len(surfaces.corners)
    assert count >= 7 * 12 and not axes.lines
    q = arm.random_configuration(seed=0, size=3)
    scene = lw.Scene().with_sphere("ball", 0.1, (1.0, 0.0, 0.0))
    several = arm.plot(q, frames=["hand"], scene=scene)
    (drawn,) = several.collections
    assert len(drawn.corners) > 3 * count and len(several.lines) == 3 * 3 and len(several.texts) == 3
    vertices = np.unique(drawn.corners.reshape(-1, 3).round(9), axis=0)
    assert np.isclose(np.linalg.norm(vertices - (1.0, 0.0, 0.0), axis=1), 0.1).sum() > 50  # the ball
    assert np.allclose(lines(several)[0][0], arm.pose(q[0], "hand")[:3, 3])
    assert arm.plot({"elbow": -1.2}, axes=axes) is axes and len(surfaces.corners) == 2 * count
    for name, error, said in (("hnd", lw.errors.UnknownNameError, "did you mean 'hand'"),):
        with pytest.raises(error, match=said):
            arm.plot(frames=name)
    with pytest.raises(ValueError, match="plot: q"):
        arm.plot(np.zeros(3))


def test_a_skeleton_where_meshes_are_not_found_and_meshes_where_they_are(tmp_path):
    file = tmp_path / "r.urdf"
    file.write_text(MESHES, encoding="utf-8")
    robot = lw.load(file)
    axes = robot.plot([0.0])
    assert not axes.collections  # nothing but lines: from the world to the arm, and from there to the tip
    ends = [tuple(line[-1]) for line in lines(axes)]
    assert (1.0, 0.0, 0.0) in ends and (1.0, 2.0, 0.0) in ends
    trimesh = pytest.importorskip("trimesh")
    (tmp_path / "arm").mkdir()
    trimesh.creation.box((1.0, 1.0, 1.0)).export(tmp_path / "arm" / "box.stl")
    axes = robot.plot([0.0], meshes=tmp_path)
    assert len(axes.collections) == 1 and not axes.lines
    with pytest.raises(ValueError, match="is not a folder"):
        robot.plot(meshes=tmp_path / "none")


def test_loops_are_closed_in_a_skeleton():
    robot = lw.load("fourbar")
    bare = robot
    for link in [frame.name for frame in robot.tree.frames if frame.collisions]:
        bare = bare.with_collisions(link)
    q = bare.assemble(bare.neutral()).q
    ends = np.array([line[-1] for line in lines(bare.plot(q))])
    for name in ("coupler_tip", "rocker_tip"):
        assert np.abs(ends - bare.pose(q, name)[:3, 3]).max(axis=1).min() < 1e-12


def test_faces_turned_away_are_left_out_and_long_ones_divided():
    box = lw.Robot.build("box", lw.Link("box", mass=1.0)).with_collisions("box", lw.shapes.Box((1.0, 2.0, 3.0)))
    axes = box.plot()
    (surfaces,) = axes.collections
    assert len(surfaces.corners) == 12
    low, high = surfaces.corners.min(axis=(0, 1)), surfaces.corners.max(axis=(0, 1))
    assert np.allclose(high - low, (1.0, 2.0, 3.0)) and np.allclose(high, -low)
    axes.view_init(elev=0.0, azim=0.0)  # seen from x
    axes.figure.canvas.draw()
    fine = np.array([path.vertices[:3] for path in surfaces.get_paths()])
    assert len(fine) > 100 and surfaces.get_facecolor().shape == (len(fine), 4)
    assert len(np.unique(surfaces.get_facecolor(), axis=0)) == 5  # not the face at the back
