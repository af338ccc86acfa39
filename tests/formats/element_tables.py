"""The page of the elements and attributes of robot files, made from the outcomes of changing each of them.

``python -m formats.element_tables [FORMAT ...]`` in the folder ``tests`` changes all of them anew, or those of the
formats that are given, and writes the record and the page.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

__all__ = ["OUTCOMES", "PAGE", "best", "disagreements", "page", "read"]

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "file_elements.json"
PAGE = ROOT / "docs" / "file_elements.md"
OUTCOMES = ("taken", "reported", "refused", "label", "compiler")  # the first of several is recorded

Record = Mapping[str, Mapping[str, Mapping[str, str]]]  # outcome by format, element and attribute

_HEAD = """\
# Elements and attributes of robot files

This page lists each element and attribute of the formats that linkwork reads, and the effect of a value other than the
default. Use this page to check that linkwork uses the content of your file. A program writes the tables: it changes one
attribute of a generated file at a time, and compares the robots and the reports. A test compares the tables with this
page. The test fails if a change affects neither the robot nor the report, unless the attribute is a label.

- *taken*: linkwork uses the attribute, so the robot changes. If an attribute applies only to some types of joints or
  shapes, it is reported on all other types.
- *reported*: the attribute has no effect, and the report names the attribute or the element that contains it.
- *refused*: loading the file raises an error.
- *label*: the attribute has no mechanical meaning.
- *resolved before*: MuJoCo's compiler uses the attribute, and linkwork reads the compiler's results.

Elements with a text and empty elements are listed with the attributes of their parent element. Unknown elements and
attributes are reported. [Robot files](robot_files.md) describes the report.
"""
_TITLES = {
    "urdf": ("URDF 1.2", "Joint types are the types of URDF. Loops are elements of URDF+ and URDF 1.2."),
    "srdf": ("SRDF", "The values of a floating base have the order of MoveIt and Pinocchio, x y z qx qy qz qw."),
    "sdf": ("SDF 1.4 to 1.12", "Elements of one version are refused or reported in files of other versions."),
    "mjcf": (
        "MJCF",
        "The table lists the attributes of the schema of MuJoCo {mujoco}. In the first rows, all attributes of an\n"
        "element have the same outcome. MuJoCo applies `default`, `include`, `frame`, `replicate` and `attach` before\n"
        "linkwork reads the model.",
    ),
    "usd": (
        "USD",
        "The table lists the properties of the schemas of UsdPhysics and of the shapes of UsdGeom in USD's registry.\n"
        "The prefix `physics:` is omitted. [USD stages](usd.md#drives-and-extensions) lists attributes of simulators.",
    ),
}
_WORDS = {"compiler": "resolved before"}


def best(outcomes: Iterable[str]) -> str:
    """Return the first of several outcomes of an attribute."""
    return min(outcomes, key=OUTCOMES.index)


def merged(cases: Iterable[tuple[str, str, str]]) -> dict[str, dict[str, str]]:
    """Return the outcome of each element and attribute."""
    result: dict[str, dict[str, str]] = {}
    for element, item, outcome in cases:
        if outcome not in OUTCOMES:
            print(f"{element} {item}: {outcome}", file=sys.stderr)
            continue
        of_element = result.setdefault(element, {})
        of_element[item] = best([outcome, of_element.get(item, outcome)])
    return {element: dict(sorted(items.items())) for element, items in sorted(result.items())}


def read() -> dict[str, dict[str, dict[str, str]]]:
    """Return the recorded outcomes."""
    result: dict[str, dict[str, dict[str, str]]] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return result


def disagreements(name: str, cases: Iterable[tuple[str, str, str]]) -> list[str]:
    """Return the attributes that the record of a format does not have, or with a later outcome."""
    recorded = read()[name]
    return [
        f"{element} {item}: {outcome}"
        for element, items in merged(cases).items()
        for item, outcome in items.items()
        if best([outcome, recorded.get(element, {}).get(item, "label")]) != recorded.get(element, {}).get(item)
    ]


def page(record: Record) -> str:
    """Return the text of the page."""
    lines = [_HEAD]
    for name, (title, text) in _TITLES.items():
        lines += [f"## {title}", "", text.format(mujoco=record["mujoco"]["version"]["is"]), ""]
        columns = [outcome for outcome in OUTCOMES if any(outcome in items.values() for items in record[name].values())]
        lines += [
            _row("element", *(_WORDS.get(outcome, outcome) for outcome in columns)),
            _row(":--", *(":--" for _ in columns)),
        ]
        for outcome in OUTCOMES:
            whole = [element for element, items in record[name].items() if items == {"*": outcome}]
            if whole:
                cells = ("all" if column == outcome else "" for column in columns)
                lines.append(_row(" ".join(f"`{element}`" for element in whole), *cells))
        for element, items in record[name].items():
            if "*" in items:
                continue
            lists = [
                " ".join(f"`{item.lstrip('@')}`" for item, x in items.items() if x == outcome) for outcome in columns
            ]
            lines.append(_row(f"`{element}`", *lists))
        lines.append("")
    return "\n".join(lines)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def main(names: list[str]) -> None:
    """Change the attributes of some formats, or of all, and write the record and the page."""
    import mujoco

    from formats import test_silent_content
    from formats.mjcf import test_mjcf_silent_content
    from formats.usd import test_usd_silent_content

    makers = {
        **test_silent_content.CASES,
        "mjcf": test_mjcf_silent_content.cases,
        "usd": test_usd_silent_content.outcomes,
    }
    record = read() if GOLDEN.exists() else {}
    for name in names or makers:
        record[name] = merged(makers[name]())
        GOLDEN.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    record["mujoco"] = {"version": {"is": mujoco.__version__}}
    GOLDEN.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(record), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
