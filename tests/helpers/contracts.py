"""Checks of contracts are checked: a slight deviation breaks its own requirement alone, and a smaller one none."""

from collections.abc import Callable
from typing import Any

from linkwork._util.contract_report import ContractReport


def assert_sharp(
    check: Callable[[Any], ContractReport], kind: type, line: str | set[str], noticed: float, allowed: float | None
) -> None:
    """Check a class whose attribute ``by`` is a deviation that is noticed, and one that is allowed or 0.

    ``line`` is a set where one deviation breaks several requirements of necessity.
    """
    report = check(type(kind.__name__, (kind,), {"by": noticed}))
    assert {failure.name for failure in report.failures} == ({line} if isinstance(line, str) else line), str(report)
    check(type(kind.__name__, (kind,), {"by": allowed or 0.0})).raise_if_failed()
