"""SDF links: shapes, materials, inertias that are computed, and models in other files."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

import linkwork as lw
from linkwork._util.file_access import Budget
from linkwork.errors import ModelError, UnknownNameError
from linkwork.formats import parse_sdf, read_sdf
from linkwork.model.description import LinkDescription
from linkwork.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, HalfSpace, Material, Mesh, Sphere
from linkwork.spatial import Inertia, Pose, Rotation, Symmetric3, Vec3
from sdf_texts import INERTIAL, arm, errors, link, model, one, read, sdf, warnings, world

SHAPES = {
    "<box><size>1 2 3</size></box>": Box((1.0, 2.0, 3.0)),
    "<capsule><radius>1</radius><length>2</length></capsule>": Capsule(1.0, 2.0),
    "<cone><radius>1</radius><length>2</length></cone>": Cone(1.0, 2.0),
    "<cylinder><length>2</length><radius>1</radius></cylinder>": Cylinder(1.0, 2.0),
    "<ellipsoid><radii>1 2 3</radii></ellipsoid>": Ellipsoid((1.0, 2.0, 3.0)),
    "<sphere><radius>1</radius></sphere>": Sphere(1.0),
    "<plane><normal>0 0 2</normal><size>1 1</size></plane>": HalfSpace(),
    "<mesh><uri>model://a/b c.stl</uri><scale>1 2 -1</scale></mesh>": Mesh("model://a/b c.stl", (1.0, 2.0, -1.0)),
}


def first(text: str, **options) -> LinkDescription:
    return parse_sdf(text, **options).links[1]


def test_shapes_of_sdf_links_are_read():
    parts = "".join(
        f'<{tag} name="{tag}{i}"><pose>0 0 {i} 0 0 0</pose><geometry>{shape}</geometry></{tag}>'
        for i, shape in enumerate(SHAPES)
        for tag in ("visual", "collision")
    )
    result = first(one(INERTIAL + parts, "1.11"), strict=True)
    for tag, geometries in (("visual", result.visuals), ("collision", result.collisions)):
        assert [geometry.shape for geometry in geometries] == list(SHAPES.values())
        assert [geometry.name for geometry in geometries] == [f"{tag}{i}" for i in range(len(SHAPES))]
        assert [geometry.origin.translation.z for geometry in geometries] == list(range(len(SHAPES)))
    empty = '<visual name="v"><geometry><empty/></geometry></visual>'
    assert first(one(INERTIAL + empty)).visuals == ()


def test_normal_of_an_sdf_plane_rotates_the_half_space():
    for normal in ((1.0, 0.0, 0.0), (0.0, 0.0, -2.0), (1.0, -2.0, 3.0)):
        plane = f"<plane><normal>{' '.join(map(str, normal))}</normal></plane>"
        (result,) = first(one(INERTIAL + f'<collision name="c"><geometry>{plane}</geometry></collision>')).collisions
        length = math.hypot(*normal)
        assert [*(result.origin.rotation @ Vec3(0.0, 0.0, 1.0))] == pytest.approx(
            [x / length for x in normal], abs=1e-15
        )


def test_sdf_materials_and_poses_relative_to_frames_are_read():
    visual = (
        '<visual name="v"><pose relative_to="f">1 0 0 0 0 0</pose><geometry><sphere><radius>1</radius></sphere>'
        "</geometry><material><diffuse>0.1 0.2 0.3 0.4</diffuse><ambient>1 1 1 1</ambient></material></visual>"
    )
    half = repr(math.pi / 2)
    text = sdf(model(link("a", INERTIAL + visual), f'<frame name="f"><pose>0 0 1 0 0 {half}</pose></frame>'))
    (result,) = first(text).visuals
    assert result.material == Material("", (0.1, 0.2, 0.3, 0.4))
    assert [*result.origin.translation] == pytest.approx([0.0, 1.0, 1.0], abs=1e-15)
    assert first(text.replace("0.1 0.2 0.3 0.4", "0.1 0.2 0.3")).visuals[0].material == Material(
        "", (0.1, 0.2, 0.3, 1.0)
    )


def test_friction_coefficients_of_sdf_collisions_are_read():
    collision = (
        '<collision name="c"><geometry><plane/></geometry><surface><friction>{}<torsional/></friction>'
        "<contact/></surface></collision>"
    )
    for inner, mu in (
        ("<ode><mu>0.5</mu></ode>", 0.5),
        ("<ode><mu2>3</mu2></ode><bullet><friction>0.25</friction></bullet>", 0.25),
        ("<ode/>", None),
    ):
        assert first(one(INERTIAL + collision.format(inner))).collisions[0].friction == mu
    two = one(INERTIAL + collision.format("<ode><mu>1</mu><mu2>2</mu2></ode>"))
    assert [issue.code for issue in warnings(two)] == ["IGNORED", "IGNORED", "UNSUPPORTED"]
    assert errors(one(INERTIAL + collision.format("<ode><mu>-1</mu></ode>")))[0].code == "NEGATIVE"


def test_automatic_inertia_of_sdf_links_is_computed_from_shapes_and_densities():
    """A box of its own density and a sphere of the link's: the sum of both, and the same scaled to a mass."""

    def text(mass: str, version: str = "1.11") -> str:
        box = "<box><size>1 2 3</size></box></geometry><density>10</density>"
        parts = (
            f'<collision name="a"><pose>0 0 1 0 0 0.5</pose><geometry>{box}</collision>'
            '<collision name="b"><geometry><sphere><radius>0.5</radius></sphere></geometry></collision>'
        )
        return one(f'<inertial auto="true">{mass}<density>20</density></inertial>{parts}', version)

    turned = Pose(Rotation.from_rpy(0.0, 0.0, 0.5), Vec3(0.0, 0.0, 1.0))
    ball = 20.0 * math.pi / 6.0
    moment = 0.4 * 0.25 * ball
    expected = turned @ Inertia(60.0, Vec3.zero(), Symmetric3.diagonal(65.0, 50.0, 25.0))
    expected = expected + Inertia(ball, Vec3.zero(), Symmetric3.diagonal(moment, moment, moment))
    for mass, factor in (("", 1.0), ("<mass>7</mass>", 7.0 / (60.0 + ball))):
        result = first(text(mass), strict=True).inertia
        assert result.mass == pytest.approx(factor * expected.mass, rel=1e-15)
        assert [*result.moment] == pytest.approx([factor * x for x in expected.moment], rel=1e-14)
        assert result.about.elements() == pytest.approx([factor * x for x in expected.about.elements()], rel=1e-14)
    assert [issue.code for issue in warnings(text("", "1.9"))] == ["VERSION"] * 3
    mesh = '<inertial auto="1"/><collision name="c"><geometry><mesh><uri>a.stl</uri></mesh></geometry></collision>'
    assert [issue.code for issue in warnings(one(mesh, "1.11"))] == ["UNSUPPORTED"]
    bad = text("<mass>-1</mass>")
    assert errors(bad)[0].code == "MASS_NEGATIVE"
    assert errors(text("").replace(">10<", ">0<"))[0].code == "NEGATIVE"


# -- files


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_sdf", ".sdf").replace("_config", ".config")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def include(uri: str, more: str = "", version: str = "1.9") -> str:
    return sdf(model(f"<include><uri>{uri}</uri>{more}</include>", name="outer"), version=version)


HAND = sdf(model(link("palm"), name="hand"))


def test_included_sdf_models_are_resolved(tmp_path: Path):
    write(tmp_path, robot__main_sdf=include("hand.sdf"), robot__hand_sdf=HAND, models__hand__model_sdf=HAND)
    assert [frame.name for frame in lw.load(tmp_path / "robot" / "main.sdf").tree.frames] == ["world", "hand::palm"]
    uri = include("model://hand", "<name>left</name>")
    write(tmp_path, robot__main_sdf=uri)
    main = tmp_path / "robot" / "main.sdf"
    for folders in ([tmp_path / "models"], {"hand": tmp_path / "models" / "hand"}, tmp_path / "models"):
        loaded = lw.load(main, package_dirs=folders)
        assert [frame.name for frame in loaded.tree.frames] == ["world", "left::palm"]
    assert (
        parse_sdf(uri, package_dirs=[tmp_path / "models"]).links[1:] == read_sdf(main, package_dirs=folders).links[1:]
    )
    config = '<model><sdf version="1.4">old.sdf</sdf><sdf version="1.10">new.sdf</sdf><sdf>none.sdf</sdf></model>'
    write(tmp_path, models__hand__model_config=config, models__hand__new_sdf=HAND.replace("palm", "new"))
    assert lw.load(main, package_dirs=folders).tree.frames[1].name == "left::new"
    with pytest.raises(UnknownNameError, match="load: model"):
        lw.load(main, package_dirs=folders, model="inner")


def test_sdf_includes_outside_of_the_folders_or_in_a_cycle_are_refused(tmp_path: Path):
    (tmp_path / "secret.sdf").write_text(HAND)
    home = write(
        tmp_path / "home",
        hand_sdf=HAND,
        light_sdf=sdf('<light name="l"/>'),
        two_sdf=HAND.replace("</sdf>", "<model name='x'/></sdf>"),
    )
    os.symlink(tmp_path / "secret.sdf", home / "link.sdf")
    (home / "robot.urdf").write_text('<robot name="r"/>')
    (home / "empty").mkdir()
    (home / "escape").mkdir()
    (home / "escape" / "model.config").write_text("<model><sdf version='1.4'>../../secret.sdf</sdf></model>")
    (home / "none").mkdir()
    (home / "none" / "model.config").write_text("<model/>")
    bad = {
        "../secret.sdf": "PATH_ESCAPE",
        "link.sdf": "PATH_ESCAPE",
        "file://%2e%2e/secret.sdf": "PATH_ESCAPE",
        "model://../secret.sdf": "PATH_ESCAPE",
        str(tmp_path / "secret.sdf"): "PATH_ESCAPE",
        "model://escape": "PATH_ESCAPE",
        "http://a/b.sdf": "URI_SCHEME",
        "model://hnad": "PACKAGE_UNKNOWN",
        "missing.sdf": "FILE_MISSING",
        "empty": "FILE_MISSING",
        "none": "ELEMENT_MISSING",
        "light.sdf": "NO_LINKS",
        "two.sdf": "DUPLICATE_ELEMENT",
        "robot.urdf": "WRONG_FORMAT",
        "main.sdf": "CYCLE",
    }
    for uri, code in bad.items():
        (home / "main.sdf").write_text(include(uri))
        with pytest.raises(ModelError, match=code) as caught:
            read_sdf(home / "main.sdf")
        assert caught.value.code == code, (uri, str(caught.value))
        assert "secret" in uri or "palm" not in str(caught.value)
    os.mkfifo(home / "pipe.sdf")
    (home / "main.sdf").write_text(include("pipe.sdf"))
    with pytest.raises(ModelError, match="NOT_A_FILE"):
        read_sdf(home / "main.sdf")


def test_sdf_files_that_include_each_other_many_times_stay_within_the_budget(tmp_path: Path):
    """Each of 20 files includes the next one twice: a million models."""
    for i in range(20):
        inner = f"<include><uri>f{i + 1}.sdf</uri></include><include><name>b</name><uri>f{i + 1}.sdf</uri></include>"
        (tmp_path / f"f{i}.sdf").write_text(sdf(model(inner if i < 19 else link("a"), name="a")))
    with pytest.raises(ModelError, match="more than 500 elements in all included files") as caught:
        read_sdf(tmp_path / "f0.sdf", budget=Budget(max_elements=500))
    assert caught.value.code == "TOO_LARGE"
    for i in range(70):
        inner = f"<include><uri>g{i + 1}.sdf</uri></include>" if i < 69 else link("a")
        (tmp_path / f"g{i}.sdf").write_text(sdf(model(inner, name="a")))
    with pytest.raises(ModelError, match="more than the limit of 64 files nested") as caught:
        read_sdf(tmp_path / "g0.sdf")
    assert caught.value.code == "TOO_LARGE"


def test_meshes_of_included_sdf_models_are_named_relative_to_the_main_file(tmp_path: Path):
    mesh = '<collision name="c"><geometry><mesh><uri>{}</uri></mesh></geometry></collision>'
    hand = sdf(
        model(link("palm", INERTIAL + mesh.format("meshes/a.stl") + mesh.format("model://hand/b.stl")), name="hand")
    )
    write(tmp_path, home__main_sdf=include("parts/hand.sdf"), home__parts__hand_sdf=hand, models__hand__model_sdf=hand)
    result = read_sdf(tmp_path / "home" / "main.sdf").links[1].collisions
    assert [geometry.shape.uri for geometry in result] == ["parts/meshes/a.stl", "model://hand/b.stl"]  # type: ignore[attr-defined]
    write(tmp_path, home__main_sdf=include("model://hand"))
    result = read_sdf(tmp_path / "home" / "main.sdf", package_dirs=[tmp_path / "models"]).links[1].collisions
    assert result[0].shape.uri == (tmp_path / "models/hand/meshes/a.stl").as_posix()  # type: ignore[attr-defined]
    mesh_name = first(one(INERTIAL + mesh.format("meshes/a.stl"))).collisions
    assert mesh_name[0].shape.uri == "meshes/a.stl"  # type: ignore[attr-defined]


def test_sdf_include_outside_of_a_model_and_a_world_is_not_followed():
    text = sdf(model(link("a")), "<include><uri>model://a</uri></include>")
    (issue,) = warnings(text)
    assert issue.code == "UNKNOWN_TAG" and len(read(text).frames) == 2


def test_missing_sdf_light_models_are_reported_without_an_error():
    text = world(model(link("a")), "<include><uri>model://sun</uri></include>")
    (note,) = warnings(text)
    assert note.code == "IGNORED" and read(text, strict=True).nv == 6


def test_sdf_files_are_recognised_by_suffix_and_root_element(tmp_path: Path):
    for name in ("a.sdf", "a.world", "a.xml", "a"):
        (tmp_path / name).write_text(arm())
        assert lw.load(tmp_path / name).nv == 1
    (tmp_path / "a.urdf").write_text(arm())
    with pytest.raises(ModelError, match="WRONG_FORMAT"):
        lw.load(tmp_path / "a.urdf")


def test_sdf_shapes_without_geometry_are_left_out():
    for tag in ("visual", "collision"):
        text = f'<sdf version="1.11"><model name="m"><link name="a"><{tag} name="s"/></link></model></sdf>'
        with pytest.raises(ModelError, match="needs a <geometry>"):
            parse_sdf(text, strict=True)
        description = parse_sdf(text)
        assert [issue.code for issue in description.warnings if issue.code != "INERTIA_DEFAULT"] == ["ELEMENT_MISSING"]
        assert not any(link.visuals or link.collisions for link in description.links)
