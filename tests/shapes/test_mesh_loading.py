"""Mesh files: found within folders, read within limits, with reported defects."""

from __future__ import annotations

import io
import json
import os
import struct
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.shapes import Mesh, Polytope, load_mesh
from linkwork.shapes.mesh_parsing import checked_dae
from linkwork.viewer.scene_builder import mesh_search

trimesh = pytest.importorskip("trimesh")


@pytest.fixture
def folder(tmp_path):
    """A package `arm` with meshes of a box, of 1 by 2 by 3, in every format; and a secret beside it."""
    meshes = tmp_path / "arm" / "meshes"
    meshes.mkdir(parents=True)
    box = trimesh.creation.box((1.0, 2.0, 3.0))
    for kind in ("stl", "obj", "ply"):
        box.export(meshes / f"box.{kind}")
    text = box.export(file_type="dae").decode()
    (meshes / "box.dae").write_text(text.replace("<up_axis>", '<unit name="mm" meter="0.001"/><up_axis>'))
    box.export(tmp_path / "secret.stl")
    ring = trimesh.creation.torus(1.0, 0.25, major_sections=24, minor_sections=12)
    ring.export(meshes / "ring.stl")
    trimesh.Trimesh(box.vertices, box.faces[:-2], process=False).export(meshes / "open.stl")
    trimesh.Trimesh(box.vertices, box.faces[:, ::-1], process=False).export(meshes / "inside_out.stl")
    square = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    trimesh.Trimesh(square, [[0, 1, 2], [0, 2, 3]], process=False).export(meshes / "flat.stl")
    trimesh.Trimesh(square, [[0, 1, 1]], process=False).export(meshes / "line.stl")
    return tmp_path


def test_every_mesh_format_is_read_in_metres(folder) -> None:
    for kind in ("stl", "obj", "ply", "dae"):
        loaded = load_mesh(f"package://arm/meshes/box.{kind}", folder)
        unit = 0.001 if kind == "dae" else 1.0
        assert loaded.unit == unit and loaded.issues == () and loaded.vertices.shape == (8, 3)
        assert np.allclose(np.ptp(loaded.vertices, axis=0), unit * np.array([1.0, 2.0, 3.0]))
        assert loaded.convex_hull().volume == pytest.approx(6.0 * unit**3)
    trimesh.creation.box((1.0, 3.0, 2.0)).export(folder / "arm" / "box.glb")  # the y axis points up
    loaded = load_mesh("box.glb", folder / "arm")
    assert loaded.issues == () and np.ptp(loaded.vertices, axis=0).tolist() == [1.0, 2.0, 3.0]
    hull = load_mesh(Mesh("meshes/box.stl", (1, -2, 1)), [folder, folder / "arm"], scale=2.0, unit=0.01).convex_hull()
    assert hull.volume == pytest.approx(6.0 * 2.0 * (0.02) ** 3)
    mirrored = load_mesh("package://arm/meshes/box.stl", folder / "arm", scale=(-1, 1, 1))
    assert mirrored.issues == () and "8 vertices" in repr(mirrored)
    absolute = (folder / "arm" / "meshes" / "box.stl").as_posix()
    for name in (absolute, f"file://{absolute}"):
        assert load_mesh(name, str(folder)).file.name == "box.stl"


def test_mesh_files_of_any_encoding_and_unit_are_read(folder) -> None:
    meshes = folder / "arm" / "meshes"
    box = trimesh.creation.box((1.0, 2.0, 3.0))
    text, binary = box.export(file_type="stl_ascii"), box.export(file_type="stl")
    bits = np.frombuffer(binary[84:], np.uint8).reshape(-1, 50)[:, :48].copy().view("<f4")
    assert (bits.view(np.uint8) > 127).any()  # bytes that are not text
    names = {
        "binary.stl": b"solid of a program that writes binary files".ljust(80) + binary[80:],
        "latin.stl": ("solid Gehäuse für Arm\n" + text.partition("\n")[2]).encode("latin-1"),
        "latin.obj": ("# Gehäuse\no Gehäuse\n" + box.export(file_type="obj")).encode("latin-1"),
        "latin.ply": box.export(file_type="ply").replace(b"comment ", b"comment Geh\xe4use ", 1),
        "wide.dae": (meshes / "box.dae").read_text().replace("utf-8", "utf-16").encode("utf-16"),
    }
    for name, data in names.items():
        (meshes / name).write_bytes(data)
        loaded = load_mesh(name, meshes)
        assert loaded.unit == (0.001 if name == "wide.dae" else 1.0), name
        assert loaded.issues == () and loaded.convex_hull().volume == pytest.approx(6.0 * loaded.unit**3), name


def test_defects_of_mesh_surfaces_are_reported(folder) -> None:
    meshes = folder / "arm" / "meshes"
    assert "open" in load_mesh("open.stl", meshes).issues[0]
    assert load_mesh("inside_out.stl", meshes).issues == ("the surface is inside out",)
    assert load_mesh("open.stl", meshes).convex_hull().volume == pytest.approx(6.0)
    with pytest.raises(ValueError, match=r"flat\.stl: .* not in one plane"):
        load_mesh("flat.stl", meshes).convex_hull()


def test_unsafe_and_broken_mesh_files_are_refused(folder) -> None:
    inside = folder / "arm"
    (inside / "meshes" / "text.stl").write_text("solid nothing\nendsolid\n")
    (inside / "meshes" / "bad.ply").write_text("ply\nformat ascii 1.0\nelement vertex x\nend_header\n")
    (inside / "meshes" / "bomb.dae").write_text('<!DOCTYPE a [<!ENTITY b "cc">]><COLLADA>&b;</COLLADA>')
    bomb = '<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE a [<!ENTITY b "cc">]><COLLADA>&b;</COLLADA>'
    (inside / "meshes" / "bomb16.dae").write_bytes(bomb.encode("utf-16"))
    (inside / "meshes" / "deep.dae").write_text("<a>" * 300 + "</a>" * 300)
    (inside / "meshes" / "cut.dae").write_bytes((inside / "meshes" / "box.dae").read_bytes()[:-20])
    for name, before in (("zip.dae", b""), ("hidden.dae", b"<COLLADA/>"), ("zip.obj", b""), ("hidden.stl", b"solid")):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("doc.dae", b"<COLLADA>" + b" " * 10**6 + b"</COLLADA>")
        (inside / "meshes" / name).write_bytes(before + packed.getvalue())
    (inside / "meshes" / "box.step").write_text("")
    (inside / "meshes" / "folder.stl").mkdir()
    whole = (inside / "meshes" / "box.stl").read_bytes()
    (inside / "meshes" / "short.stl").write_bytes(whole[:200])
    (inside / "meshes" / "lie.stl").write_bytes(whole[:80] + b"\xff\xff\xff\x7f" + whole[84:])
    (inside / "meshes" / "empty.obj").write_text("")
    corners = "v nan 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
    (inside / "meshes" / "nan.obj").write_text(corners + "f 1 2 3\nf 1 3 4\nf 1 2 4\nf 2 3 4\n")
    trimesh.creation.icosphere(2).export(inside / "meshes" / "ball.ply")
    bad = {
        r"the path leads out of the folders": lambda: load_mesh("../secret.stl", inside),
        r"package://arm/../../secret.stl'.* out of": lambda: load_mesh("package://arm/../../secret.stl", inside),
        r"the path leads out": lambda: load_mesh(str(folder / "secret.stl"), inside),
        r"expected package://, model://, file:// or a path": lambda: load_mesh("http://a/b.stl", inside),
        r"a mesh of type .stl, .obj, .dae, .ply, .glb, got '.step'": lambda: load_mesh("meshes/box.step", inside),
        r"expected a regular file": lambda: load_mesh("meshes/folder.stl", inside),
        r"too large: the limit is max_bytes=99": lambda: load_mesh("meshes/box.stl", inside, max_bytes=99),
        r"162 vertices exceed the limit": lambda: load_mesh("meshes/ball.ply", inside, max_vertices=100),
        r"line.stl: all triangles are degenerate": lambda: load_mesh("meshes/line.stl", inside),
        r"short.stl: expected 12 triangles, got 2": lambda: load_mesh("meshes/short.stl", inside),
        r"lie.stl: expected 2147483647 triangles, got 12": lambda: load_mesh("meshes/lie.stl", inside),
        r"empty.obj: expected triangles, got none": lambda: load_mesh("meshes/empty.obj", inside),
        r"nan.obj: expected finite coordinates": lambda: load_mesh("meshes/nan.obj", inside),
        r"text.stl: ": lambda: load_mesh("meshes/text.stl", inside),
        r"bad.ply: not a readable PLY file": lambda: load_mesh("meshes/bad.ply", inside),
        r"bomb.dae: DAE files with a DOCTYPE": lambda: load_mesh("meshes/bomb.dae", inside),
        r"bomb16.dae: DAE files with a DOCTYPE": lambda: load_mesh("meshes/bomb16.dae", inside),
        r"deep.dae: .* elements more than 256 deep": lambda: load_mesh("meshes/deep.dae", inside),
        r"cut.dae: not a readable DAE file": lambda: load_mesh("meshes/cut.dae", inside),
        r"zip.dae: expected the type DAE, got a zip archive": lambda: load_mesh("meshes/zip.dae", inside),
        r"hidden.dae: expected the type DAE, got a zip": lambda: load_mesh("meshes/hidden.dae", inside),
        r"zip.obj: expected the type OBJ, got a zip": lambda: load_mesh("meshes/zip.obj", inside),
        r"hidden.stl: expected the type STL, got a zip": lambda: load_mesh("meshes/hidden.stl", inside),
        r"scale: .* non-zero .*, got \(1, 0, 1\)": lambda: load_mesh("a.stl", inside, scale=(1, 0, 1)),
        r"scale: .* got 0": lambda: load_mesh("a.stl", inside, scale=0),
        r"scale: .* got nan": lambda: load_mesh("a.stl", inside, scale=float("nan")),
        r"unit: expected a positive length": lambda: load_mesh("a.stl", inside, unit=0.0),
        r"uri: expected the name of a file, got ' '": lambda: load_mesh(" ", inside),
        r"folders: .* is not a folder": lambda: load_mesh("a.stl", inside / "none"),
        r"folders: expected paths of folders, got 3": lambda: load_mesh("a.stl", 3),  # type: ignore[arg-type]
        r"and folders to search, got 'a.stl' and \[\]": lambda: load_mesh("a.stl", []),
    }
    for message, make in bad.items():
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(FileNotFoundError, match=r"paths searched:\n .*meshes.none.stl\n .*arm.none.stl"):
        load_mesh("none.stl", [inside / "meshes", inside])
    if sys.platform != "win32":
        os.symlink(folder / "secret.stl", inside / "link.stl")
        with pytest.raises(ValueError, match="leads out of the folders"):
            load_mesh("link.stl", inside)
        os.symlink(inside / "meshes" / "box.stl", inside / "here.stl")
        assert len(load_mesh("here.stl", inside).vertices) == 8


URDF = """<robot name="r"><link name="a">
  <collision><geometry><mesh filename="package://arm/meshes/ring.stl" scale="0.1 0.1 0.1"/></geometry></collision>
  <collision><geometry><mesh filename="package://arm/meshes/open.stl"/></geometry></collision>
  <collision><geometry><sphere radius="1"/></geometry></collision>
  <visual><geometry><mesh filename="package://arm/meshes/ring.stl"/></geometry></visual>
</link></robot>"""


@pytest.mark.slow(every=3)
def test_meshes_of_a_robot_can_be_replaced_by_convex_hulls(folder) -> None:
    robot = lw.Robot.from_urdf_string(URDF)
    hulled = robot.with_collision_hulls(folder, max_vertices=24)
    ring, box, ball = hulled.link("a").collisions
    assert isinstance(ring.shape, Polytope) and len(ring.shape.vertices) <= 24 and 0.0 < ring.shape.overestimate < 0.03
    assert box.shape.volume == pytest.approx(6.0) and box.shape.overestimate == 0.0
    assert ball == robot.link("a").collisions[2] and hulled.link("a").visuals == robot.link("a").visuals
    codes = [issue.code for issue in hulled.report.warnings]
    assert codes == ["MESH_HULL", "MESH_OPEN", "MESH_HULL"] and "link[a]" in str(hulled.report.warnings[0].where)
    with pytest.raises(FileNotFoundError, match=r"with_collision_hulls: link 'a': mesh .* was not found"):
        robot.with_collision_hulls(folder / "arm" / "meshes")
    with pytest.raises(ValueError, match=r"folders: the robot is not from a file"):
        robot.with_collision_hulls()
    (folder / "arm" / "package.xml").write_text("")
    (folder / "arm" / "urdf").mkdir()
    (folder / "arm" / "urdf" / "r.urdf").write_text(URDF)  # its package is found around it
    loaded = lw.load(folder / "arm" / "urdf" / "r.urdf").with_collision_hulls(max_vertices=24)
    assert loaded.link("a").collisions == hulled.link("a").collisions


def test_meshes_are_searched_in_the_same_folders_for_hulls_and_pictures(tmp_path) -> None:
    """Meshes beside the folder of a URDF without a package are found."""
    names = {"box.stl": "../meshes/box.stl", "part.obj": "..\\meshes\\part.obj", "none.stl": "../meshes/none.stl"}
    shape = '<collision><geometry><mesh filename="{}"/></geometry></collision>'
    shapes = "".join(shape.format(name) for name in names.values())
    (tmp_path / "urdf").mkdir()
    (tmp_path / "meshes").mkdir()
    trimesh.creation.box((1, 2, 3)).export(tmp_path / "meshes" / "box.stl")
    trimesh.creation.box((3, 2, 1)).export(tmp_path / "meshes" / "part.obj")
    (tmp_path / "meshes" / "none.stl").write_bytes(bytes(84))
    path = tmp_path / "urdf" / "r.urdf"
    path.write_text(f'<robot name="r"><link name="a">{shapes}</link></robot>')
    robot = lw.load(path)
    assert not robot.report.warnings
    hulled = robot.with_collision_hulls()
    assert [shape.shape.volume for shape in hulled.link("a").collisions] == pytest.approx([6.0, 6.0])
    assert [issue.code for issue in hulled.report.warnings] == ["MESH_HULL", "MESH_HULL", "MESH_EMPTY"]
    assert hulled.with_collision_hulls(tmp_path) == hulled and robot.with_collision_hulls(tmp_path / "urdf") == hulled
    search = mesh_search(robot, None)
    assert [Path(search.find(name)) for name in names.values()] == [path.parent / "../meshes" / name for name in names]
    (tmp_path / "meshes" / "box.stl").write_text("version https://git-lfs.github.com/spec/v1\nsize 84\n")
    with pytest.raises(ValueError, match=r"a pointer of Git LFS.*git lfs pull"):
        robot.with_collision_hulls()
    path.write_text("version https://git-lfs.github.com/spec/v1\nsize 84\n")
    with pytest.raises(lw.errors.ModelError, match=r"a pointer of Git LFS.*git lfs pull"):
        lw.load(path)


def test_ring_shaped_mesh_is_decomposed_into_convex_shapes(folder) -> None:
    pytest.importorskip("coacd")
    ring = load_mesh("ring.stl", folder / "arm" / "meshes")
    hulls = ring.convex_decomposition(max_vertices=16, concavity=0.1)
    assert len(hulls) > 3 and max(len(hull.vertices) for hull in hulls) <= 16
    directions = np.random.default_rng(0).normal(size=(20, 3))
    for hull in hulls:  # none of them holds the middle
        _, offsets = hull.planes
        assert (offsets < 0.0).any() and np.isfinite(hull.support(directions)).all()
    with pytest.raises(ValueError, match=r"concavity: expected a number from 0.01 to 1, got 0"):
        ring.convex_decomposition(concavity=0)


def _changed(glb: bytes, change: Any) -> bytes:
    """Return a GLB file whose JSON text is changed in place by a function."""
    (length,) = struct.unpack_from("<I", glb, 12)
    content = json.loads(glb[20 : 20 + length])
    change(content)
    text = json.dumps(content).encode()
    text += b" " * (-len(text) % 4)
    binary = struct.pack("<I", len(text)) + b"JSON" + text + glb[20 + length :]
    return b"glTF" + struct.pack("<II", 2, 12 + len(binary)) + binary


def test_unsafe_glb_files_are_refused(tmp_path) -> None:
    """A reader opens no file other than the GLB, reads only its buffer, and refuses scenes that grow without bound."""
    box = trimesh.creation.box((1.0, 2.0, 3.0)).export(file_type="glb")
    many: dict[str, Any] = {"mesh": 0, "children": []}
    chain = [{"mesh": 0, "children": [k + 1] if k < 299 else []} for k in range(300)]

    def change(path: str, value: Any) -> Any:
        *keys, last = (int(key) if key.isdigit() else key for key in path.split("."))

        def changed(content: Any) -> None:
            for key in keys:
                content = content[key]
            content[last] = value

        return changed

    primitive = "meshes.0.primitives.0"
    cases = {
        "cut off": (box[:-40], "expected .* bytes, got"),
        "other": (b"not a GLB file at all", "expected a GLB file of glTF 2.0"),
        "version": (box[:4] + b"\x01" + box[5:], "expected a GLB file of glTF 2.0"),
        "text": (box[:20] + b"!" + box[21:], "not a readable GLB file"),
        "count": (change("accessors.1.count", 10**12), "data outside of the buffer"),
        "offset": (change("accessors.1.byteOffset", -4), "expected an index or a size, got '-4'"),
        "view": (change("bufferViews.0.byteLength", 10**9), "data outside of the buffer"),
        "sparse": (change("accessors.1.sparse", {}), "data that are sparse or missing"),
        "file": (change("buffers.0.uri", "file:///etc/passwd"), "other files; save it as one GLB file"),
        "draco": (change("extensionsRequired", ["KHR_draco_mesh_compression"]), "KHR_draco_mesh_compression; export"),
        "cycle": (change("nodes.0.children", [0]), "has several parents"),
        "twice": (change("scenes.0.nodes", [0, 0]), "has several parents"),
        "deep": (change("nodes", chain), "nodes more than 256 deep"),
        "nodes": (change("nodes", [many] * 10_001), "10001 nodes, more than 10000"),
        "lists": (change(primitive, []), "not a readable GLB file"),
        "text for index": (change(primitive + ".indices", "0"), "expected an index or a size, got '0'"),
        "triangles": (change("accessors.1.count", 3), "refers to a vertex that does not exist"),
    }
    for data, message in cases.values():
        (tmp_path / "box.glb").write_bytes(_changed(box, data) if callable(data) else data)
        with pytest.raises(ValueError, match=message):
            load_mesh("box.glb", tmp_path)
    (tmp_path / "box.gltf").write_bytes(b"{}")
    with pytest.raises(ValueError, match=r"got '\.gltf'; save it as one GLB file"):
        load_mesh("box.gltf", tmp_path)


def test_limits_of_a_mesh_file_include_the_file_at_the_limit(folder) -> None:
    """The box has 8 corners, which its STL file repeats 36 times, and 684 bytes; small and mirrored ones are sound."""
    meshes = folder / "arm" / "meshes"
    assert len(load_mesh("box.ply", meshes, max_vertices=8).vertices) == 8
    assert len(load_mesh("box.stl", meshes, max_bytes=684, max_vertices=8).vertices) == 8
    (meshes / "box").write_bytes((meshes / "box.stl").read_bytes())
    (meshes / "stub.stl").write_bytes(bytes(83))
    for name, limits, message in (
        ("box.ply", {"max_vertices": 7}, "box.ply: 8 vertices exceed the limit max_vertices=7"),
        ("box.stl", {"max_vertices": 5}, "box.stl: too many vertices: the limit is max_vertices=5"),
        ("box.stl", {"max_bytes": 683}, "box.stl: too large: the limit is max_bytes=683"),
        ("stub.stl", {}, "stub.stl: expected an STL file, got 83 bytes"),
        ("box", {}, "box: expected a mesh of type .stl, .*, got 'no suffix'"),
    ):
        with pytest.raises(ValueError, match=message):
            load_mesh(name, meshes, **limits)
    for scale in (0.3, -0.3, (0.2, 0.3, -0.4), (-0.2, 0.3, -0.4)):  # det < 1: triangles are not reversed in vain
        assert load_mesh("box.ply", meshes, scale=scale).issues == ()
    with pytest.raises(ValueError, match=r"concavity: expected a number from 0.01 to 1, got 1.01"):
        load_mesh("box.ply", meshes).convex_decomposition(concavity=1.01)


def test_edges_of_more_than_two_triangles_are_reported(folder) -> None:
    """Two tetrahedra that share an edge are closed, but four triangles meet there."""
    corners = "v 0.1 0 0\nv 1 0.2 0\nv 0 1.1 0.3\nv 0.2 0 1.3\nv 0 -1.2 0.1\nv 0.3 0.1 -1.4\n"
    faces = "f 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\nf 1 5 2\nf 1 2 6\nf 2 5 6\nf 5 1 6\n"
    (folder / "arm" / "edge.obj").write_text(corners + faces)
    assert load_mesh("edge.obj", folder / "arm").issues == ("2 edges belong to more than two triangles",)


def test_dae_files_that_repeat_their_nodes_too_often_are_refused() -> None:
    """Each node doubles the one before: 2^11 instances are accepted, and 2^14 are not; a cycle counts once."""

    def document(depth: int, inner: str = '<instance_geometry url="#mesh"/>') -> bytes:
        nodes = f'<node id="n0">{inner}</node>' + "".join(
            f'<node id="n{k + 1}"><instance_node url="#n{k}"/><instance_node url="#n{k}"/></node>' for k in range(depth)
        )
        scene = f'<visual_scene id="s"><node><instance_node url="#n{depth}"/></node></visual_scene>'
        return f'<COLLADA><unit meter="0.01"/>{nodes}{scene}<instance_visual_scene url="#s"/></COLLADA>'.encode()

    assert checked_dae(Path("a.dae"), document(8)) == 0.01
    assert checked_dae(Path("a.dae"), document(2, '<instance_node url="#n0"/>')) == 0.01
    with pytest.raises(ValueError, match=r"a.dae: its nodes make more than 10000 instances of each other"):
        checked_dae(Path("a.dae"), document(14))


def test_mesh_file_of_more_than_a_hundred_million_bytes_is_refused(tmp_path):
    with open(tmp_path / "large.stl", "wb") as file:
        file.truncate(100_000_001)  # without bytes on the disk
    with pytest.raises(ValueError, match=r"large.stl: too large: the limit is max_bytes=100000000"):
        load_mesh("large.stl", tmp_path)
