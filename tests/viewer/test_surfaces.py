"""Surfaces of shapes: closed, outward, as large as the shapes and within them; files of meshes and textures."""

import io
import json
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

import linkwork as lw
from linkwork import shapes
from linkwork._util import own_code
from linkwork._util.file_search import FileSearch
from linkwork.viewer import mesh_surfaces as files
from linkwork.viewer import solid_and_field_surfaces
from linkwork.viewer.surfaces import PLACEHOLDER_COLOR, SurfaceSet, shape_surface
from linkwork.viewer.triangles import arrow_poses, decimated, smooth_surface

RNG = np.random.default_rng(0)
CONVEX = [
    shapes.Box((1.0, 2.0, 3.0)),
    shapes.Sphere(0.5),
    shapes.Ellipsoid((0.1, 0.2, 0.3)),
    shapes.Cylinder(0.3, 1.0),
    shapes.Cone(0.3, 1.0),
    shapes.Capsule(0.2, 0.5),
    shapes.Capsule(0.2, 0.0),
    shapes.Polytope(RNG.normal(size=(60, 3))),
    shapes.Rounded(shapes.Box((1.0, 1.0, 0.2)), 0.1),
    shapes.Rounded(shapes.Cylinder(0.4, 0.3), 0.05),
]


def volume(surface):
    a, b, c = np.moveaxis(surface.vertices.astype(float)[surface.triangles], 1, 0)
    return float((a * np.cross(b, c)).sum() / 6.0)


def is_closed(surface):
    """Return True if each edge belongs to two triangles, in opposite directions."""
    position = np.unique(np.round(surface.vertices.astype(float), 6), axis=0, return_inverse=True)[1].reshape(-1)
    triangles = position[surface.triangles]
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]).tolist()
    return sorted(map(tuple, edges)) == sorted((b, a) for a, b in edges)


def require_normals(surface):
    a, b, c = np.moveaxis(surface.vertices.astype(float)[surface.triangles], 1, 0)
    outward = np.cross(b - a, c - a)
    assert ((surface.normals[surface.triangles] * outward[:, None]).sum(axis=-1) >= -1e-9).all()
    assert np.linalg.norm(surface.normals, axis=1) == pytest.approx(1.0, abs=1e-5)


def test_drawn_surfaces_of_convex_shapes_are_closed_and_of_equal_size():
    directions = RNG.normal(size=(40, 3))
    for shape in CONVEX:
        surface = shape_surface(shape)
        assert surface is shape_surface(shape), "computed once"
        assert is_closed(surface), shape
        require_normals(surface)
        assert surface.triangles.max() < len(surface.vertices) < 3000
        # polyhedra with vertices on the surface: a little smaller than the shape, never outside of it
        assert 0.98 * shape.volume <= volume(surface) <= (1.0 + 1e-6) * shape.volume, shape
        farthest = (shape.support(directions) * directions).sum(axis=1)
        assert (directions @ surface.vertices.T.astype(float)).max(axis=1) == pytest.approx(
            farthest, rel=0.03, abs=1e-2
        )
        assert ((directions @ surface.vertices.T.astype(float)).max(axis=1) <= farthest + 1e-6).all()


@pytest.mark.slow(every=5)
def test_drawn_surfaces_of_fields_have_the_size_of_the_field():
    grid = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, 20)] * 3, indexing="ij"), axis=-1)
    ball = shape_surface(shapes.DistanceField(np.linalg.norm(grid, axis=-1) - 0.7, 2.0 / 19.0))
    assert is_closed(ball) and volume(ball) == pytest.approx(4.0 / 3.0 * np.pi * 0.7**3, rel=0.02)
    assert np.linalg.norm(ball.vertices, axis=1) == pytest.approx(0.7, abs=1e-2)
    require_normals(ball)
    assert shape_surface(shapes.DistanceField(np.ones((3, 3, 3)), 0.1)) is None

    heights = RNG.normal(size=(6, 9))
    terrain = shape_surface(shapes.HeightField(heights, 0.5))
    assert len(terrain.triangles) == 2 * 5 * 8 and (terrain.normals[:, 2] > 0.0).all()
    assert set(np.round(terrain.vertices[:, 2], 6)) == set(np.round(heights.ravel().astype(np.float32), 6))
    large = shape_surface(shapes.HeightField(np.zeros((400, 300)), 0.01))
    assert len(large.vertices) <= 250 * 250 and np.ptp(large.vertices, axis=0) == pytest.approx([3.99, 2.99, 0.0])


def test_drawn_surfaces_of_compounds_half_spaces_and_clouds_have_the_shapes_size():
    surfaces = SurfaceSet()
    arm = shapes.Compound([shapes.Sphere(0.1).at((0, 0, -0.3)), shapes.Sphere(0.1).at((0, 0, 0.3))])
    two = surfaces.of_shape(arm, FileSearch(()))
    assert [sphere.pose[2, 3] for sphere in two] == [-0.3, 0.3] and len(surfaces.surfaces) == 1
    plate = shape_surface(shapes.HalfSpace())
    assert plate.vertices[:, 2].max() == 0.0 and is_closed(plate)
    cloud = shape_surface(shapes.PointCloud(RNG.normal(size=(10, 3)), 0.02))
    assert is_closed(cloud) and volume(cloud) == pytest.approx(10 * 4.0 / 3.0 * 0.02**3, rel=1e-3)


def test_drawn_surfaces_have_sharp_creases_and_large_meshes_are_simplified():
    corners = np.array(CONVEX[0].support(RNG.choice([-1.0, 1.0], size=(50, 3))))
    box = shapes.Polytope(corners)
    assert len(smooth_surface(np.array(box.vertices), np.array(box.triangles)).vertices) == 24
    ball = shape_surface(CONVEX[1])
    points, triangles, source = decimated(ball.vertices.astype(float), ball.triangles, 300)
    assert 100 < len(triangles) <= 300 and len(points) == len(source)
    assert volume(smooth_surface(points, triangles)) == pytest.approx(CONVEX[1].volume, rel=0.15)
    triangles = np.array([[0, 1, 1], [0, 1, 2]])
    assert len(smooth_surface(np.eye(3), triangles).triangles) == 1, "without triangles that have no area"


# -- files

OBJ = """mtllib box.mtl
v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0
vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1
usemtl wall
f 1/1 2/2 3/3
f 1/1 3/3 4/4
"""


def png(width=2, height=2, declared=None):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\xff\x00\x00" * width for _ in range(height))
    w, h = declared or (width, height)
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0))
    text = chunk(b"tEXt", b"note\0<script>alert(1)</script>")
    return b"\x89PNG\r\n\x1a\n" + head + text + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def loaded(folder, texture, data):
    (folder / "box.obj").write_text(OBJ)
    (folder / "box.mtl").write_text(f"newmtl wall\nKd 0.2 0.4 0.6\nmap_Kd {texture}\n")
    if data is not None:
        (folder / texture).write_bytes(data)
    return files.mesh_surfaces(shapes.Mesh("box.obj", (2.0, 1.0, 1.0)), FileSearch((str(folder),)))


def test_textures_of_mesh_files_are_decoded_and_encoded_again(tmp_path):
    result = loaded(tmp_path, "red.png", png())
    ((surface, color),) = result.surfaces
    assert result.notes == () and np.ptp(surface.vertices, axis=0).tolist() == [2.0, 1.0, 0.0]
    assert surface.texture.startswith(b"\xff\xd8") and b"script" not in surface.texture
    assert surface.uv.min() == 0.0 and surface.uv.max() == 1.0
    assert color == pytest.approx((0.2, 0.4, 0.6, 1.0), abs=0.01)
    assert files.mesh_surfaces(shapes.Mesh("box.obj", (2.0, 1.0, 1.0)), FileSearch((str(tmp_path),))) is result


HOSTILE = {
    "drawing.svg": b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
    "svg.png": b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
    "bomb.png": png(declared=(60_000, 60_000)),
    "lying.png": png(declared=(300, 300)),
    "cut.png": png()[:40],
    "cut.jpg": b"\xff\xd8\xff\xe0\x00\x10JFIF",
    "image.gif": b"GIF89a\x01\x00\x01\x00",
    "missing.png": None,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_unsafe_texture_files_are_left_out(tmp_path, name):
    result = loaded(tmp_path, name, HOSTILE[name])
    ((surface, color),) = result.surfaces
    assert surface.texture is None and color == pytest.approx((0.2, 0.4, 0.6, 1.0), abs=0.01)
    assert len(result.notes) == 1


def test_meshes_may_name_as_many_files_as_the_limit_states(tmp_path, monkeypatch):
    """The mesh names a file of materials and a texture."""
    monkeypatch.setattr(own_code, "_replaced", {})
    for limit, notes in ((2, 0), (1, 1)):
        monkeypatch.setattr(files, "_MAX_FILES", limit)
        folder = tmp_path / str(limit)
        folder.mkdir()
        result = loaded(folder, "red.png", png())
        assert (result.surfaces[0][0].texture is None) == bool(notes) and len(result.notes) == notes
    assert "it refers to more than 1 material and texture files" in result.notes[0]


def test_textures_outside_of_the_allowed_folders_are_left_out(tmp_path):
    (tmp_path / "secret.png").write_bytes(png())
    inside = tmp_path / "robot"
    inside.mkdir()
    result = loaded(inside, "../secret.png", None)
    assert result.surfaces[0][0].texture is None and "out of the folders" in result.notes[0]


def stl(triangles):
    data = np.zeros(len(triangles), dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
    data["corners"] = triangles
    return bytes(80) + struct.pack("<I", len(triangles)) + data.tobytes()


@pytest.mark.slow(every=3)
def test_large_meshes_are_simplified_and_broken_mesh_files_replaced_in_pictures(tmp_path):
    search, surfaces = FileSearch((str(tmp_path),)), SurfaceSet()
    side = 200
    x, y = np.meshgrid(np.arange(side), np.arange(side), indexing="ij")
    a = np.stack([x, y, 0 * x], axis=-1).reshape(-1, 1, 3).astype(float)
    cells = np.array([[[0, 0, 0], [1, 0, 0], [1, 1, 0]], [[0, 0, 0], [1, 1, 0], [0, 1, 0]]])
    triangles = (a[:, None] + cells).reshape(-1, 3, 3)
    (tmp_path / "plate.stl").write_bytes(stl(triangles))
    (plate,) = surfaces.of_shape(shapes.Mesh("plate.stl"), search)
    surface = surfaces.surfaces[plate.index]
    assert files.MAX_TRIANGLES / 4 < len(surface.triangles) <= files.MAX_TRIANGLES
    assert np.ptp(surface.vertices, axis=0) == pytest.approx([side, side, 0.0], rel=0.02)
    assert surfaces.notes == [f"plate.stl: drawn with about {files.MAX_TRIANGLES} of {2 * side * side} triangles"]

    with open(tmp_path / "huge.stl", "wb") as file:
        file.truncate(100_000_100)  # a hole, without blocks on the disk
    (tmp_path / "cut.stl").write_bytes(stl(triangles)[:-60])
    (tmp_path / "words.obj").write_text("v 1 2\nnothing")
    (tmp_path / "scene.gltf").write_text("{}")
    names = ["huge.stl", "cut.stl", "words.obj", "scene.gltf", "none.dae", "http://example.com/a.stl", "../../a.stl"]
    for name in names:
        (plate,) = surfaces.of_shape(shapes.Mesh(name), search)
        assert plate.color == PLACEHOLDER_COLOR and plate.missing == name.rpartition("/")[2]
    assert {*surfaces.missing} == {name.rpartition("/")[2] for name in names} and len(surfaces.notes) == len(names) + 1
    assert len(surfaces.surfaces) == 2, "one placeholder for all"


def test_colors_of_mesh_files_are_read_for_pictures(tmp_path):
    ply = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
    ply += "property uchar red\nproperty uchar green\nproperty uchar blue\nelement face 1\n"
    ply += "property list uchar int vertex_indices\nend_header\n0 0 0 255 0 0\n1 0 0 0 255 0\n0 1 0 0 0 255\n3 0 1 2\n"
    (tmp_path / "a.ply").write_text(ply)
    ((surface, color),) = files.mesh_surfaces(shapes.Mesh("a.ply"), FileSearch((str(tmp_path),))).surfaces
    assert color is None and set(map(tuple, surface.colors.tolist())) == {
        (255, 0, 0, 255),
        (0, 255, 0, 255),
        (0, 0, 255, 255),
    }


COLLADA = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="meter" meter="1"/><up_axis>Z_UP</up_axis></asset>
<library_materials><material id="m"><instance_effect url="#missing"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="a" count="9">0 0 0 2 0 0 0 3 0</float_array><technique_common>
<accessor source="#a" count="3" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles material="m" count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node id="n"><translate>0 0 5</translate><instance_geometry url="#g">
<bind_material><technique_common><instance_material symbol="m" target="#m"/></technique_common></bind_material>
</instance_geometry></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def test_collada_mesh_with_a_missing_material_is_drawn(tmp_path):
    """It is drawn without the material, at its position, with a note."""
    (tmp_path / "foot.dae").write_text(COLLADA)
    result = files.mesh_surfaces(shapes.Mesh("foot.dae"), FileSearch((str(tmp_path),)))
    ((surface, _),) = result.surfaces
    assert surface.vertices.max(axis=0) == pytest.approx([2.0, 3.0, 5.0]) and len(surface.triangles) == 1
    assert result.notes == ("foot.dae: drawn without its materials, which refer to missing elements",)


def test_texture_images_written_by_other_programs_are_read(tmp_path):
    image = pytest.importorskip("PIL.Image")
    data = io.BytesIO()
    image.new("RGBA", (2000, 30), (10, 200, 30, 128)).save(data, "PNG")
    ((surface, _),) = loaded(tmp_path, "wide.png", data.getvalue()).surfaces
    drawn = image.open(io.BytesIO(surface.texture))
    assert drawn.format == "PNG" and drawn.size[0] == 1024
    assert drawn.getpixel((0, 0)) == pytest.approx((10, 200, 30, 128), abs=2)


def glb(image):
    """Return a GLB file of a textured square, with an image, which need not be one."""
    trimesh = pytest.importorskip("trimesh")
    points = [[0, 0, 0], [2, 0, 0], [2, 1, 0], [0, 1, 0]]
    visual = trimesh.visual.TextureVisuals(uv=np.array(points)[:, :2], image=Image.open(io.BytesIO(png())))
    visual.material = visual.material.to_pbr()
    visual.material.baseColorFactor = (50, 100, 150, 255)
    data = trimesh.Trimesh(points, [[0, 1, 2], [0, 2, 3]], visual=visual, process=False).export(file_type="glb")
    (length,) = struct.unpack_from("<I", data, 12)
    content, buffer = json.loads(data[20 : 20 + length]), data[28 + length :]
    view = content["bufferViews"][content["images"][0]["bufferView"]]
    view |= {"byteOffset": len(buffer), "byteLength": len(image)}
    buffer += image + bytes(-len(image) % 4)
    content["buffers"][0]["byteLength"] = len(buffer)
    text = json.dumps(content).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I", len(text)) + b"JSON" + text + struct.pack("<I", len(buffer)) + b"BIN\0" + buffer
    return b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks


def test_textures_inside_of_gltf_files_are_read(tmp_path):
    (tmp_path / "square.glb").write_bytes(glb(png()))
    result = files.mesh_surfaces(shapes.Mesh("square.glb"), FileSearch((str(tmp_path),)))
    ((surface, color),) = result.surfaces
    assert result.notes == () and surface.texture.startswith(b"\xff\xd8") and b"script" not in surface.texture
    assert np.ptp(surface.vertices, axis=0).tolist() == [2.0, 0.0, 1.0]  # the y axis points up in glTF
    assert color == pytest.approx([(x / 255) ** (1 / 2.2) for x in (50, 100, 150)] + [1.0], abs=0.01)
    for k, (name, data) in enumerate((name, data) for name, data in HOSTILE.items() if data is not None):
        (tmp_path / f"{k}.glb").write_bytes(glb(data))
        result = files.mesh_surfaces(shapes.Mesh(f"{k}.glb"), FileSearch((str(tmp_path),)))
        ((surface, color),) = result.surfaces
        assert surface.texture is None and len(surface.triangles) == 2, name
        assert len(result.notes) == 1 and "image 0" in result.notes[0], name


def test_gltf_files_written_by_linkwork_are_read_as_equal_meshes(tmp_path):
    """A GLB file of this library has the colours and the positions of the robot's shapes."""
    robot = lw.load("double_pendulum")
    document = lw.viewer.scene_document(robot)
    lw.viewer.write_glb(document, tmp_path / "robot.glb")
    again = files.mesh_surfaces(shapes.Mesh("robot.glb"), FileSearch((str(tmp_path),)))
    ((surface, _),) = again.surfaces
    colors = np.unique(surface.colors[:, :3], axis=0) / 255.0
    parts = [part for part in document.actors[0].parts if part.layer == "visual"]
    for part in parts:
        assert np.abs(colors - part.color[:3]).max(axis=1).min() < 0.03, part.link
    poses = document.actors[0].poses[0, 0]
    corners = []
    for part in parts:
        X = (poses[part.body] if part.body >= 0 else np.eye(4)) @ part.placement
        corners.append(document.surfaces[part.surface].vertices @ X[:3, :3].T + X[:3, 3])
    for bound in (np.min, np.max):
        np.testing.assert_allclose(bound(surface.vertices, axis=0), bound(np.concatenate(corners), axis=0), atol=1e-5)


@pytest.mark.light
def test_drawn_points_of_a_cloud_are_all_or_every_kth_in_order(monkeypatch):
    points = RNG.normal(size=(11, 3))
    cloud = shapes.PointCloud(points, 0.02)
    assert np.array_equal(solid_and_field_surfaces.cloud_points(cloud), cloud.points)
    monkeypatch.setattr(solid_and_field_surfaces, "MAX_POINTS", 4)
    monkeypatch.setattr(own_code, "_replaced", {})
    assert np.array_equal(solid_and_field_surfaces.cloud_points(cloud), np.asarray(cloud.points)[::3])


@pytest.mark.light
@pytest.mark.parametrize("radius", [0.004, 0.3])
def test_arrows_scale_with_their_vectors_and_radius_and_end_at_their_tips(radius):
    """Long arrows have heads of six radii, short ones of 0.35 lengths."""
    starts, vectors = RNG.normal(size=(2, 5, 3))
    (poses, shaft), (heads, head) = arrow_poses(starts, vectors, radius)
    lengths = np.linalg.norm(vectors, axis=-1)
    np.testing.assert_allclose(head[:, 2], np.minimum(0.35 * lengths, 6.0 * radius), rtol=1e-12)
    np.testing.assert_allclose(heads[:, :3, 3] + heads[:, :3, 2] * head[:, 2:], starts + vectors, rtol=0, atol=1e-12)
    np.testing.assert_allclose(poses[:, :3, 3] + poses[:, :3, 2] * shaft[:, 2:], heads[:, :3, 3], rtol=0, atol=1e-12)
    for (X, size), (Y, scaled) in zip(
        ((poses, shaft), (heads, head)), arrow_poses(3.0 * starts, 3.0 * vectors, 3.0 * radius), strict=True
    ):
        np.testing.assert_allclose(scaled, 3.0 * size, rtol=1e-12)
        np.testing.assert_allclose(Y[:, :3, 3], 3.0 * X[:, :3, 3], rtol=0, atol=1e-12)
