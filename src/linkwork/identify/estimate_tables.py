"""Tables of estimates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork._util.messages import label, number, table
from linkwork.parameters import JOINT_NAMES

__all__ = ["body_lines", "error_lines", "estimate_lines", "joint_lines", "pose_lines"]


def estimate_lines(
    names: Sequence[str], values: np.ndarray, deviations: np.ndarray, nominal: np.ndarray, essential: np.ndarray
) -> list[str]:
    """Return the lines of a table of estimates, with marks at values not significantly different from zero."""
    rows = []
    for name, x, s, robot_value, is_significant in zip(names, values, deviations, nominal, essential, strict=True):
        percent = f"{100.0 * s / abs(x):.3g} %" if x and s < 10.0 * abs(x) else "> 1000 %"
        rows.append(
            [
                label(name),
                number(x),
                f"{s:.3g}",
                percent,
                number(robot_value),
                "" if is_significant else "not distinct from zero",
            ]
        )
    return table(["parameter", "estimate", "σ", "σ relative", "robot", ""], rows, left=(0, 5))


def error_lines(names: Sequence[str], residual: np.ndarray, r_squared: np.ndarray, held_out: Any) -> list[str]:
    """Return the lines of a table by joint force: residuals, R², and errors at held-out samples."""
    header = ["joint force [N·m, N]", "residual rms", "R²"]
    if held_out is not None:
        header += [f"held-out rms ({held_out.samples})", "robot's", "ratio"]
    rows = []
    for k, name in enumerate(names):
        row = [label(name), f"{residual[k]:.4g}", _fraction(r_squared[k])]
        if held_out is not None:
            row += [f"{held_out.error[k]:.4g}", f"{held_out.nominal_error[k]:.4g}", _fraction(held_out.relative[k])]
        rows.append(row)
    return table(header, rows)


def _fraction(x: float) -> str:
    return f"{x:.4f}" if np.isfinite(x) else "-"


def body_lines(
    values: np.ndarray, deviations: np.ndarray, nominal: np.ndarray, divergence: dict[str, float]
) -> list[str]:
    """Return the lines of a table of bodies: mass and first moments with deviations, and the divergence."""
    rows = []
    for k, (body, distance) in enumerate(divergence.items()):
        at = slice(10 * k, 10 * k + 4)
        cells = [f"{x:.4g} ± {s:.2g}" for x, s in zip(values[at], deviations[at], strict=True)]
        rows.append([label(body), cells[0], f"{nominal[10 * k]:.4g}", *cells[1:], f"{distance:.3g}"])
    header = ["body", "mass [kg]", "robot's", "h_x [kg·m]", "h_y", "h_z", "inertia_divergence"]
    return table(header, rows) if rows else []


def joint_lines(
    names: Sequence[str], values: np.ndarray, deviations: np.ndarray, nominal: np.ndarray, at_bound: Sequence[str]
) -> list[str]:
    """Return the lines of a table of joint parameters, after an empty line; [] without joint parameters."""
    rows = [
        [label(name), number(x), f"{s:.3g}", number(robot_value), "at its bound" if name in at_bound else ""]
        for name, x, s, robot_value in zip(names, values, deviations, nominal, strict=True)
        if name.rpartition(".")[2] in JOINT_NAMES
    ]
    return ["", *table(["joint", "estimate", "σ", "robot", ""], rows, left=(0, 4))] if rows else []


def pose_lines(fit: Any) -> list[str]:
    """Return the lines of a table of offsets, and then the errors of poses before and after calibration.

    The line of an offset names other offsets that poses do not distinguish from it.
    """
    rows = []
    for name, x, s, expression in zip(
        fit.names, fit.values, fit.standard_deviations, fit.identifiable.expressions(), strict=True
    ):
        rows.append([label(name), f"{x:.6f}", f"{s:.2g}", label(expression) if expression != name else ""])
    lines = table(["offset [rad, m]", "estimate", "σ", "stands for"], rows, left=(0, 3))
    header = ["error [rad, m]", "before", "after"]
    header += [f"held-out ({fit.held_out.samples})"] if fit.held_out is not None else []
    rows = []
    for k, name in enumerate(("phi_x", "phi_y", "phi_z", "d_x", "d_y", "d_z")[-len(fit.residual) :]):
        errors = [f"{fit.held_out.error[k]:.3g}"] if fit.held_out is not None else []
        rows.append([name, f"{fit.initial_residual[k]:.3g}", f"{fit.residual[k]:.3g}", *errors])
    return [*lines, "", *table(header, rows)]
