"""All benchmarks: each module can be imported, and each program has a smallest size that `.ci/nightly` runs."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from benchmarks.smallest import SMALLEST, STARTED_BY_OTHERS
from benchmarks.tables.rows import programs

import benchmarks

FOLDER = Path(benchmarks.__file__).parent


def test_every_benchmark_has_a_smallest_size_for_the_nightly_run() -> None:
    assert {*programs()} == {*SMALLEST, *STARTED_BY_OTHERS}
    assert not {*SMALLEST} & {*STARTED_BY_OTHERS}
    nightly = (FOLDER.parent / ".ci" / "nightly").read_text()
    assert "step python -m benchmarks.smallest\n" in nightly


def test_every_module_of_the_benchmarks_can_be_imported() -> None:
    imported = 0
    for path in sorted(FOLDER.rglob("*.py")):
        name = ".".join(("benchmarks", *path.relative_to(FOLDER).with_suffix("").parts))
        try:
            import_module(name)
            imported += 1
        except ModuleNotFoundError as missing:
            if str(missing.name).partition(".")[0] in ("linkwork", "benchmarks"):
                raise  # not a peer that is not installed
    assert imported > 50
