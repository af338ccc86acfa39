"""`check_joint`: the contract of a joint type, line by line, on anyone's joint.

Every line is an identity that follows from the transform X(q); it is tried on floats, at random configurations and at
zero.  The references are the contract's own derivations from X, differences, and the other side of the identity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.errors import JointContractError
from linkwork.joints import JointType
from linkwork.joints.base.error_context import own_line
from linkwork.parts.joint.joint import Joint
from linkwork.parts.joint_checks.check_context import Line, Trial
from linkwork.parts.joint_checks.declaration_checks import RESULTS, STATEMENTS
from linkwork.parts.joint_checks.motion_checks import MOTION, REACHED

__all__ = ["LINES", "JointLine", "JointReport", "check_joint"]


@dataclass(frozen=True, slots=True)
class JointLine:
    """One line of the contract: what it says, the largest error found, and what went wrong where something did."""

    name: str  # what of the contract it is about, e.g. "S"
    identity: str
    error: float  # relative to 1 or the size of what is compared; NaN where nothing could be compared
    tolerance: float
    problem: str = ""  # why it fails

    @property
    def passed(self) -> bool:
        return not self.problem and self.error <= self.tolerance

    def __str__(self) -> str:
        text = f"{'ok  ' if self.passed else 'FAIL'}  {self.name:<27} {self.error:9.1e}  {self.identity}"
        return f"{text}\n      {self.problem}" if self.problem else text


@dataclass(frozen=True, slots=True)
class JointReport:
    """What `check_joint` found: printed, a line an identity."""

    joint: str
    lines: tuple[JointLine, ...]

    @property
    def passed(self) -> bool:
        """Whether every line of the contract holds."""
        return all(line.passed for line in self.lines)

    @property
    def failures(self) -> tuple[JointLine, ...]:
        """The lines that do not hold."""
        return tuple(line for line in self.lines if not line.passed)

    def raise_if_failed(self) -> None:
        """Raises JointContractError with the lines that do not hold, if there are any."""
        if not self.passed:
            raise JointContractError(f"{self.joint} breaks the contract:\n" + "\n".join(map(str, self.failures)))

    def __str__(self) -> str:
        verdict = "keeps the contract" if self.passed else f"breaks {len(self.failures)} lines of the contract"
        return "\n".join([f"{self.joint} {verdict}", *map(str, self.lines)])


LINES: tuple[Line, ...] = (*STATEMENTS[:3], *MOTION, *REACHED, *STATEMENTS[3:], *RESULTS)


@public
def check_joint(
    joint: JointType | Joint, *, num_samples: int = 12, seed: np.random.Generator | int | None = 0
) -> JointReport:
    """Run the identities of the contract on a joint type, yours for example, and say which lines hold.

    ``num_samples`` random configurations between the joint's bounds (or unbounded) and the zero configuration are
    tried; ``seed`` is a NumPy generator or a seed for one.  What the joint's own methods raise is caught, and the line
    of the report says where.  The report prints as a table; ``check_joint(joint).raise_if_failed()`` is a test.
    """
    held = joint if isinstance(joint, Joint) else Joint.of(joint)
    generator = np.random.default_rng(seed)
    trial = Trial(held, num_samples, generator)
    lines = []
    for line in LINES:
        error, problem = math.nan, ""
        try:
            found = [float(e) for e in line.errors(trial)]
            error = max((math.inf if math.isnan(e) else e for e in found), default=0.0)
        except Exception as raised:
            problem = own_line(raised, type(held.type))
        lines.append(JointLine(line.name, line.identity, error, line.tolerance, problem))
    return JointReport(f"joint type {type(held.type).__name__}", tuple(lines))
