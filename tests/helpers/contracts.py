"""Checks of contracts are checked: a slight deviation breaks its own requirement alone, and a smaller one none."""

from collections.abc import Callable

from linkwork._util.contract_report import ContractReport


def assert_sharp(check: Callable[[float], ContractReport], line: str, noticed: float, allowed: float | None) -> None:
    """Check an example with a deviation that is noticed, and with one that is allowed, if any but 0 is."""
    report = check(noticed)
    assert [failure.name for failure in report.failures] == [line], str(report)
    check(allowed or 0.0).raise_if_failed()
