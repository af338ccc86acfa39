"""Files of USD stages: layers inside of folders only, limits, archives, and errors of bad files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import linkwork as lw
from linkwork.errors import ModelError, ModelWarning
from linkwork.formats.usd import stage_size
from usd_texts import body, joint, prim, stage, written

Sdf = pytest.importorskip("pxr.Sdf", reason="needs usd-core")
ARM = stage(body("a"), body("b"), joint("Fixed", "w", "", "a"), joint("Revolute", "j", "a", "b"))


def referring(asset: str, arc: str = "references") -> str:
    return stage(prim("Xform", "part", extra=f"{arc} = @{asset}@"))


def code_of(path: Path, **options: object) -> str:
    with pytest.raises(ModelError, match=r"\[[A-Z_]+\]") as caught:
        lw.load(path, **options)  # type: ignore[arg-type]
    return caught.value.code


@pytest.mark.parametrize("arc", ["references", "payload"])
def test_usd_layers_in_the_folder_of_the_model_are_read(tmp_path: Path, arc: str) -> None:
    written(tmp_path, ARM, "parts/arm.usda")
    path = written(tmp_path, referring("./parts/arm.usda", arc))
    robot = lw.load(path)
    assert [joint.name for joint in robot.joints] == ["j"] and robot.frames == ("world", "a", "b")
    assert robot.tree.frame("a").name == "a"


@pytest.mark.slow(every=3)
def test_usd_sublayers_and_binary_layers_are_read(tmp_path: Path) -> None:
    layer = Sdf.Layer.CreateAnonymous("arm.usda")
    layer.ImportFromString(ARM)
    layer.Export(str(tmp_path / "arm.usdc"))
    head = '#usda 1.0\n(\nsubLayers = [@arm.usdc@]\nmetersPerUnit = 1\nupAxis = "Z"\n)\n'
    path = written(tmp_path, head, "all.usd")
    assert lw.load(path).tree.bodies == lw.load(tmp_path / "arm.usdc").tree.bodies
    assert lw.load(written(tmp_path, ARM)).tree.bodies == lw.load(path).tree.bodies


def test_usd_layers_outside_of_the_folders_are_not_opened(tmp_path: Path) -> None:
    written(tmp_path, ARM, "other/arm.usda")
    outside = tmp_path / "model"
    for asset in ("../other/arm.usda", str(tmp_path / "other/arm.usda"), "/etc/passwd"):
        assert code_of(written(outside, referring(asset))) == "PATH_ESCAPE", asset
    (outside / "link.usda").symlink_to(tmp_path / "other/arm.usda")
    assert code_of(written(outside, referring("./link.usda"))) == "PATH_ESCAPE"
    robot = lw.load(written(outside, referring("../other/arm.usda")), package_dirs=[tmp_path / "other"])
    assert robot.nv == 1
    for asset in ("http://127.0.0.1/arm.usda", "omniverse://host/arm.usda"):
        assert code_of(written(outside, referring(asset))) == "URI_SCHEME"
    assert code_of(written(outside, referring("./none.usda"))) == "LAYER_MISSING"
    assert code_of(written(outside, referring('`"${X}"`'))) == "UNSUPPORTED"
    written(outside, "text", "notes.txt")
    assert code_of(written(outside, referring("./notes.txt"))) == "WRONG_FORMAT"
    variants = 'variants = {\nstring v = "x"\n}\nprepend variantSets = "v"'
    inside = 'variantSet "v" = {\n"x" (\nreferences = @/etc/passwd@\n) {\n}\n"y" {\n}\n}'
    assert code_of(written(outside, stage(prim("Xform", "p", inside, extra=variants)))) == "PATH_ESCAPE"


@pytest.mark.slow(every=5)
def test_reading_usd_opens_only_layer_files(tmp_path: Path) -> None:
    """Value clips name files that USD opens when values are read, which would be an error of USD for this one."""
    secret = written(tmp_path, "secret", "secret.txt")
    clips = (
        'clips = {\ndictionary default = {\nasset[] assetPaths = [@PATH@]\nstring primPath = "/r"\n'
        "double2[] active = [(0, 0)]\ndouble2[] times = [(0, 0)]\n}\n}"
    ).replace("PATH", str(secret))
    text = stage(
        prim("Xform", "animated", "double x.timeSamples = {\n0: 1\n}", extra=clips),
        prim("Shader", "shader", f"asset inputs:file = @{secret}@"),
        body("a"),
    )
    path = written(tmp_path / "model", text)
    if os.access("/proc/self/fd", os.R_OK) and (strace := shutil.which("strace")):
        code = f"import linkwork as lw, warnings; warnings.simplefilter('ignore'); lw.load({str(path)!r})"
        command = [strace, "-f", "-e", "trace=open,openat", sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "secret.txt" not in done.stderr and "robot.usda" in done.stderr
    with pytest.warns(ModelWarning, match="value clips"):
        lw.load(path)


@pytest.mark.light
@pytest.mark.parametrize(
    ("content", "code", "line"),
    [
        (b"", "DATA_SYNTAX", None),
        (b" \n ", "DATA_SYNTAX", None),
        (b'#usda 1.0\ndef Xform "a" {\n  double x = \n}', "DATA_SYNTAX", 3),
        (b"PXR-USDC" + bytes(100), "DATA_SYNTAX", None),
        (b"#usda 1.0\n\xff\xfe", "DATA_ENCODING", None),
        (b"#usda 1.0\n\0", "DATA_SYNTAX", None),
        (b"#usda 1.0\n" + b'def "a" {\n' * 600 + b"}\n" * 600, "DATA_DEPTH", 514),
        (b'#usda 1.0\ndef "a" (\nreferences = </a>\n) {\n}\n', "COMPOSITION", None),
        (b'#usda 1.0\ndef "a" (\nreferences = </b>\n) {\n}\n', "COMPOSITION", None),
        (b'#usda 1.0\ndef "a" {\n}\n', "NO_LINKS", None),
        (b"#usda 1.0\n(\nmetersPerUnit = 0\n)\n", "MAGNITUDE", None),
        (b"<robot/>", "WRONG_FORMAT", None),
        (b"PK\x03\x04", "WRONG_FORMAT", None),
    ],
)
def test_damaged_usd_files_are_errors_with_code_and_line(
    tmp_path: Path, content: bytes, code: str, line: int | None
) -> None:
    path = tmp_path / "bad.usda"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=code) as caught:
        lw.load(path)
    assert (caught.value.code, caught.value.file) == (code, str(path))
    assert line is None or caught.value.line == line


def test_usd_references_that_multiply_prims_are_counted_before_composition(tmp_path: Path) -> None:
    for arc in ("references", "inherits", "specializes"):
        levels = "".join(
            f'def "a{k}" {{\ndef "x" (\n{arc} = </a{k + 1}>\n) {{\n}}\ndef "y" (\n{arc} = </a{k + 1}>\n) {{\n}}\n}}\n'
            for k in range(40)
        )
        path = written(tmp_path, f'#usda 1.0\n{levels}def "a40" {{\n}}\n')
        assert code_of(path) == "TOO_LARGE"
    loop = ("#usda 1.0\n(\nsubLayers = [@b.usda@]\n)\n", "#usda 1.0\n(\nsubLayers = [@a.usda@]\n)\n")
    written(tmp_path, loop[1], "b.usda")
    assert code_of(written(tmp_path, loop[0], "a.usda")) == "COMPOSITION"


def test_values_of_a_usd_text_layer_are_counted_before_parsing(tmp_path: Path) -> None:
    path = written(tmp_path, f'#usda 1.0\ndef "a"\n{{\nint[] a = [{"1, " * 30}1]\n}}\n')
    with pytest.raises(ModelError, match=r"more than 25 values \[TOO_LARGE\]\n.*Budget\(max_numbers=\.\.\.\)"):
        lw.load(path, budget=lw.formats.Budget(max_numbers=100))


def archive(path: Path, members: dict[str, str], **options: int) -> Path:
    with zipfile.ZipFile(path, "w", **options) as file:  # type: ignore[arg-type]
        for name, text in members.items():
            file.writestr(name, text)
    return path


def test_usdz_archives_are_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "arm.usdz"
    whole = {"top.usda": referring("parts/arm.usda"), "parts/arm.usda": ARM, "parts/image.png": "x"}
    assert lw.load(archive(path, whole)).nv == 1
    assert code_of(archive(path, {"top.usda": referring("none.usda")})) == "LAYER_MISSING"
    assert code_of(archive(path, {"top.usda": referring("../x.usda")})) == "PATH_ESCAPE"
    assert code_of(archive(path, {"top.usda": referring("/etc/passwd")})) == "PATH_ESCAPE"
    assert code_of(archive(path, {"top.usda": ARM, "../x.usda": ARM})) == "PATH_ESCAPE"
    assert code_of(archive(path, {"image.png": "x"})) == "DATA_SYNTAX"
    assert code_of(archive(path, {"top.usda": ARM}, compression=zipfile.ZIP_DEFLATED)) == "DATA_SYNTAX"
    path.write_bytes(b"PK\x03\x04 not a zip")
    assert code_of(path) == "DATA_SYNTAX"
    written(tmp_path, referring("./arm.usdz"), "outer.usda")
    assert lw.load(archive(path, {"top.usda": ARM})).nv == 1 == lw.load(tmp_path / "outer.usda").nv


def test_usd_stage_is_read_from_its_file_and_not_from_layers_edited_in_memory(tmp_path: Path) -> None:
    """A program may have an edited layer of the same file in memory: the file's content is read."""
    path = written(tmp_path, ARM)
    layer = Sdf.Layer.FindOrOpen(str(path))
    layer.ImportFromString(stage(body("other")))
    assert lw.load(path).frames == ("world", "a", "b")


@pytest.mark.slow(every=9)
def test_usd_files_that_crashed_earlier_readers_are_errors() -> None:
    """Files from fuzzing: they once raised an error of another kind, or opened other files."""
    result = Path(__file__).parent / "files_that_broke_readers"
    for name in ("type_of_a_transform", "type_of_points", "axis_of_a_shape"):
        assert code_of(result / f"{name}.usda") == "DATA_TYPE"
    assert code_of(result / "stops_the_process.usdc") == "DATA_SYNTAX"  # USD runs out of memory
    assert code_of(result / "name_not_utf8.usdc") == "DATA_ENCODING"
    with pytest.warns(ModelWarning, match="value clips"):
        assert lw.load(result / "clips_of_a_body.usda").mass == 1.0


def test_ancestors_of_a_usd_path_are_listed() -> None:
    assert stage_size._ancestors("/a/b/c") == ["/a/b/c", "/a/b", "/a"] and stage_size._ancestors("/a") == ["/a"]
