"""Values in USD stages on both sides of each limit."""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork._util import own_code
from linkwork._util.file_access import Budget
from linkwork.errors import Location, ModelError, ModelWarning
from linkwork.formats.usd import collision_filters, usd_layers
from linkwork.formats.usd.crate_layers import _written_anew
from linkwork.formats.usd.stage_size import check_expressions, check_nesting, check_size, is_deep
from usd_texts import at, body, collider, joint, load, prim, stage, written

Sdf = pytest.importorskip("pxr.Sdf", reason="needs usd-core")


def issues(folder: Path, text: str, **options: Any) -> list[str]:
    """Return the codes of a stage's errors in capitals, or of its warnings in small letters."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            robot = load(folder, text, **options)
    except ModelError as error:
        return [issue.code for issue in error.issues]
    return [issue.code.lower() for issue in robot.report.warnings if issue.code != "IGNORED"]


def matrix(last: str) -> str:
    rows = f"((1, 0, 0, {last}), (0, 1, 0, 0), (0, 0, 1, 0), (0.1, 0.2, 0.3, 1))"
    return f'matrix4d xformOp:transform = {rows}\nuniform token[] xformOpOrder = ["xformOp:transform"]'


def turned(w: str, x: str, kind: str = "quatd") -> str:
    order = 'uniform token[] xformOpOrder = ["xformOp:orient"]'
    return f"{kind} xformOp:orient = ({w}, {x}, 0, 0)\n{order}"


def scaled(x: float, y: float, z: float) -> str:
    return f'double3 xformOp:scale = ({x!r}, {y!r}, {z!r})\nuniform token[] xformOpOrder = ["xformOp:scale"]'


EIGHTH = turned("0.9238795325112867", "0.3826834323650898")  # of a turn about x
CUBE = "double size = 0.5"


def above(stretch: float) -> str:
    """Return a body that is turned below a scale along z."""
    return stage(prim("Xform", "above", scaled(1.0, 1.0, 1.0 + stretch), body("a", EIGHTH)))


def inside(stretch: float) -> str:
    """Return a shape that is turned below a scale along z in its body."""
    shape = prim("Xform", "t", EIGHTH, collider("Cube", "s", CUBE))
    return stage(body("a", "", prim("Xform", "above", scaled(1.0, 1.0, 1.0 + stretch), shape)))


def displaced(off: float) -> str:
    """Return two bodies whose joint cannot hold them where they are."""
    hinge = 'uniform token physics:axis = "Y";point3f physics:localPos0 = (0, 0, 1)'
    anchor = joint("Fixed", "anchor", "", "a")
    return stage(body("a"), body("b", at(off, 0, 1)), anchor, joint("Prismatic", "j", "a", "b", hinge))


LIMITS = {
    "farthest body": (stage(body("a", at(-1e20, 0.1, 0.2))), []),
    "body too far": (stage(body("a", at(-1.000001e20, 0.1, 0.2))), ["MAGNITUDE"]),
    "farthest shape": (
        stage(body("a", "", collider("Cube", "s", CUBE + "\n" + at(-1e20, 0.1, 0.2)))),
        ["magnitude"] * 3,
    ),
    "shape too far": (
        stage(body("a", "", collider("Cube", "s", CUBE + "\n" + at(-1.1e20, 0.1, 0.2)))),
        ["MAGNITUDE"] * 2,
    ),
    "last column within rounding": (stage(body("a", matrix("5e-13"))), []),
    "last column beyond rounding": (stage(body("a", matrix("5e-12"))), ["ROTATION"]),
    "quaternion of single precision": (stage(body("a", turned("1.000009", "0"))), []),
    "quaternion of four digits": (stage(body("a", turned("1.00002", "0"))), ["quat_norm"]),
    "quaternion almost of length 1": (stage(body("a", turned("1.0009", "0"))), ["quat_norm"]),
    "quaternion off by more than 1e-3": (stage(body("a", turned("1.002", "0"))), ["QUAT_NORM"]),
    "hardly sheared body": (above(7e-6), []),
    "sheared body": (above(5e-5), ["SHEAR"]),
    "hardly sheared shape": (inside(7e-6), []),
    "sheared shape": (inside(5e-5), ["shear"] * 2),
    "round within rounding": (stage(body("a", "", collider("Sphere", "s", scaled(1.0, 1.0, 1.0 + 8e-7)))), []),
    "not round": (stage(body("a", "", collider("Capsule", "s", scaled(1.0, 1.0 + 5e-6, 1.0)))), ["unsupported"] * 2),
    "near its joint": (displaced(5e-4), []),
    "away from its joint": (displaced(5e-3), ["pose_apart"]),
    "an axis that is not vertical": (stage(body("a"), up="X"), ["DATA_TYPE"]),
    "drive of a ball": (
        stage(
            body("a"),
            body("b"),
            joint("Fixed", "w", "", "a"),
            joint("Spherical", "j", "a", "b", "float drive:rotX:physics:stiffness = 3", "PhysicsDriveAPI:rotX"),
        ),
        ["unsupported"],
    ),
    "joint of three bodies": (
        stage(
            body("a"),
            body("b"),
            prim("PhysicsRevoluteJoint", "j", "rel physics:body0 = [</r/a>, </r/b>]\nrel physics:body1 = </r/b>"),
        ),
        ["DUPLICATE_ELEMENT"],
    ),
}


@pytest.mark.light
@pytest.mark.parametrize("name", LIMITS)
def test_usd_stages_with_values_near_limits_have_the_expected_issues(tmp_path: Path, name: str) -> None:
    text, codes = LIMITS[name]
    assert issues(tmp_path, text) == codes


def test_transforms_of_usd_prims_are_composed_up_to_a_reset(tmp_path: Path) -> None:
    """A reset leaves out the transforms of the body and of all prims above it.

    Operations on a prim of a type without transforms have no effect.
    """
    reset = at(0.1, 0.2, 0.3).replace('["', '["!resetXformStack!", "')
    robot = load(
        tmp_path,
        stage(
            body(
                "a",
                at(1, 2, 4),
                prim("Scope", "s", at(7, 8, 9), collider("Cube", "inner", CUBE + "\n" + at(0.5, 0.25, 0.125))),
                collider("Cube", "reset", CUBE + "\n" + reset),
            )
        ),
    )
    offsets = {shape.name: [*shape.origin.translation] for shape in robot.tree.frame("a").collisions}
    assert offsets["inner"] == pytest.approx([0.5, 0.25, 0.125], abs=1e-15)
    assert offsets["reset"] == pytest.approx([-0.9, -1.8, -3.7], abs=1e-15)


def test_scales_and_turns_of_usd_prims_are_exact_within_single_precision(tmp_path: Path) -> None:
    """Scales within 1e-9 of 1 are 1, and elements of a rotation within 2e-7 of 0 and ±1 are these."""
    for by, expected in ((5e-10, 0.5), (5e-9, 0.5 * (1.0 + 5e-9))):
        robot = load(tmp_path, stage(body("a", scaled(1.0 + by, 1.0 + by, 1.0 + by), collider("Cube", "s", CUBE))))
        assert robot.tree.frame("a").collisions[0].shape.size[0] == pytest.approx(expected, rel=1e-15)
    for half, expected in ((5e-8, 0.0), (5e-7, 1e-6)):
        robot = load(tmp_path, stage(body("a", turned("1", repr(half)))), floating_base=False)
        R = robot.tree.frame("a").placement.rotation
        assert R.z.y == pytest.approx(expected, rel=1e-9) and (R.z.y == 0.0) is (expected == 0.0)


def test_nesting_of_usd_text_is_limited_to_512_levels() -> None:
    where = Location("a.usda")
    for count, deep in ((512, False), (513, True)):
        assert is_deep("/a" * count) is is_deep("(" * count + ")" * count) is deep
        for text in (
            "#usda 1.0\n" + 'def "a" {\n' * count + "}\n" * count,
            f"#usda 1.0\nrel x = <{'/a' * count}>\n",
        ):
            if deep:
                with pytest.raises(ModelError, match=r"nested more than 512 levels deep \[DATA_DEPTH\]"):
                    check_nesting(text, where)
            else:
                check_nesting(text, where)
    check_nesting("#usda 1.0\n# " + "({[" * 600 + "\n", where)


def test_expressions_of_usd_variables_are_limited() -> None:
    where = Location("a.usda")

    def check(variables: dict[str, Any], selection: str = "v") -> None:
        spec = SimpleNamespace(HasInfo=lambda key: True, variantSelections={"look": selection})
        layer = SimpleNamespace(HasExpressionVariables=lambda: bool(variables), expressionVariables=variables)
        check_expressions({"/": spec, "/r": spec}, layer, where)

    check({"A": "x" * 256, "B": 3}, "y" * 4096)
    for variables, selection, code in (
        ({"A": "`${B}`"}, "v", "UNSUPPORTED"),
        ({"A": "x" * 257}, "v", "UNSUPPORTED"),
        ({}, "y" * 4097, "DATA_DEPTH"),
        ({}, "(" * 513, "DATA_DEPTH"),
    ):
        with pytest.raises(ModelError, match=rf"\[{code}\]"):
            check(variables, selection)


def test_prims_of_a_stage_are_limited_in_number_and_depth() -> None:
    def layer_of(path: str) -> Any:
        layer = Sdf.Layer.CreateAnonymous("a.usda")
        Sdf.CreatePrimInLayer(layer, path)
        return layer

    def check(layer: Any, **limits: int) -> None:
        check_size({layer.identifier: layer}, layer, Location("a.usda"), Budget(**limits))

    check(layer_of("/a" * 512))
    with pytest.raises(ModelError, match=r"prims are nested more than 512 levels deep \[DATA_DEPTH\]"):
        check(layer_of("/a" * 513))
    check(layer_of("/a/b/c"), max_prims=4)  # and the root
    with pytest.raises(ModelError, match=r"more prims than the limit of 3 \[TOO_LARGE\]"):
        check(layer_of("/a/b/c"), max_prims=3)


def test_binary_usd_layers_are_rewritten_or_refused_with_a_reason(tmp_path: Path) -> None:
    source, target = str(tmp_path / "a.usdc"), str(tmp_path / "b.usdc")
    for depth, expected in ((512, None), (513, "prims or names of a path are nested more than 512 levels deep")):
        layer = Sdf.Layer.CreateNew(source)
        Sdf.CreatePrimInLayer(layer, "/a" * depth)
        layer.Save()
        del layer
        assert _written_anew(source, target) == expected
        Path(source).unlink()
    assert Sdf.Layer.OpenAsAnonymous(target).GetPrimAtPath("/a/a") is not None
    Path(source).write_bytes(b"PXR-USDC" + bytes(100))
    assert _written_anew(source, target)


def referring(asset: str) -> str:
    return stage(prim("Xform", "part", extra=f"references = @{asset}@"))


def packed(path: Path, *names: str) -> Path:
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as file:
        warnings.simplefilter("ignore", UserWarning)  # of two members of one name
        for name in names:
            file.writestr(name, stage(body("a")))
    return path


def test_files_of_a_usd_stage_are_limited_and_named_without_options(tmp_path: Path, monkeypatch) -> None:
    written(tmp_path, stage(body("a")), "part.usda")
    path = written(tmp_path, referring("./part.usda"))
    assert lw.load(path, budget=Budget(max_files=2)).nv == 6
    with pytest.raises(ModelError, match=r"more layers than the limit of 1 \[TOO_LARGE\]"):
        lw.load(path, budget=Budget(max_files=1))
    for reference, text in (
        ("./part.usda:SDF_FORMAT_ARGS:a=b", "is not a path"),
        ("`${NAME}`", "is an expression of variables"),
    ):
        with pytest.raises(ModelError, match=rf"{text} \[UNSUPPORTED\]"):
            lw.load(written(tmp_path, referring(reference), "bad.usda"))
    values = f'#usda 1.0\ndef Xform "a"\n{{\nint[] a = [{"1, " * 30}1]\n}}\n'
    for limit, code in ((120, "NO_LINKS"), (119, "TOO_LARGE")):
        with pytest.raises(ModelError, match=code):
            lw.load(written(tmp_path, values, "values.usda"), budget=Budget(max_numbers=limit))
    monkeypatch.setattr(own_code, "_replaced", {})
    monkeypatch.setattr(usd_layers, "_MAX_MEMBERS", 3)
    members = ("a.usda", "b.usda", "c.png", "d.png")
    assert lw.load(packed(tmp_path / "a.usdz", *members[:3])).nv == 6
    for names, text in (
        (members, r"more members than the limit of 3 \[TOO_LARGE\]"),
        (("a.usda", "b.usda", "b.usda"), r"the archive has two members 'b.usda' \[DATA_SYNTAX\]"),
        ((), r"the archive has no USD layer \[DATA_SYNTAX\]"),
    ):
        with pytest.raises(ModelError, match=text):
            lw.load(packed(tmp_path / "bad.usdz", *names))


def test_usd_reader_uses_the_gravity_of_the_first_of_several_scenes(tmp_path: Path) -> None:
    def scene(name: str, size: float) -> str:
        return prim("PhysicsScene", name, f"float physics:gravityMagnitude = {size}")

    for scenes, noted in ((scene("s", 3.5), False), (scene("s", 3.5) + scene("t", 7.0), True)):
        robot = load(tmp_path, stage(body("a"), scene=scenes))
        assert np.linalg.norm([*robot.gravity]) == pytest.approx(3.5)
        texts = [issue.message for issue in robot.report.warnings]
        assert any("of 2 physics scenes, the gravity of the first is used" in text for text in texts) is noted


def test_floating_base_of_a_usd_stage_needs_one_fixed_joint(tmp_path: Path) -> None:
    welds = [joint("Fixed", f"w{name}", "", name) for name in "ab"]
    assert (
        issues(tmp_path, stage(body("a"), body("b"), *welds[:1], joint("Fixed", "j", "a", "b")), floating_base=True)
        == []
    )
    assert issues(tmp_path, stage(body("a"), body("b"), *welds), floating_base=True) == ["FLOATING_BASE"]


def test_empty_usd_prims_in_a_body_are_frames_unless_a_scale_mirrors_flattens_or_shears_them(tmp_path: Path) -> None:
    tip = prim("Xform", "tip", at(0.1, 0.2, 0.4, orient="(0.9238795, 0, 0.3826834, 0)"))  # an eighth turn about y
    for scale, position in (
        ((1.0, 1.0, 1.0), (0.1, 0.2, 0.4)),
        ((2.0, 2.0, 2.0), (0.2, 0.4, 0.8)),
        ((1.0, 3.0, 1.0), (0.1, 0.6, 0.4)),
        ((1.0, 1.0, 1.0 + 7e-6), (0.1, 0.2, 0.4)),
        ((1.0, 1.0, 1.0 + 5e-5), None),
        ((1.0, 1.0, -1.0), None),
        ((1.0, 0.0, 1.0), None),
    ):
        robot = load(tmp_path, stage(body("a", "", prim("Xform", "tool", scaled(*scale), tip))))
        assert robot.frames == (("world", "a") if position is None else ("world", "a", "tip")), scale
        if position is not None:
            offset = [*robot.tree.frame("tip").placement.translation]
            assert offset == pytest.approx(position, rel=1e-5)


def test_usd_transforms_without_a_value_have_no_effect(tmp_path: Path) -> None:
    empty = 'double3 xformOp:translate\nuniform token[] xformOpOrder = ["xformOp:translate"]'
    robot = load(tmp_path, stage(body("a", empty)), floating_base=False)
    assert robot.tree.frame("a").placement.is_identity and not robot.report.warnings


def test_initial_coordinates_of_a_usd_stage_are_stated_beyond_rounding(tmp_path: Path) -> None:
    slide = 'uniform token physics:axis = "Y";point3f physics:localPos0 = (0, 0, 1)'
    for by, count in ((5e-7, 0), (5e-6, 1)):
        text = stage(
            body("a"),
            body("b", at(0, by, 1)),
            joint("Fixed", "anchor", "", "a"),
            joint("Prismatic", "j", "a", "b", slide),
        )
        states = load(tmp_path, text).tree.named_configurations
        assert len(states) == count
        assert not states or dict(states[0].q)["j"][0] == pytest.approx(by, rel=1e-6)


def test_filters_between_very_many_usd_colliders_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def filtered(kind: str) -> str:
        pairs = "rel physics:filteredPairs = </r/b>" if kind == "pairs" else ""
        schemas = "PhysicsFilteredPairsAPI" if kind == "pairs" else ""
        group = prim("PhysicsCollisionGroup", "g") if kind == "group" else ""
        a = body("a", pairs, collider("Cube", "s", CUBE), schemas=schemas)
        return stage(a, body("b", "", collider("Cube", "s", CUBE)), body("c", "", collider("Cube", "s", CUBE)), group)

    monkeypatch.setattr(own_code, "_replaced", {})
    for most, kind, reported in ((9, "pairs", 0), (8, "pairs", 1), (8, "group", 1), (8, "none", 0)):
        monkeypatch.setattr(collision_filters, "_MAX_PAIRS", most)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            robot = load(tmp_path, filtered(kind))
        texts = [issue.message for issue in robot.report.warnings]
        assert sum("filters of collisions between 3 colliders are not read" in x for x in texts) == reported, texts


def test_variants_of_a_usd_prim_are_noted_if_there_is_a_choice(tmp_path: Path) -> None:
    for names, noted in ((("one",), False), (("one", "two"), True)):
        choices = "".join(f'"{name}" {{\n}}\n' for name in names)
        chosen = 'variants = {\nstring look = "one"\n}\nprepend variantSets = "look"'
        text = stage(body("a")).replace('def Xform "r"', f'def Xform "r" (\n{chosen}\n)', 1)
        end = text.rindex("}")
        text = f'{text[:end]}variantSet "look" = {{\n{choices}}}\n{text[end:]}'
        texts = [issue.message for issue in load(tmp_path, text).report.warnings]
        assert any("of the variants ['one', 'two'] of 'look', 'one' is read" in x for x in texts) is noted, texts
        assert noted or not any("variants" in x for x in texts)
