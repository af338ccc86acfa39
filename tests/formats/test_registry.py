"""The choice of the format of a robot file, and what a format adds to `linkwork.load`."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import linkwork as lw
from helpers.row_format import ROWS, read_rows
from linkwork.cli.commands.convert import WRITERS
from linkwork.errors import ModelError, UnknownNameError
from linkwork.formats import registry
from urdf_texts import link, robot

PAGE = Path(__file__).parents[2] / "docs" / "robot_files.md"
URDF = robot(link("a"))
ROW_TEXT = "rows\nupper 0.5 2\nlower 0.25 1"


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "FORMATS", (*registry.FORMATS, ROWS))


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_every_registered_format_names_a_reader_that_accepts_its_options() -> None:
    for entry in registry.FORMATS:
        parameters = inspect.signature(entry.function()).parameters
        assert {"strict", *entry.options} <= set(parameters), entry.name
        assert entry.suffixes or entry.roots or entry.starts
        assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in entry.suffixes)
        assert bool(entry.package) == bool(entry.extra)
    assert len({entry.name for entry in registry.FORMATS}) == len(registry.FORMATS)


def test_formats_page_lists_all_file_formats_with_their_suffixes() -> None:
    header = "| format | `format=` | suffixes | extra to install | written by | what is read |\n"
    lines = PAGE.read_text(encoding="utf-8").partition(header)[2].partition("\n\n")[0].splitlines()[1:]
    table = {cells[1]: cells for cells in ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines)}
    assert [*table] == [f"`{entry.name}`" for entry in registry.FORMATS]
    for entry in registry.FORMATS:
        _, _, suffixes, extra, method, page = table[f"`{entry.name}`"]
        assert re.findall(r"`([^`]+)`", suffixes) == [*entry.suffixes], entry.name
        assert ("or by its content" in suffixes) == bool(entry.roots or entry.starts), entry.name
        assert extra == (f"`{entry.extra}`" if entry.extra else ""), entry.name
        methods = {WRITERS[suffix] for suffix in entry.suffixes if suffix in WRITERS}
        assert method == (f"`{methods.pop()}`" if methods else "") and not methods, entry.name
        target = re.search(r"\]\((\w+\.md)", page)
        assert page == "this page" or (target is not None and (PAGE.parent / target[1]).is_file()), entry.name


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize(
    ("name", "content", "links"),
    [
        ("arm.urdf", URDF, ("a",)),
        ("arm.URDF", URDF, ("a",)),
        ("arm.xml", '<?xml version="1.0"?>\n<!-- <rows/> -->\n' + URDF, ("a",)),
        ("arm", "\ufeff" + URDF, ("a",)),
        ("arm.xml", URDF.encode("utf-16"), ("a",)),
        ("arm.rows", ROW_TEXT, ("base", "upper", "lower")),
        ("arm", ROW_TEXT, ("base", "upper", "lower")),
    ],
)
def test_suffix_or_content_of_a_robot_file_selects_its_format(
    tmp_path: Path, name: str, content: str | bytes, links: tuple[str, ...]
) -> None:
    assert lw.load(written(tmp_path, name, content)).frames == links


@pytest.mark.usefixtures("rows")
def test_option_format_of_load_overrides_suffix_and_content(tmp_path: Path) -> None:
    path = written(tmp_path, "arm.urdf", "a line\nupper 0.5 2")
    assert lw.load(path, format="rows").frames == ("base", "upper")
    with pytest.raises(ModelError, match="not XML"):
        lw.load(path, format="urdf")
    with pytest.raises(UnknownNameError, match="load: format: no format named 'rws'; did you mean 'rows'"):
        lw.load(path, format="rws")
    with pytest.raises(TypeError, match="format: expected"):
        lw.load(path, format=3)  # type: ignore[arg-type]


def test_file_format_defined_by_a_user_is_read_without_registration(tmp_path: Path) -> None:
    user_format = replace(ROWS, reader=read_rows)
    assert lw.load(written(tmp_path, "arm.txt", ROW_TEXT), format=user_format).nv == 2


@pytest.mark.usefixtures("rows")
def test_robot_file_with_content_that_contradicts_its_suffix_is_refused(tmp_path: Path) -> None:
    for name, content, said in (
        (
            "arm.urdf",
            "<rows/>",
            "the suffix .urdf is that of a URDF file, but the root element <rows> is that of a file",
        ),
        (
            "arm.rows",
            URDF,
            "the suffix .rows is that of a file of rows, but the root element <robot> is that of a URDF",
        ),
        ("arm.urdf", ROW_TEXT, "the suffix .urdf is that of a URDF file, but the content is that of a file of rows"),
    ):
        with pytest.raises(ModelError, match=said) as caught:
            lw.load(written(tmp_path, name, content))
        assert caught.value.code == "WRONG_FORMAT" and "load(path, format=" in str(caught.value)


@pytest.mark.light
@pytest.mark.parametrize(
    ("name", "content", "code", "said"),
    [
        ("a.xml", "<robt/>", "UNKNOWN_FORMAT", "(.urdf, <robot>); mjcf (.mjcf, .mjb, <mujoco>)"),
        ("a.xml", "<robt/>", "UNKNOWN_FORMAT", "did you mean 'robot'"),
        ("a.xml", "<robt/>", "UNKNOWN_FORMAT", "got the root element 'robt'"),
        ("a.xml", "<collada/>", "UNKNOWN_FORMAT", "this looks like a COLLADA mesh"),
        ("a.urfd", "#", "UNKNOWN_FORMAT", "did you mean '.urdf'"),
        ("a", "# a file", "UNKNOWN_FORMAT", "got no suffix and content that begins with b'# a file'"),
        ("a.xml", "", "XML_EMPTY", "empty"),
        ("a.xml", "<!-- ", "XML_SYNTAX", "ends early"),
        ("a.urdf", "<mujoco/>", "WRONG_FORMAT", "but the root element <mujoco> is that of an MJCF file"),
    ],
)
def test_files_of_no_known_robot_format_are_refused(
    tmp_path: Path, name: str, content: str, code: str, said: str
) -> None:
    with pytest.raises(ModelError, match=re.escape(said)) as caught:
        lw.load(written(tmp_path, name, content))
    assert caught.value.code == code and said in str(caught.value)


@pytest.mark.usefixtures("rows")
def test_load_options_that_a_format_does_not_take_are_refused_with_their_names(tmp_path: Path) -> None:
    path = written(tmp_path, "arm.rows", ROW_TEXT)
    for options, name in (({"continuous": "sincos"}, "continuous"), ({"inertia": "ignore"}, "inertia")):
        with pytest.raises(TypeError, match=f"load: {name}: a file of rows does not take this option; .* urdf"):
            lw.load(path, **options)
    assert lw.load(path, floating_base=True, continuous="angle").nv == 8


def test_reading_a_format_with_a_missing_package_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = replace(ROWS, package="not_there_at_all", extra="rows")
    monkeypatch.setattr(registry, "FORMATS", (*registry.FORMATS, missing))
    with pytest.raises(ImportError, match=r'needs the package not_there_at_all: pip install "linkwork\[rows\]"'):
        lw.load(written(tmp_path, "arm.rows", ROW_TEXT))


@pytest.mark.slow(every=5)
def test_reader_of_a_format_is_imported_when_a_file_of_it_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, "arm.rows", ROW_TEXT)
    program = (
        "import sys, linkwork as lw\nfrom linkwork.formats import registry\n"
        "registry.FORMATS += (registry.Format('rows', 'a file', 'helpers.row_format:read_rows', ('.rows',)),)\n"
        "lw.load('double_pendulum')\nbefore = 'helpers.row_format' in sys.modules\n"
        f"lw.load({str(path)!r})\nprint(before, 'helpers.row_format' in sys.modules)"
    )
    tests = str(Path(__file__).parents[1])
    ran = subprocess.run([sys.executable, "-c", f"import sys; sys.path.append({tests!r})\n{program}"],
                         capture_output=True, text=True, check=True)  # fmt: skip
    assert ran.stdout.split() == ["False", "True"]


def test_recognising_the_format_of_a_malicious_document_takes_linear_time(tmp_path: Path) -> None:
    """Nested ways to match 40 000 comments would never end."""
    path = written(tmp_path, "arm.xml", "<!-- a -->" * 40_000 + "<!")
    with pytest.raises(ModelError, match="XML_SYNTAX"):
        lw.load(path)
