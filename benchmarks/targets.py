"""What linkwork is to reach, by robot, function and measure."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["IMPORT_SECONDS", "TARGETS", "Target"]

IMPORT_SECONDS = 0.4
"""Most that `import linkwork` may take in a fresh process."""


@dataclass(frozen=True, slots=True)
class Target:
    """A bound on a measured number."""

    bound: float
    at_least: bool = False  # otherwise: at most

    def met(self, value: float) -> bool:
        return value >= self.bound if self.at_least else value <= self.bound


def _table() -> dict[tuple[str, str, str], Target]:
    found: dict[tuple[str, str, str], Target] = {}
    for function, panda, talos in (
        ("inverse_dynamics", 35, 20),
        ("forward_dynamics", 30, 20),
        ("mass_matrix", 20, 6),
        ("forward_kinematics", 8, 8),
    ):
        found["panda", function, "batch"] = Target(panda, at_least=True)  # times Pinocchio's speed
        found["talos", function, "batch"] = Target(talos, at_least=True)
    for function in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
        found["panda", function, "call"] = Target(0.9)  # of Pinocchio's time
        found["talos", function, "call"] = Target(0.6)
    found["panda", "inverse_dynamics", "operations"] = Target(1200)
    found["talos", "inverse_dynamics", "operations"] = Target(6100)
    for robot, inverse, forward in (("panda", 0.5, 1.5), ("talos", 2.0, 6.0)):
        found[robot, "inverse_dynamics", "compile"] = Target(inverse)  # seconds, tracing included
        found[robot, "forward_dynamics", "compile"] = Target(forward)
    return found


TARGETS = _table()
"""By (robot, function, measure).  Measures: "batch" (times Pinocchio's speed, batch of 1024), "call" (part of
Pinocchio's time for one call), "operations" (multiplications, additions and subtractions), "compile" [s]."""
