"""Files written by hand that crash, swell, hang or lead other readers out of their folder: small texts, made anew.

Each entry of `FILES` writes one case into a folder and returns the path that is read: a robot's file, a mesh or a map.
Every case is an error, or a robot, within the limits of `linkwork.formats.Budget`.  The folder ``outside`` beside the
case has files that no case may open.
"""

from __future__ import annotations

import itertools
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

__all__ = ["FILES", "escapes", "outside_files", "png", "stage_of_two_bodies"]

Write = Callable[[Path], Path]
FILES: dict[str, Write] = {}
_BODY = '<body name="b"><joint/><geom size="0.1"/></body>'
_TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"


def _case(write: Write) -> Write:
    FILES[write.__name__] = write
    return write


def _mjcf(folder: Path, inner: str, body: str = _BODY, name: str = "model.xml") -> Path:
    return _text(folder / name, f"<mujoco>{inner}<worldbody>{body}</worldbody></mujoco>")


def _text(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def png(width: int, height: int) -> bytes:
    """Return a PNG picture of one colour, of few bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    packer = zlib.compressobj(9)
    line = b"\0" + b"\x80" * (3 * width)
    data = b"".join([*(packer.compress(line) for _ in range(height)), packer.flush()])
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


# -- MJCF


@_case
def texture_of_few_bytes(folder: Path) -> Path:
    return _mjcf(folder, '<asset><texture name="t" type="cube" builtin="flat" width="16384" height="16384"/></asset>')


@_case
def four_textures(folder: Path) -> Path:
    texture = '<texture name="t{}" type="2d" builtin="flat" width="16384" height="16384"/>'
    return _mjcf(folder, f"<asset>{''.join(texture.format(k) for k in range(4))}</asset>")


@_case
def texture_of_defaults(folder: Path) -> Path:
    textures = "".join(f'<texture name="t{k}" type="skybox" builtin="gradient" width="8000"/>' for k in range(10))
    return _mjcf(folder, f"<asset>{textures}</asset>")


@_case
def picture_of_many_pixels(folder: Path) -> Path:
    (folder / "a.png").write_bytes(png(8000, 8000))
    textures = "".join(f'<texture name="t{k}" type="2d" file="a.png"/>' for k in range(12))
    return _mjcf(folder, f"<asset>{textures}</asset>")


@_case
def height_fields(folder: Path) -> Path:
    field = '<hfield name="h{}" nrow="5000" ncol="5000" size="1 1 1 1"/>'
    return _mjcf(folder, f"<asset>{''.join(field.format(k) for k in range(20))}</asset>")


@_case
def height_field_of_a_file(folder: Path) -> Path:
    (folder / "h.bin").write_bytes(struct.pack("<ii", 30_000, 30_000) + b"\0" * 40)
    return _mjcf(folder, '<asset><hfield name="h" file="h.bin" size="1 1 1 1"/></asset>')


@_case
def numerics(folder: Path) -> Path:
    numeric = '<numeric name="n{}" size="1000000"/>'
    return _mjcf(folder, f"<custom>{''.join(numeric.format(k) for k in range(300))}</custom>")


@_case
def meshes_of_formulas(folder: Path) -> Path:
    kinds = ("supersphere", "supertorus", "sphere", "cone")
    mesh = '<mesh name="m{}" builtin="{}" params="3000 1 1 1"/>'
    return _mjcf(folder, f"<asset>{''.join(mesh.format(k, kind) for k, kind in enumerate(kinds))}</asset>")


@_case
def sphere_of_subdivisions(folder: Path) -> Path:
    return _mjcf(folder, '<asset><mesh name="m" builtin="sphere" params="12"/></asset>')


@_case
def grid_of_flex(folder: Path) -> Path:
    return _mjcf(
        folder, "", f'{_BODY}<flexcomp name="f" type="grid" count="140 140 1" spacing=".1 .1 .1" dim="2" mass="1"/>'
    )


@_case
def composite_cable(folder: Path) -> Path:
    geom = '<joint kind="main"/><geom type="capsule" size=".005"/>'
    cable = f'<composite type="cable" curve="s" count="19999 1 1" size="1">{geom}</composite>'
    return _mjcf(folder, "", _BODY + cable)


@_case
def replicated(folder: Path) -> Path:
    return _mjcf(folder, "", f'<replicate count="19999" offset="1 0 0">{_BODY}</replicate>')


@_case
def replicated_many(folder: Path) -> Path:
    inner = "<body><joint/>" + '<geom size="0.1"/>' * 100 + "</body>"
    return _mjcf(folder, "", f'<replicate count="4900" offset="1 0 0">{inner}</replicate>')


@_case
def attached_twice(folder: Path) -> Path:
    for k in range(13):
        parts = "".join(
            f'<frame><attach model="next" body="b" prefix="{side}{k}_"/></frame>' for side in ("left", "right")
        )
        _text(
            folder / f"m{k}.xml",
            f'<mujoco model="m{k}"><asset><model name="next" file="m{k + 1}.xml"/></asset>'
            f'<worldbody><body name="b"><joint/><geom size="0.1"/>{parts}</body></worldbody></mujoco>',
        )
    _mjcf(folder, "", name="m13.xml")
    return folder / "m0.xml"


@_case
def keyframes_of_a_size(folder: Path) -> Path:
    return _mjcf(
        folder,
        '<size nkey="2000000"/>',
        _BODY * 1 + "".join(f'<body name="c{k}"><joint/><geom size=".1"/></body>' for k in range(200)),
    )


@_case
def histories_of_sensors(folder: Path) -> Path:
    sensor = '<jointpos name="s{}" joint="j" nsample="16000000" interp="linear" delay="1"/>'
    sensors = "".join(sensor.format(k) for k in range(20))
    return _mjcf(folder, f"<sensor>{sensors}</sensor>", _BODY.replace("<joint/>", '<joint name="j"/>'))


@_case
def sensor_of_a_size(folder: Path) -> Path:
    return _mjcf(folder, '<sensor><user name="u" dim="500000000" needstage="pos"/></sensor>')


@_case
def user_data(folder: Path) -> Path:
    bodies = "".join(f'<body name="c{k}"><joint/><geom size=".1"/></body>' for k in range(2000))
    sizes = " ".join(f'nuser_{x}="10000"' for x in ("body", "jnt", "geom"))
    return _mjcf(folder, f"<size {sizes}/>", bodies)


@_case
def memory_of_a_size(folder: Path) -> Path:
    return _mjcf(folder, '<size memory="200G"/>')


@_case
def many_bodies(folder: Path) -> Path:
    return _mjcf(folder, "", "".join(f'<body name="c{k}"><joint/><geom size=".1"/></body>' for k in range(20_000)))


@_case
def many_geoms_without_bodies(folder: Path) -> Path:
    return _mjcf(folder, "", _BODY + '<geom size=".1"/>' * 100_000)


@_case
def many_words_of_a_class(folder: Path) -> Path:
    classes = "".join(f'<default class="c{k}"><geom size=".1"/></default>' for k in range(30_000))
    return _mjcf(folder, f"<default>{classes}</default>")


# -- USD


def _usd(folder: Path, head: str = "", content: str = "", name: str = "stage.usda") -> Path:
    body = (
        'def Xform "b" (\n prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]\n)\n'
        "{\n float physics:mass = 1\n float3 physics:diagonalInertia = (1, 1, 1)\n}\n"
    )
    return _text(folder / name, f'#usda 1.0\n(\n metersPerUnit = 1\n upAxis = "Z"\n{head}\n)\n{body}{content}')


def stage_of_two_bodies(folder: Path) -> Path:
    """Write a stage of two bodies with a joint, shapes, and a relationship, and return its path."""
    joint = (
        'def PhysicsRevoluteJoint "j"\n{\n rel physics:body0 = </b>\n rel physics:body1 = </c>\n'
        ' uniform token physics:axis = "X"\n float physics:lowerLimit = -90\n float physics:upperLimit = 90\n}\n'
    )
    shape = 'def Cube "s" (\n prepend apiSchemas = ["PhysicsCollisionAPI"]\n)\n{\n double size = 0.5\n}\n'
    second = (
        'def Xform "c" (\n prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]\n)\n{\n'
        " float physics:mass = 2\n float3 physics:diagonalInertia = (1, 2, 2)\n"
        ' double3 xformOp:translate = (1, 2, 3)\n uniform token[] xformOpOrder = ["xformOp:translate"]\n'
        f"{shape}}}\n"
    )
    return _usd(folder, content=second + joint, name="good.usda")


@_case
def path_expression(folder: Path) -> Path:
    expression = "(" * 100_000 + "//a" + ")" * 100_000
    return _usd(folder, content=f'def "e"\n{{\n pathExpression e = "{expression}"\n}}\n')


@_case
def variable_expression(folder: Path) -> Path:
    expression = "`" + "not(" * 30_000 + "true" + ")" * 30_000 + "`"
    return _usd(folder, head=f' expressionVariables = {{\n string V = "{expression}"\n }}', content=_VARIANT)


_VARIANT = """def "v" (
 variants = {
 string s = "`${V}`"
 }
 prepend variantSets = "s"
)
{
 variantSet "s" = {
 "a" {
 }
 }
}
"""


def _doubled() -> str:
    """Return variables that double each other."""
    variables = "".join(f" string V{k} = \"`'${{V{k + 1}}}${{V{k + 1}}}'`\"\n" for k in range(34))
    return f' expressionVariables = {{\n{variables} string V34 = "a"\n }}'


@_case
def variables_that_double(folder: Path) -> Path:
    return _usd(folder, head=f"{_doubled()}\n subLayers = [@`${{V0}}`@]")


@_case
def variables_in_a_variant(folder: Path) -> Path:
    return _usd(folder, head=_doubled(), content=_VARIANT.replace("V", "V0", 1))


def _long_path(folder: Path, count: int) -> Path:
    return _usd(folder, content=f'def "e"\n{{\n rel r = <{"/a" * count}>\n}}\n')


@_case
def path_of_30_000_names(folder: Path) -> Path:
    return _long_path(folder, 30_000)


@_case
def path_of_100_000_names(folder: Path) -> Path:
    return _long_path(folder, 100_000)


@_case
def path_of_targets(folder: Path) -> Path:
    return _usd(folder, content=f'def "e"\n{{\n rel r = </a.b{"[/a.b" * 400}{"]" * 400}>\n}}\n')


@_case
def relative_path(folder: Path) -> Path:
    return _usd(folder, content=f'def "e"\n{{\n rel r = <{"../" * 50_000}a>\n}}\n')


@_case
def path_of_a_string(folder: Path) -> Path:
    return _usd(folder, content=f'def "e"\n{{\n pathExpression e = "{"/a" * 100_000}"\n}}\n')


# -- meshes


def _glb(path: Path, content: dict[str, object], data: bytes) -> Path:
    data += b"\0" * (-len(data) % 4)
    text = json.dumps({"asset": {"version": "2.0"}, "buffers": [{"byteLength": len(data)}], **content}).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I", len(text)) + b"JSON" + text + struct.pack("<I", len(data)) + b"BIN\0" + data
    path.write_bytes(b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks)
    return path


@_case
def glb_materials_of_one_picture(folder: Path) -> Path:
    picture, points = png(4096, 4096), struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0)
    count = 30
    primitive = {"attributes": {"POSITION": 0, "TEXCOORD_0": 1}}
    content = {
        "bufferViews": [{"buffer": 0, "byteLength": 36}, {"buffer": 0, "byteOffset": 36, "byteLength": len(picture)}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC2"},
        ],
        "images": [{"bufferView": 1, "mimeType": "image/png"}],
        "textures": [{"source": 0}],
        "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}] * count,
        "meshes": [{"primitives": [{**primitive, "material": k} for k in range(count)]}],
        "nodes": [{"mesh": 0}],
        "scenes": [{"nodes": [0]}],
        "scene": 0,
    }
    return _glb(folder / "m.glb", content, points + picture)


@_case
def glb_meshes_of_one_buffer(folder: Path) -> Path:
    count = 100_000
    content = {
        "bufferViews": [{"buffer": 0, "byteLength": 12 * count}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": count, "type": "VEC3"}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}] * 1500,
        "nodes": [{"mesh": 0}],
        "scenes": [{"nodes": [0]}],
        "scene": 0,
    }
    return _glb(folder / "m.glb", content, b"\0" * (12 * count))


@_case
def obj_of_materials(folder: Path) -> Path:
    parts = "".join(f"usemtl m{k}\nf 1 2 3\n" for k in range(40_000))
    return _text(folder / "m.obj", f"{_TRIANGLE}{parts}")


@_case
def obj_of_named_materials(folder: Path) -> Path:
    _text(folder / "m.mtl", "".join(f"newmtl m{k}\nKd 1 0 0\n" for k in range(30_000)))
    parts = "".join(f"usemtl m{k}\nf 1 2 3\n" for k in range(30_000))
    return _text(folder / "m.obj", f"mtllib m.mtl\n{_TRIANGLE}{parts}")


@_case
def obj_of_groups(folder: Path) -> Path:
    return _text(folder / "m.obj", _TRIANGLE + "".join(f"o g{k}\nf 1 2 3\n" for k in range(40_000)))


@_case
def ply_of_counts(folder: Path) -> Path:
    head = "ply\nformat binary_little_endian 1.0\nelement vertex 1000000000\nproperty float x\nproperty float y\n"
    return _text(
        folder / "m.ply", f"{head}property float z\nelement face 1\nproperty list uchar int vertex_index\nend_header\n"
    )


@_case
def ply_of_a_list(folder: Path) -> Path:
    head = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
    face = "element face 1\nproperty list int int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n2000000000 0 1 2\n"
    return _text(folder / "m.ply", head + face)


@_case
def dae_of_instances(folder: Path) -> Path:
    nodes = '<node id="n0"><instance_geometry url="#g"/></node>' + "".join(
        f'<node id="n{k}"><instance_node url="#n{k - 1}"/><instance_node url="#n{k - 1}"/></node>' for k in range(1, 25)
    )
    return _text(
        folder / "m.dae",
        '<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset/>'
        '<library_geometries><geometry id="g"><mesh><source id="p"><float_array id="a" count="9">0 0 0 1 0 0 0 1 0'
        '</float_array><technique_common><accessor source="#a" count="3" stride="3"><param name="X" type="float"/>'
        '<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>'
        '<vertices id="v"><input semantic="POSITION" source="#p"/></vertices><triangles count="1">'
        '<input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles></mesh></geometry>'
        f"</library_geometries><library_nodes>{nodes}</library_nodes><library_visual_scenes>"
        '<visual_scene id="s"><node><instance_node url="#n24"/></node></visual_scene></library_visual_scenes>'
        '<scene><instance_visual_scene url="#s"/></scene></COLLADA>',
    )


@_case
def dae_of_one_instance_twice(folder: Path) -> Path:
    return _text(
        folder / "m.dae",
        dae_of_instances(folder).read_text(encoding="utf-8").replace("instance_node", "instance_node ", 1),
    )


# -- maps


def _zarr(folder: Path, array: dict[str, object], group: dict[str, object] | None = None) -> Path:
    store = folder / "m.zarr"
    head = {"zarr_format": 3, "node_type": "group", "attributes": {"format": "linkwork workspace map 1"}}
    _text(store / "zarr.json", json.dumps(head if group is None else group))
    plain = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [4, 3],
        "data_type": "int32",
        "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 3]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    }
    _text(store / "cells/zarr.json", json.dumps(plain | array))
    return store


@_case
def map_of_large_chunks(folder: Path) -> Path:
    grid = {"name": "regular", "configuration": {"chunk_shape": [2**28, 3]}}
    store = _zarr(folder, {"chunk_grid": grid})
    (store / "cells/c/0").mkdir(parents=True)
    (store / "cells/c/0/0").write_bytes(b"\0" * 147_000)
    return store


@_case
def map_of_objects(folder: Path) -> Path:
    """A map of Zarr's format 2, whose chunk NumPy's codec would unpickle."""
    import pickle

    class Danger:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (folder.absolute() / "code_ran",))

    store = folder / "m.zarr"
    _text(store / ".zgroup", '{"zarr_format": 2}')
    _text(store / ".zattrs", '{"format": "linkwork workspace map 1"}')
    filters = [{"id": "vlen-bytes"}, {"id": "pickle"}]
    array = {"zarr_format": 2, "shape": [1, 3], "chunks": [1, 3], "dtype": "|O", "compressor": None, "fill_value": 0}
    _text(store / "cells/.zarray", json.dumps({**array, "order": "C", "filters": filters}))
    (store / "cells/0.0").write_bytes(pickle.dumps([Danger()]))
    return store


@_case
def map_of_another_codec(folder: Path) -> Path:
    codecs = [{"name": "bytes"}, {"name": "numcodecs.pickle", "configuration": {}}]
    return _zarr(folder, {"codecs": codecs})


@_case
def map_of_deep_text(folder: Path) -> Path:
    store = _zarr(folder, {})
    (store / "zarr.json").write_text("[" * 200_000, encoding="utf-8")
    return store


# -- files outside of the folder


def outside_files(folder: Path) -> list[Path]:
    """Write files beside a case's folder, which no reader may open, and return their paths."""
    outside = folder / "outside"
    outside.mkdir(parents=True, exist_ok=True)
    stl = b"\0" * 80 + struct.pack("<I", 4)
    corners = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
    for face in ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)):
        stl += struct.pack("<3f", 0, 0, 0) + b"".join(struct.pack("<3f", *corners[k]) for k in face) + b"\0\0"
    for name in ("x.stl", "x.obj", "x.msh", "x.skn", "x.bin"):
        (outside / name).write_bytes(stl)
    (outside / "x.png").write_bytes(png(4, 4))
    _mjcf(outside, "", name="x.xml")
    _text(outside / "x.txt", (outside / "x.xml").read_text(encoding="utf-8"))
    _text(outside / "x.urdf", '<robot name="o"><link name="o"/></robot>')
    _text(outside / "x.sdf", '<sdf version="1.9"><model name="o"><link name="o"/></model></sdf>')
    _text(outside / "model.config", '<model><sdf version="1.9">x.sdf</sdf></model>')
    _usd(outside, name="x.usda")
    _text(outside / "x.mtl", "newmtl a\nmap_Kd x.png\n")
    _text(outside / "x.yaml", "version: 1\n")
    return sorted(outside.iterdir())


_SPELLINGS = (
    *("../outside/{}", "..\\outside\\{}", "{folder}/outside/{}", "../inside/../outside/{}", "./../outside/{}"),
    *("..\\/outside/{}", "link/{}", "file://{folder}/outside/{}", "..//outside//{}", "package://../outside/{}"),
)


def escapes(folder: Path) -> Iterator[tuple[str, Path]]:
    """Write files that name a file of `outside_files`, one after the other, and yield what each does and its path.

    ``folder`` is that of the case, beside which is the folder ``outside``.
    """
    inside = folder / "inside"
    inside.mkdir(parents=True, exist_ok=True)
    if not (inside / "link").exists():
        (inside / "link").symlink_to(folder / "outside", target_is_directory=True)
    for number, (kind, spelling) in enumerate(itertools.product(_ESCAPES, _SPELLINGS)):
        text = spelling.replace("{folder}", str(folder.absolute()))
        path = _ESCAPES[kind](inside / str(number), partial(_named, _within(text)))
        yield f"{kind}: {spelling}", path


def _named(spelling: str, name: str) -> str:
    return spelling.format(name)


def _within(spelling: str) -> str:
    """Return a spelling as seen from a folder one level below."""
    return (
        spelling.replace("../", "../../", 1)
        if spelling.startswith(("../", "./.."))
        else spelling.replace("..\\", "..\\..\\", 1).replace("link/", "../link/")
    )


Name = Callable[[str], str]


def _attached(folder: Path, text: str, extra: str = "", name: str = "a.urdf") -> Path:
    _text(folder / name, text)
    return _mjcf(
        folder,
        f'<asset><model name="m" file="{name}"{extra}/></asset>',
        f'{_BODY}<frame><attach model="m" body="a" prefix="p"/></frame>',
    )


def _urdf_mesh(file: str, more: str = "") -> str:
    mass = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    mesh = f'<collision><geometry><mesh filename="{file}"/></geometry></collision>'
    links = f'<link name="w"/><link name="a">{mass}{mesh}</link>'
    joint = '<joint name="j" type="continuous"><parent link="w"/><child link="a"/><axis xyz="0 0 1"/></joint>'
    return f'<robot name="u">{more}{links}{joint}</robot>'


_ESCAPES: dict[str, Callable[[Path, Name], Path]] = {
    "mjcf mesh": lambda f, n: _mjcf(f, f'<asset><mesh name="m" file="{n("x.stl")}"/></asset>'),
    "mjcf mesh, type": lambda f, n: _mjcf(
        f, f'<asset><mesh name="m" content_type="model/stl" file="{n("x.bin")}"/></asset>'
    ),
    "mjcf texture": lambda f, n: _mjcf(f, f'<asset><texture name="t" type="2d" file="{n("x.png")}"/></asset>'),
    "mjcf cube": lambda f, n: _mjcf(f, f'<asset><texture name="t" type="cube" fileright="{n("x.png")}"/></asset>'),
    "mjcf height field": lambda f, n: _mjcf(f, f'<asset><hfield name="h" file="{n("x.png")}" size="1 1 1 1"/></asset>'),
    "mjcf skin": lambda f, n: _mjcf(f, f'<asset><skin name="s" file="{n("x.skn")}"/></asset>'),
    "mjcf skin, deformable": lambda f, n: _mjcf(f, f'<deformable><skin name="s" file="{n("x.skn")}"/></deformable>'),
    "mjcf flexcomp": lambda f, n: _mjcf(
        f, "", f'{_BODY}<flexcomp name="f" type="mesh" dim="2" file="{n("x.obj")}" mass="1"/>'
    ),
    "mjcf include": lambda f, n: _mjcf(f, f'<include file="{n("x.xml")}"/>'),
    "mjcf model": lambda f, n: _mjcf(
        f,
        f'<asset><model name="m" file="{n("x.xml")}"/></asset>',
        f'{_BODY}<frame><attach model="m" body="b" prefix="p"/></frame>',
    ),
    "mjcf model, type": lambda f, n: _mjcf(
        f,
        f'<asset><model name="m" file="{n("x.txt")}" content_type="text/xml"/></asset>',
        f'{_BODY}<frame><attach model="m" body="b" prefix="p"/></frame>',
    ),
    "mjcf model, urdf": lambda f, n: _mjcf(
        f,
        f'<asset><model name="m" file="{n("x.urdf")}"/></asset>',
        f'{_BODY}<frame><attach model="m" body="o" prefix="p"/></frame>',
    ),
    "mjcf meshdir": lambda f, n: _mjcf(
        f, f'<compiler meshdir="{n("x")[:-2]}"/><asset><mesh name="m" file="x.stl"/></asset>'
    ),
    "mjcf texturedir": lambda f, n: _mjcf(
        f, f'<compiler texturedir="{n("x")[:-2]}"/><asset><texture name="t" type="2d" file="x.png"/></asset>'
    ),
    "mjcf assetdir": lambda f, n: _mjcf(
        f, f'<compiler assetdir="{n("x")[:-2]}"/><asset><hfield name="h" file="x.png" size="1 1 1 1"/></asset>'
    ),
    "mjcf attached urdf": lambda f, n: _attached(f, _urdf_mesh(n("x.stl"))),
    "mjcf attached urdf with a compiler": lambda f, n: _attached(
        f, _urdf_mesh(n("x.stl"), '<mujoco><compiler strippath="false"/></mujoco>')
    ),
    "mjcf attached urdf with meshdir": lambda f, n: _attached(
        f, _urdf_mesh("x.stl", f'<mujoco><compiler meshdir="{n("x")[:-2]}"/></mujoco>')
    ),
    "mjcf attached text with a type": lambda f, n: _attached(
        f,
        f'<mujoco><asset><mesh name="m" file="{n("x.stl")}"/></asset><worldbody>'
        '<body name="a"><geom type="mesh" mesh="m"/></body></worldbody></mujoco>',
        ' content_type="text/xml"',
        "a.txt",
    ),
    "mjcf attached urdf with a type": lambda f, n: _attached(
        f,
        _urdf_mesh(n("x.stl"), '<mujoco><compiler strippath="false"/></mujoco>'),
        ' content_type="text/urdf"',
        "b.txt",
    ),
    "sdf include": lambda f, n: _text(
        f / "a.sdf", f'<sdf version="1.9"><world name="w"><include><uri>{n("x.sdf")}</uri></include></world></sdf>'
    ),
    "usd sublayer": lambda f, n: _usd(f, head=f" subLayers = [@{n('x.usda')}@]"),
    "usd reference": lambda f, n: _usd(f, content=f'def "r" (\n references = @{n("x.usda")}@</b>\n)\n{{\n}}\n'),
    "usd payload": lambda f, n: _usd(f, content=f'def "r" (\n payload = @{n("x.usda")}@</b>\n)\n{{\n}}\n'),
    "usd clips": lambda f, n: _usd(
        f,
        content='def "r" (\n clips = {\n dictionary d = {\n asset[] assetPaths = [@'
        + n("x.usda")
        + '@]\n string primPath = "/b"\n double2[] active = [(0, 0)]\n double2[] times = [(0, 0)]\n }\n }\n)\n{\n}\n',
    ),
    "obj material": lambda f, n: _text(f / "m.obj", f"mtllib {n('x.mtl')}\n{_TRIANGLE}usemtl a\nf 1 2 3\n"),
    "mtl picture": lambda f, n: (
        _text(f / "m.mtl", f"newmtl a\nmap_Kd {n('x.png')}\n"),
        _text(f / "m.obj", f"mtllib m.mtl\n{_TRIANGLE}vt 0 0\nusemtl a\nf 1/1 2/1 3/1\n"),
    )[1],
}
