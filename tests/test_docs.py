"""Examples of documents and docstrings run and print what they state; names and links on pages exist."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from typing import Any

import hatch_build
import numpy as np
import pytest
import yaml

import linkwork
from linkwork._util.lazy_imports import defining_module

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


# All but the index and the pages that are tables alone, which are held to what they list by tests of their own.
DOCUMENTS = sorted(
    {path.stem for path in (ROOT / "docs").glob("*.md")}
    - {"README", "command_line", "every_verb", "file_elements", "mathematics", "reference", "robot_files_read"}
)
ALGORITHMS = sorted(f"algorithms/{path.stem}" for path in (ROOT / "docs" / "algorithms").glob("*.md"))
EXTENDING = sorted(
    {f"extending/{path.stem}" for path in (ROOT / "docs" / "extending").glob("*.md")} - {"extending/README"}
)
PAGES = (*DOCUMENTS, *ALGORITHMS, *EXTENDING)
_FILE = re.compile(r"`([\w/]*\b[a-z_0-9]+\.py)`")
DECISIONS = sorted({path.stem for path in (ROOT / "docs" / "decisions").glob("*.md")} - {"README"})


@pytest.mark.parametrize("document", ["README.md", *(f"docs/{name}.md" for name in PAGES)])
def test_examples_of_documentation_pages_run(document: str) -> None:
    with np.printoptions():  # what a page sets is its own
        result = doctest.testfile(str(ROOT / document), module_relative=False, optionflags=FLAGS, encoding="utf-8")
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("decision", DECISIONS)
def test_decision_pages_have_title_date_index_row_and_running_examples(decision: str) -> None:
    """A decision has a title, a date and a row in the index, and its examples run."""
    subject = decision.partition("-")[0]
    is_subject = subject == "tests" or (ROOT / "src" / "linkwork" / subject).is_dir()
    assert is_subject, "expected the name to begin with a package of linkwork, or with tests"
    path = ROOT / "docs" / "decisions" / f"{decision}.md"
    text = path.read_text(encoding="utf-8")
    match = re.match(r"# (.+)\n\nDate: (\d{4}-\d\d-\d\d)\n", text)
    assert match, "expected a title and a date"
    assert "**What.**" in text
    index = (path.parent / "README.md").read_text(encoding="utf-8")
    assert index.count(f"\n| [{match[1]}]({decision}.md) | {match[2]} |\n") == 1
    result = doctest.testfile(str(path), module_relative=False, optionflags=FLAGS, encoding="utf-8")
    assert result.failed == 0


def test_paths_named_in_decision_pages_exist() -> None:
    for decision in DECISIONS:
        text = (ROOT / "docs" / "decisions" / f"{decision}.md").read_text(encoding="utf-8")
        for cited in re.findall(r"`([\w/]+(?:\.py|/))`", text):
            assert (ROOT / "src" / "linkwork" / cited).exists(), (decision, cited)


def test_files_named_in_documentation_and_docstrings_exist() -> None:
    files = [f"/{path.relative_to(ROOT).as_posix()}" for path in ROOT.rglob("*.py")]
    pages = (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src" / "linkwork").rglob("*.py"))
    named = {(page.name, name) for page in pages for name in _FILE.findall(page.read_text(encoding="utf-8"))}
    assert len(named) > 100
    assert [(page, name) for page, name in sorted(named) if not any(x.endswith(f"/{name}") for x in files)] == []


# Names of other libraries and tools, and names that a reader chooses.
_FOREIGN = {
    *("MyLaw", "SUBJECT", "test_y", "_STATIONARY_SPEED", "default_name", "elbow_pad", "name_work", "localRot1"),
    *("ProcessPoolExecutor", "RobotTrajectory", "apply_gufunc", "casadi_real", "coo_array", "vmap", "chrt", "taskset"),
    *("__chkstk", "__multi3", "getX", "setX", "mem", "pytest_cache", "with_x", "without_", "lqr_about_", "deps"),
    *(
        "elbow_position",
        "elbow_velocity",
        "rosidl_runtime_py",
        "set_message_fields",
        "pcolormesh",
        "mat",
        "RecordVideo",
    ),
}


def test_names_in_code_font_on_documentation_pages_exist() -> None:
    """Each word in code font on a page occurs in the code, in a setting, in an example of the page, or is foreign."""
    folders = {"src": "py json js urdf", "tests": "py", "benchmarks": "py", "tools": "", "docs": "json", ".ci": ""}
    files = [ROOT / "pyproject.toml", *ROOT.glob("*.md")]
    for folder, kinds in folders.items():
        files += [path for kind in kinds.split(" ") for path in (ROOT / folder).rglob(f"*.{kind}" if kind else "*")]
    word, code = re.compile(r"[A-Za-z_]\w{2,}"), {path for path in files if path.is_file() and path.suffix != ".md"}
    words = {name for path in code for name in word.findall(path.read_text(encoding="utf-8"))}
    words |= {name for path in files for part in path.relative_to(ROOT).parts for name in word.findall(part)}
    gone = []
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        generated = "every_verb.md", "file_elements.md"
        if page.name in ("CHANGELOG.md", "coming_from.md", *generated):  # of the past, of others
            continue
        text = page.read_text(encoding="utf-8")
        local = {name for example in re.findall(r"^```.*?^```", text, re.S | re.M) for name in word.findall(example)}
        spans = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M))
        named = {name for span in spans for name in word.findall(span)}
        gone += [f"{page.name}: {name}" for name in sorted(named - words - local - _FOREIGN)]
    assert gone == []


def test_every_code_fence_in_documentation_is_closed() -> None:
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        begun = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.lstrip().startswith("```"):
                assert not begun or line.strip() == "```", (page.name, begun, line)
                begun = "" if begun else line
        assert not begun, (page.name, begun)


class _Finder(doctest.DocTestFinder):
    """Finder of the examples of functions that are decorated, such as a robot's methods, and of public classes."""

    def _from_module(self, module: Any, value: Any) -> bool:
        if isinstance(value, type):
            return defining_module(value) == module.__name__
        return bool(super()._from_module(module, inspect.unwrap(value) if inspect.isroutine(value) else value))


def test_examples_of_docstrings_run(drawn: Any) -> None:
    attempted = 0
    modules = pkgutil.walk_packages(linkwork.__path__, "linkwork.")
    chosen = drawn(module.name for module in modules if not module.name.endswith("__main__"))
    for name in ("linkwork", *chosen):
        imported = importlib.import_module(name)
        if ">>>" in Path(imported.__file__ or "").read_text(encoding="utf-8"):
            runner = doctest.DocTestRunner(optionflags=FLAGS)
            for examples in _Finder().find(imported, name):
                attempted += runner.run(examples).attempted
            assert runner.failures == 0, name
    assert attempted >= 3


def test_readme_states_the_two_commands_of_continuous_integration() -> None:
    """The continuous integration runs these very lines."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [line for line in text.splitlines() if line.startswith("pip install")]
    assert commands == ["pip install . && linkwork demo", 'pip install ".[test]" && pytest']


def test_every_documentation_page_is_in_the_index() -> None:
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"README"}
    pages |= {"examples/README", "decisions/README", "extending/README", *ALGORITHMS}
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert {target.removesuffix(".md") for target in LINK.findall(index)} == pages


def test_every_page_on_extending_linkwork_is_listed() -> None:
    listed = LINK.findall((ROOT / "docs" / "extending" / "README.md").read_text(encoding="utf-8"))
    assert sorted(f"extending/{target.removesuffix('.md')}" for target in listed) == EXTENDING


def test_links_of_documentation_pages_lead_to_existing_files() -> None:
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            if not target.startswith(("http", "#")):
                assert (page.parent / target.partition("#")[0]).is_file(), (page.name, target)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    results: set[str] = set()
    fenced = False
    for line in page.read_text(encoding="utf-8").splitlines():
        fenced ^= line.lstrip().startswith("```")
        if line.startswith("#") and not fenced:
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line.lstrip("#").strip()).lower()
            stem = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            again = sum(re.fullmatch(rf"{re.escape(stem)}(-\d+)?", anchor) is not None for anchor in results)
            results.add(f"{stem}-{again}" if again else stem)
    return results


def test_anchors_of_links_in_documentation_are_headings() -> None:
    looked_at = 0
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            path, _, anchor = target.partition("#")
            if anchor and not target.startswith("http") and (not path or path.endswith(".md")):
                looked_at += 1
                assert anchor in anchors(page.parent / path if path else page), (page.name, target)
    assert looked_at > 20


def metadata(monkeypatch: pytest.MonkeyPatch, home: str) -> dict[str, Any]:
    """Return the metadata of a package that is built with the project at an address, or without one."""
    monkeypatch.setenv(hatch_build.HOME, home)
    said: dict[str, Any] = {}
    hatch_build.PackagePage(str(ROOT), {}).update(said)
    return said


def test_readme_for_the_package_index_has_no_relative_links(monkeypatch: pytest.MonkeyPatch) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert any(not target.startswith("http") for target in LINK.findall(readme))
    for home in ("", "https://host.invalid/linkwork/"):
        said = metadata(monkeypatch, home)
        shown = said["readme"]["text"]
        assert "docs/howto.md" in shown and all(target.startswith("https://") for target in LINK.findall(shown))
        for name, url in said["urls"].items():
            assert url.startswith("https://host.invalid/linkwork"), name
            assert (ROOT / url.removeprefix("https://host.invalid/linkwork").lstrip("/")).exists(), name
        assert {"Homepage", "Documentation", "Source", "Changelog"} <= {*said["urls"]} or not home
        assert (f"]({home}docs/howto.md)" in shown) == bool(home)
    with pytest.raises(ValueError, match="LINKWORK_URL: expected an address that begins with https://"):
        metadata(monkeypatch, "host.invalid")


def test_docstring_of_the_package_names_every_public_name() -> None:
    text = linkwork.__doc__ or ""
    assert [name for name in linkwork.__all__ if f"`{name}" not in text] == []
    assert [path.name for path in (ROOT / "docs").glob("*.md") if path.name not in text] == []
    for cited in re.findall(r"`(Robot|Kernel|Joint)\.(\w+)`", text):
        assert hasattr(getattr(linkwork, cited[0]), cited[1])


def test_package_files_state_the_current_version() -> None:
    assert f"\nversion: {linkwork.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f'\nversion = "{linkwork.__version__}"\n' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_hosted_workflow_runs_the_commands_of_the_readme_on_all_systems() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/checks.yml").read_text(encoding="utf-8"))["jobs"]
    commands = {name: [step["run"] for step in job["steps"] if "run" in step] for name, job in jobs.items()}
    of_readme = re.findall(r"^pip install.*", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(of_readme) == 2 and [x for x in commands["systems"] if "selfcheck" not in x] == of_readme
    assert commands["merge"] == [".ci/run"] and commands["night"] == [".ci/nightly"]
    systems = " ".join(row["system"] for row in jobs["systems"]["strategy"]["matrix"]["include"])
    assert all(name in systems for name in ("ubuntu", "arm", "windows", "macos"))
    versions = {row["python"] for row in jobs["systems"]["strategy"]["matrix"]["include"]}
    assert versions == {*re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))}
