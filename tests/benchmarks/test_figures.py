"""Counts of operations in docs/ARCHITECTURE.md are what the robots take today."""

import pytest
from benchmarks.figures import PAGE, figures, written


@pytest.mark.slow
def test_the_page_has_the_figures() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page.count("<!-- figures: ") == page.count("<!-- end of figures -->") == 2
    assert written(page, figures()) == page, "python -m benchmarks.figures --write writes them anew"
