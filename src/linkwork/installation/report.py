"""Report of the checks of an installation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from linkwork._util.messages import table

__all__ = ["Check", "InstallationReport", "Outcome", "Verdict", "outcome_of"]


class Verdict(StrEnum):
    """Verdict of a check on an installation."""

    OK = "ok"
    DIFFERS = "differs"  # results are right; something is slower, or unlike the machines of the tests
    FAILED = "failed"


class Outcome(NamedTuple):
    """Result of a check: the measured and the expected value, and the remedy if they do not agree."""

    verdict: Verdict
    measured: str
    expected: str
    remedy: str = ""


def outcome_of(right: bool, measured: str, expected: str, remedy: str, wrong: Verdict = Verdict.FAILED) -> Outcome:
    """Return the outcome ``ok`` if ``right``, else ``wrong`` with the remedy."""
    return Outcome(Verdict.OK if right else wrong, measured, expected, "" if right else remedy)


@dataclass(frozen=True, slots=True)
class Check:
    """A check of an installation by its name."""

    name: str
    run: Callable[[], Outcome]


@dataclass(frozen=True, slots=True)
class InstallationReport:
    """Outcomes of all checks of an installation, and facts of the machine.  It prints as a table.

    ``machine`` has the versions, the processor and the settings by name.  ``outcomes`` has an outcome for each check,
    with ``verdict`` ("ok", "differs", "failed"), ``measured``, ``expected`` and ``remedy``.  ``seconds`` has the
    duration of each check [s].
    """

    machine: Mapping[str, Any]
    outcomes: Mapping[str, Outcome]
    seconds: Mapping[str, float]

    @property
    def success(self) -> bool:
        """True if no check failed."""
        return all(outcome.verdict is not Verdict.FAILED for outcome in self.outcomes.values())

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain data for JSON."""
        checks = {
            name: {**outcome._asdict(), "verdict": outcome.verdict.value, "seconds": self.seconds[name]}
            for name, outcome in self.outcomes.items()
        }
        return {"success": self.success, "machine": dict(self.machine), "checks": checks}

    def __str__(self) -> str:
        counts = {verdict: sum(x.verdict is verdict for x in self.outcomes.values()) for verdict in Verdict}
        total = ", ".join(f"{count} {verdict.value}" for verdict, count in counts.items())
        rows = [
            (name, outcome.verdict.value, f"{self.seconds[name]:.1f}", outcome.measured, outcome.expected)
            for name, outcome in self.outcomes.items()
        ]
        remedies = [f"{name}: {outcome.remedy}" for name, outcome in self.outcomes.items() if outcome.remedy]
        return "\n".join(
            [
                *(f"{name:<12} {value}" for name, value in self.machine.items()),
                "",
                *table(("check", "", "[s]", "measured", "expected"), rows, left=(0, 1, 3, 4)),
                "",
                *remedies,
                *([""] if remedies else []),
                f"{len(self.outcomes)} checks in {sum(self.seconds.values()):.1f} s: {total}",
            ]
        )
