"""Binary glTF files: structure, node transforms at all times, colours and textures, read again by trimesh."""

from __future__ import annotations

import json
import struct
from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from helpers.documents import everything, robot_document, wave
from linkwork.joints import ALL
from linkwork.model.random_tree import random_tree
from linkwork.viewer.document import Points, SceneDocument
from linkwork.viewer.gltf import write_glb
from linkwork.viewer.rotations import steady_quaternions
from linkwork.viewer.solid_and_field_surfaces import axes_surface

WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
TYPES = {5126: "<f4", 5125: "<u4", 5123: "<u2"}


class Read:
    """A file, read by the specification's rules."""

    def __init__(self, path):
        data = path.read_bytes()
        magic, version, length = struct.unpack_from("<4sII", data)
        assert (magic, version, length) == (b"glTF", 2, len(data))
        size, kind = struct.unpack_from("<I4s", data, 12)
        assert kind == b"JSON" and size % 4 == 0
        self.gltf = json.loads(data[20 : 20 + size])
        self.bytes = b""
        if 20 + size < len(data):
            length, kind = struct.unpack_from("<I4s", data, 20 + size)
            assert kind == b"BIN\0" and length == self.gltf["buffers"][0]["byteLength"]
            self.bytes = data[28 + size :]
        self.parents = {c: k for k, node in enumerate(self.gltf["nodes"]) for c in node.get("children", ())}
        tracks = self.gltf.get("animations", [{"channels": [], "samplers": []}])[0]
        self.tracks = {}
        for channel in tracks["channels"]:
            sampler, target = tracks["samplers"][channel["sampler"]], channel["target"]
            times, values = self.array(sampler["input"]), self.array(sampler["output"])
            assert len(times) == len(values) and (np.diff(times) > 0.0).all() and times[0] == 0.0
            assert self.tracks.setdefault((target["node"], target["path"]), values) is values

    def array(self, index):
        accessor = self.gltf["accessors"][index]
        view = self.gltf["bufferViews"][accessor["bufferView"]]
        assert view["byteOffset"] % 4 == 0 and view["byteOffset"] + view["byteLength"] <= len(self.bytes)
        width = WIDTHS[accessor["type"]]
        count = accessor["count"] * width
        values = np.frombuffer(self.bytes, TYPES[accessor["componentType"]], count, view["byteOffset"])
        values = values.reshape(-1, width) if width > 1 else values
        if "min" in accessor:
            np.testing.assert_array_equal(values.min(axis=0), np.squeeze(accessor["min"]))
            np.testing.assert_array_equal(values.max(axis=0), np.squeeze(accessor["max"]))
        return values

    def nodes(self, name):
        return [k for k, node in enumerate(self.gltf["nodes"]) if node["name"] == name]

    def pose(self, node, step):
        """Pose of a node in the world of glTF's axes, turned back to z up."""
        result = np.eye(4)
        while node is not None:
            result = self.local(node, step) @ result
            node = self.parents.get(node)
        return np.array([[1, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1.0]]) @ result

    def local(self, node, step):
        entry = self.gltf["nodes"][node]
        usual = {"translation": [0, 0, 0], "rotation": [0, 0, 0, 1], "scale": [1, 1, 1]}
        parts = {}
        for path, value in usual.items():
            track = self.tracks.get((node, path))
            parts[path] = np.array(entry.get(path, value) if track is None else track[step], dtype=float)
        x, y, z, w = parts["rotation"]
        assert abs(np.linalg.norm(parts["rotation"]) - 1.0) < 1e-6
        skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        result = np.eye(4)
        result[:3, :3] = (np.eye(3) + 2.0 * w * skew + 2.0 * skew @ skew) * parts["scale"]
        result[:3, 3] = parts["translation"]
        return result


def test_scene_documents_that_count_states_are_played_at_the_stated_states_per_second(tmp_path):
    arm = lw.load("arm6")
    posed = robot_document(arm, wave(arm, 4, 1))
    document = replace(posed, times=np.arange(4.0), is_timed=False, axis="state", pace=5.0)
    document.show(glb=tmp_path / "states.glb")
    gltf = Read(tmp_path / "states.glb").gltf
    clocks = {sampler["input"] for sampler in gltf["animations"][0]["samplers"]}
    assert [gltf["accessors"][k]["max"][0] for k in clocks] == pytest.approx([0.6])
    with pytest.raises(ValueError, match="pace: expected a positive number"):
        replace(document, pace=0.0).show(glb=tmp_path / "states.glb")


@pytest.mark.slow(every=5)
def test_gltf_nodes_have_the_poses_of_numpy_at_all_times(tmp_path):
    robot = lw.Robot(random_tree(np.random.default_rng(3), 2 * len(ALL)))
    offsets = np.tile(np.eye(4), (2, 1, 1))
    offsets[1, :3, 3] = 4.0, 0.0, -1.0
    document = robot_document(robot, wave(robot, 9, 2), offsets=offsets)
    read = Read(write_glb(document, tmp_path / "motion.glb"))
    poses = document.actors[0].poses
    for i, body in enumerate(robot.tree.bodies):
        nodes = [k for k in read.nodes(body.name) if "mesh" not in read.gltf["nodes"][k]]
        for instance, node in enumerate(nodes):
            for step in (0, 4, 8):
                np.testing.assert_allclose(read.pose(node, step), poses[step, instance, i], atol=2e-5)
        assert len(nodes) == 2
    still_file = Read(write_glb(robot_document(robot, wave(robot, 1)), tmp_path / "still.glb"))
    assert not still_file.tracks


def test_gltf_files_contain_all_objects_of_a_scene(tmp_path):
    document = everything(lw.load("arm6"))
    read = Read(write_glb(replace(document, hidden=frozenset({"roadmap"})), tmp_path / "scene.glb"))
    [block], [crate], [target] = read.nodes("block"), read.nodes("crate"), read.nodes("target")
    for step in range(5):
        np.testing.assert_allclose(read.pose(block, step), document.props[0].pose[step], atol=1e-6)
        np.testing.assert_allclose(read.pose(target, step)[:3, 3], document.texts[1].position[step], atol=1e-6)
    mesh = read.gltf["meshes"][read.gltf["nodes"][block]["mesh"]]["primitives"][0]
    np.testing.assert_array_equal(read.array(mesh["attributes"]["POSITION"]), document.surfaces[1].vertices)
    np.testing.assert_array_equal(read.array(mesh["indices"]), document.surfaces[1].triangles.ravel())
    assert (read.array(mesh["attributes"]["COLOR_0"]) == 65535).all() and "NORMAL" not in mesh["attributes"]
    material = read.gltf["materials"][
        read.gltf["meshes"][read.gltf["nodes"][crate]["mesh"]]["primitives"][0]["material"]
    ]
    assert material["alphaMode"] == "BLEND" and "baseColorTexture" in material["pbrMetallicRoughness"]
    assert read.gltf["images"][0]["mimeType"] == "image/png"
    assert not read.nodes("edges") and len(read.nodes("path")) == 1
    shafts = read.nodes("contact")
    for k, arrow in enumerate((shafts[:2], shafts[2:])):
        for step in range(5):
            tip = (read.pose(arrow[1], step) @ [0.0, 0.0, 1.0, 1.0])[:3]
            length = np.linalg.norm(tip - document.arrows[0].starts[step, k])
            assert length == pytest.approx(0.1 * 3**0.5 if document.arrows[0].visible[step, k] else 1e-6, abs=1e-7)


def test_trimesh_reads_the_gltf_file(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    robot = lw.load("humanoid")
    document = robot_document(robot, wave(robot, 3))
    path = write_glb(document, tmp_path / "humanoid.glb")
    scene = trimesh.load(path)
    corners = []
    for part in document.actors[0].parts:
        pose = document.actors[0].poses[0, 0, part.body] if part.body >= 0 else np.eye(4)
        corners.append(
            document.surfaces[0].vertices @ (pose @ part.placement)[:3, :3].T + (pose @ part.placement)[:3, 3]
        )
    low, high = np.concatenate(corners).min(axis=0), np.concatenate(corners).max(axis=0)
    np.testing.assert_allclose(scene.bounds, [[low[0], low[2], -high[1]], [high[0], high[2], -low[1]]], atol=1e-5)
    color = next(iter(scene.geometry.values())).visual.material.baseColorFactor
    np.testing.assert_allclose(color[:3] / 255.0, [0.010023, 0.073239, 0.787412], atol=0.003)


def test_drawn_frame_axes_have_the_colours_of_x_y_and_z():
    surface = axes_surface(1.0)
    assert surface.colors is not None
    for k in range(3):
        is_axis = surface.colors[:, :3].argmax(axis=1) == k  # red, green, blue
        extent = surface.vertices[is_axis].max(axis=0)
        assert extent[k] == 1.0 and np.delete(extent, k).max() < 0.05


def test_colours_of_points_in_gltf_files_are_linear_in_light(tmp_path):
    document = SceneDocument(
        "points", np.zeros(1), points=(Points("p", np.zeros((2, 3)), np.array([[128, 0, 255, 128]])),)
    )
    read = Read(write_glb(document, tmp_path / "points.glb"))
    [primitive] = read.gltf["meshes"][0]["primitives"]
    colors = read.array(primitive["attributes"]["COLOR_0"]) / 65535.0
    np.testing.assert_allclose(colors, [[0.215861, 0.0, 1.0, 128 / 255]] * 2, atol=1e-5)  # IEC 61966-2-1


def test_empty_scene_documents_are_written_to_gltf_and_invalid_ones_refused(tmp_path):
    read = Read(write_glb(SceneDocument("nothing ☃", np.zeros(1)), tmp_path / "nothing.glb"))
    assert read.gltf["scenes"][0]["name"] == "nothing ☃" and not read.bytes
    document = everything(lw.load("arm6"))
    broken = replace(document.actors[0], poses=document.actors[0].poses * np.nan)
    with pytest.raises(ValueError, match=r"write_glb: document: actors\[0\].*poses: expected finite numbers"):
        write_glb(replace(document, actors=(broken,)), tmp_path / "broken.glb")
    assert not (tmp_path / "broken.glb").exists()


def test_quaternions_in_gltf_animations_do_not_change_sign():
    angles = np.linspace(0.0, 4.0 * np.pi, 50)
    c, s, zero, unit = np.cos(angles), np.sin(angles), np.zeros(50), np.ones(50)
    q = steady_quaternions(np.stack([c, -s, zero, s, c, zero, zero, zero, unit], axis=-1).reshape(50, 3, 3))
    assert (np.einsum("ti,ti->t", q[1:], q[:-1]) > 0.9).all()
    np.testing.assert_allclose(np.abs(q[:, 0]), np.abs(np.cos(angles / 2.0)), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(q, axis=-1), 1.0, atol=1e-12)
