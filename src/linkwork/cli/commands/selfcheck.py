"""`linkwork selfcheck`: check that linkwork computes correct numbers at the usual speed on this machine.

The exit code is 1 if a check failed, and with ``--strict`` if a result differs from those on the machines of the
tests.
"""

from __future__ import annotations

import argparse

from linkwork import selfcheck
from linkwork.cli.arguments import FAILED, add_json
from linkwork.cli.output import Terminal, escaped
from linkwork.installation import Verdict

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--strict", action="store_true", help="exit with 1 also if a check differs")
    add_json(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    report = selfcheck(progress=None)
    if arguments.json:
        terminal.out.json(report.as_dict())
    else:
        terminal.out.lines([escaped(line) for line in str(report).splitlines()])
    as_tested = all(outcome.verdict is Verdict.OK for outcome in report.outcomes.values())
    return 0 if as_tested or (report.success and not arguments.strict) else FAILED
