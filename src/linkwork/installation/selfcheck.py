"""The check of an installation: does linkwork compute right numbers at the usual speed on this machine?"""

from __future__ import annotations

import time
from typing import Any

from linkwork._util.progress import Reporter
from linkwork.installation.number_checks import NUMBER_CHECKS
from linkwork.installation.package_checks import PACKAGE_CHECKS, machine
from linkwork.installation.process_checks import PROCESS_CHECKS
from linkwork.installation.report import InstallationReport, Outcome, Verdict
from linkwork.installation.speed_checks import SPEED_CHECKS

__all__ = ["selfcheck"]


def selfcheck(*, progress: Any = False) -> InstallationReport:
    """Check the installation on this machine, in about ten seconds.

    The checks are: versions and files of the package; single calls, batches, float32, loops, derivatives, inverse
    kinematics and elementary functions beside exact values; the cache, other processes, threads, small stacks; clocks,
    SIMD lanes and times of calls. A check that raises an error has failed, with the error as what was measured.

    ``progress`` is True for a bar, or a function of `Progress`.

    >>> import linkwork as lw
    >>> report = lw.selfcheck()
    >>> report.success
    True

    ``print(report)`` is the table that a report of an error needs; ``linkwork selfcheck`` prints it.
    """
    checks = (*PACKAGE_CHECKS, *NUMBER_CHECKS, *PROCESS_CHECKS, *SPEED_CHECKS)
    outcomes: dict[str, Outcome] = {}
    seconds: dict[str, float] = {}
    with Reporter("selfcheck", progress, "checks", len(checks)) as report:
        for check in checks:
            begin = time.perf_counter()
            try:
                outcomes[check.name] = check.run()
            except Exception as error:
                text = f"{type(error).__name__}: {error}"
                outcomes[check.name] = Outcome(Verdict.FAILED, text, "no error", "report this table")
            seconds[check.name] = time.perf_counter() - begin
            report.advance(1)
    return InstallationReport(machine(), outcomes, seconds)
