"""Check of a joint against the contract of `JointType`: `check_joint`.

Every requirement is an identity that follows from the transform X(q), evaluated on floats at random configurations and
at zero.  The references are the contract's own derivations from X, finite differences, and the other side of the
identity.
"""

from __future__ import annotations

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.contract_report import ContractReport, check_requirements
from linkwork.joints import JointType
from linkwork.robot.joint.joint import Joint
from linkwork.robot.joint_checks.check_context import Line, Trial
from linkwork.robot.joint_checks.declaration_checks import RESULTS, STATEMENTS
from linkwork.robot.joint_checks.motion_checks import MOTION, REACHED

__all__ = ["LINES", "check_joint"]


LINES: tuple[Line, ...] = (*STATEMENTS[:3], *MOTION, *REACHED, *STATEMENTS[3:], *RESULTS)


@public
def check_joint(
    joint: JointType | Joint, *, num_samples: int = 12, seed: np.random.Generator | int | None = 0
) -> ContractReport:
    """Return a report of the contract of `linkwork.joints.JointType`, checked for one joint type.

    Each requirement is evaluated at the zero configuration and at ``num_samples`` random configurations within the
    joint's limits.  ``seed`` is a NumPy generator or a seed.  If a method of the joint raises, the requirement fails,
    and its line of the report names the line of code.  The report prints as a table;
    ``check_joint(joint).raise_if_failed()`` is a test.
    """
    tried = joint if isinstance(joint, Joint) else Joint.of(joint)
    kind = type(tried.type)
    trial = Trial(tried, num_samples, np.random.default_rng(seed))
    return check_requirements(f"joint type {kind.__name__}", LINES, trial, kind, JointType)
