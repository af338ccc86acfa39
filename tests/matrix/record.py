"""The recorded outcomes of all cells, and the page of the documentation that is made from them.

``python -m matrix.record [VERB ...]`` in the folder ``tests`` computes cells anew, of all verbs or of those whose name
or subject is given, and writes the record and the page.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import matrix.verbs  # noqa: F401 - registers all verbs
from matrix.cell import NOT_MEANINGFUL, VERBS, WORKS, outcome
from matrix.kinds import FAMILIES, KINDS, family_of

__all__ = ["PAGE", "Record", "computed", "page", "read", "write"]

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "matrix.json"
PAGE = ROOT / "docs" / "every_verb.md"

Record = Mapping[str, Mapping[str, str]]  # outcomes by verb and kind


def computed(verbs: Iterable[str], kinds: Iterable[str] = KINDS) -> dict[str, dict[str, str]]:
    """Return the outcomes of cells."""
    kinds = [*kinds]
    return {verb: {kind: outcome(verb, kind) for kind in kinds} for verb in verbs}


def read() -> dict[str, dict[str, str]]:
    """Return the recorded outcomes; cells that are not listed work."""
    listed = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
    result = {}
    for verb, verbs in listed.items():
        by_kind = {kind: text for text, kinds in verbs.items() for kind in kinds}
        result[verb] = {kind: by_kind.get(kind, WORKS) for kind in KINDS}
    return result


def write(record: Record) -> None:
    """Write the record, with the kinds of each outcome but "works", and the page."""
    listed: dict[str, dict[str, list[str]]] = {}
    for verb in (name for name in VERBS if name in record):
        listed[verb] = {}
        for kind, text in record[verb].items():
            if text != WORKS:
                listed[verb].setdefault(text, []).append(kind)
    GOLDEN.write_text(json.dumps(listed, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(record), encoding="utf-8")


_HEAD = """\
# Every verb on every kind of robot

A *verb* is a method, function or class of linkwork that uses a robot. A *kind* is a kind of robot with one feature: a
joint type, a loop that is closed by a joint type, a constraint, motors on some of its joints. The page has a result for
each verb on each kind of robot. A program computes these results, and a test compares them with this page. On each kind
of robot the verb *works*, *refuses*, or is *not meaningful*:

- *works*: the sentence after the verb is true for this robot; it states an identity that a test verifies;
- *refuses*: the verb raises an error that names the feature and a remedy;
- *not meaningful*: the verb needs something that the robot does not have, such as motions of a robot without joints.

An entry "contract of X" is the check that the class X satisfies its interface. Other tests compare each function with
independent references.
"""


def page(record: Record) -> str:
    """Return the text of the page."""
    lines = [_HEAD, "## Counts", "", _row("subject", *FAMILIES), _row(":--", *("--:" for _ in FAMILIES))]
    subjects = list(dict.fromkeys(verb.subject for verb in VERBS.values()))
    for subject in (*subjects, None):
        counts = {family: Counter[str]() for family in FAMILIES}
        for name, verb in VERBS.items():
            for kind, text in record.get(name, {}).items() if subject in (verb.subject, None) else ():
                counts[family_of(kind)][_short(text)] += 1
        cells = [f"{c[WORKS]} / {c['refuses']} / {c[NOT_MEANINGFUL]}" for c in counts.values()]
        lines.append(_row("all" if subject is None else subject, *cells))
    lines += [
        "",
        "Each cell has three numbers of pairs of a verb and a kind: works / refuses / not meaningful.",
        "",
        "## Kinds",
        "",
    ]
    for family in FAMILIES:
        lines += [f"- {family}: {', '.join(kind for kind in KINDS if family_of(kind) == family)}"]
    for subject in subjects:
        lines += ["", f"## {subject.capitalize()}", ""]
        if subject == "functions":
            lines += [VERBS["pose"].identity, ""]
        for name, verb in VERBS.items():
            if verb.subject == subject and name in record:
                lines += _described(name, record[name], subject)
        missing = [name for name, verb in VERBS.items() if verb.subject == subject and name not in record]
        if missing:
            lines.append(f"- Not filled yet: {', '.join(missing)}.")
    return "\n".join(lines) + "\n"


def _described(name: str, outcomes: Mapping[str, str], subject: str) -> list[str]:
    verb = VERBS[name]
    counts = Counter(_short(text) for text in outcomes.values())
    holds = "holds" if name.startswith("contract of") else "works"
    head = f"- **{name}** {holds} on {counts[WORKS]} of {len(outcomes) - counts[NOT_MEANINGFUL]} kinds of robot."
    lines = [head if subject == "functions" else f"{head} {verb.identity}"]
    refused: dict[str, list[str]] = {}
    for kind, text in outcomes.items():
        if _short(text) == "refuses":
            refused.setdefault(_general(text), []).append(kind)
    return lines + [f"  - `{text}`: {', '.join(kinds)}" for text, kinds in refused.items()]


def _general(text: str) -> str:
    """Return the text of a refusal with names of this robot left out, so that equal refusals are listed once."""
    text = text.removeprefix("refuses: ").replace("`", "'")
    return re.sub(r"'[^']*'", "'…'", re.sub(r"(robot|joint|link)\[[^]]*\]", r"\1[…]", text))[:200]


def _short(text: str) -> str:
    return text.partition(":")[0]


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def main(arguments: list[str]) -> None:
    record = read()
    for name, verb in VERBS.items():
        if not arguments or name in arguments or verb.subject in arguments:
            record |= computed([name])
            print(name, dict(Counter(_short(text) for text in record[name].values())), flush=True)
    write(record)


if __name__ == "__main__":
    main(sys.argv[1:])
