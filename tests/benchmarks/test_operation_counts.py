"""Counts of operations in docs/decisions are what the robots take today."""

import pytest
from benchmarks.compiler.operation_counts import PAGES, figures, written


@pytest.mark.slow
def test_decision_pages_show_the_current_operation_counts() -> None:
    result = figures()
    assert result.keys() == PAGES.keys()
    for name, path in PAGES.items():
        page = path.read_text(encoding="utf-8")
        assert page.count("<!-- figures: ") == page.count("<!-- end of figures -->") == 1
        assert written(page, {name: result[name]}) == page, (
            "update with: python -m benchmarks.compiler.operation_counts --write"
        )


def test_only_the_listed_decision_pages_show_operation_counts() -> None:
    decisions = next(iter(PAGES.values())).parent
    marked = {path for path in decisions.glob("*.md") if "<!-- figures: " in path.read_text(encoding="utf-8")}
    assert marked == {*PAGES.values()}
