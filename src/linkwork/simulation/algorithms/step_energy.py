"""Energy of a step of a system with constraints, to which its velocity is scaled.

Constraints without time dependence do no work, so the energy at the end of a step is known.  Each part of a robot that
constraints connect has an energy of its own, so that bodies beside a mechanism do not change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from linkwork.constraints import Constraint
from linkwork.dynamics.algorithms.momentum.energy_and_power import potential_energy
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, lt, not_, or_, sqrt, where
from linkwork.force_elements import ForceElement
from linkwork.model.body import WORLD, Drive
from linkwork.model.composite_body import without_inertias
from linkwork.model.tree import Tree
from linkwork.model.tree_attachments import referenced_bodies
from linkwork.simulation.algorithms.step_constraints import ConstrainedStep
from linkwork.spatial import Inertia, Pose, Vec3

__all__ = ["ProgramEnergy", "constrained_parts", "is_free", "with_energy"]

Scalars = Sequence[Any]

_LOST, _REGAINED = by_type(1e-12), 100.0  # minimum and maximum factor of the energy correction
_RESTORED = 0.1  # deficit relative to the kinetic energy from which a step that resists restores nothing
_RISES = 1e-5  # accepted rise of the potential energy beyond the kinetic energy and all work, relative to these
_NOISE = by_type(1e-9)  # rounding relative to U


def with_energy(
    tree: Tree,
    q: Scalars,
    result: ConstrainedStep,
    v: Scalars,
    momentum: Scalars,
    energies: Scalars,
    losses: Scalars | None,
    always: bool = True,
    stored: Callable[[Tree, Scalars], Any] | None = None,
    program: ProgramEnergy | None = None,
    passes: Any = True,
) -> list[Any]:
    """Return v (nv) at the end of a step from q, scaled to the energy that the step should have.

    ``momentum`` (nv) is M v, apart from impulses of the constraints. ``energies`` (nv) [J], one for each velocity, are
    the kinetic energy of the start plus the work of forces. They leave out gravity, springs, whose energy is
    ``stored(tree, q)``, and resisting forces, which dissipate the ``losses`` (nv), None if there are none. The
    velocity is scaled in every step if ``always``. Else it is scaled only if the step passed a singular configuration,
    in which the tangent space rotates. With losses a large deficit remains, as springs that are too stiff for the step
    settle. Where a ``program`` acts, the velocity is scaled to the program's energy.

    v is infinite where the step ends with more energy than it had, even at rest: it does not resolve the motion. With
    ``passes`` it is never infinite.
    """
    if result.passed is None or (result.passed is False and not always and program is None):
        return list(v)
    scaled = list(v)
    for part in constrained_parts(tree):
        states = [
            [potential_energy(part.tree, x), 0.0 if stored is None else stored(part.tree, x)] for x in (q, result.end)
        ]
        before, after = states
        works, size = [a - b for a, b in zip(before, after, strict=True)], sum(map(fabs, (*before, *after)))
        part_energies = [energies[k] for k in part.velocities]
        expected = sum(part_energies, 0.0) + sum(works)
        left = 0.5 * sum((v[k] * momentum[k] for k in part.velocities), 0.0)
        floor = fmax(_NOISE * size, by_type(1e-300))
        rises: Any = False
        if always and passes is not True:
            rises = and_(lt(expected, -_RISES * (floor + sum(map(fabs, (*part_energies, *works)), 0.0))), not_(passes))
        if losses is not None:
            expected = expected - fmax(sum((losses[k] for k in part.velocities), 0.0), 0.0)
            deficit = fmax(expected - left, 0.0)
            expected = expected - deficit * fmin(deficit / fmax(_RESTORED * left, floor), 1.0)
        wrong = lt(floor, left)
        if program is not None:
            kinetic = sum((program.kinetic[k] for k in part.velocities), 0.0)
            kinetic = where(program.strikes, fmin(kinetic, expected), kinetic) if always else kinetic
            expected = where(program.acts, kinetic, expected)
            rises = and_(rises, not_(program.acts))
        share = sqrt(fmin(fmax(expected / fmax(left, floor), _LOST), _REGAINED))
        if not always:
            wrong = and_(wrong, result.passed)
        if program is not None:
            wrong = or_(wrong, and_(program.acts, lt(floor, left)))
        for k in part.velocities:
            scaled[k] = where(rises, math.inf, where(wrong, share * v[k], v[k]))
    return scaled


class ProgramEnergy(NamedTuple):
    """Kinetic energy along each velocity (nv) after a program's impulses, where it ``acts``.

    Where it ``strikes``, as an impact does, the step gains no energy.
    """

    acts: Any
    strikes: Any
    kinetic: Scalars


class ConstrainedPart(NamedTuple):
    """Part of a robot that constraints connect: indices of its velocities, and the tree with only its energies."""

    velocities: list[int]
    tree: Tree


def constrained_parts(tree: Tree) -> list[ConstrainedPart]:
    """Return the parts of a robot that constraints and force elements connect.  Between parts there is only the world.

    Parts without constraints are left out.  The energy of the robot is the sum of its parts' energies.  The origin of a
    part is at its first joint, because potential energies round by their distance from the origin.
    """
    tree = replace(tree, frames=without_inertias(tree.frames))  # so that no sums of them are checked
    part = list(range(len(tree.bodies)))

    def join(bodies: Iterable[int]) -> None:
        joined = {part[i] for i in bodies if i != WORLD}
        part[:] = [min(joined) if x in joined else x for x in part]

    for i, p, body in tree.outward():
        join((i, p))
        if body.coupling is not None:
            join((i, tree.joint_index(body.coupling.joint)))
    ties: list[Constraint | ForceElement] = [*tree.constraints, *tree.force_elements]
    tied = {tie: referenced_bodies(tree, tie) for tie in ties}
    for bodies in tied.values():
        join(bodies)

    def of(x: int) -> ConstrainedPart:
        velocities = [k for i, _ in tree.stacked() if part[i] == x for k in range(tree.nv)[tree.v_slices[i]]]
        origin = next(body.placement.translation for i, p, body in tree.outward() if p == WORLD and part[i] == x)
        if all(y == x for y in part):
            return ConstrainedPart(velocities, _moved(tree, -origin))
        bodies = [
            body if part[i] == x else replace(body, inertia=Inertia.zero(), drive=Drive())
            for i, body in enumerate(tree.bodies)
        ]

        def is_own(tie: Constraint | ForceElement) -> bool:
            return {part[i] for i in tied[tie] if i != WORLD} == {x}

        constraints, elements = tuple(filter(is_own, tree.constraints)), tuple(filter(is_own, tree.force_elements))
        alone = replace(tree, bodies=tuple(bodies), constraints=constraints, force_elements=elements)
        return ConstrainedPart(velocities, _moved(alone, -origin))

    connected = {part[i] for constraint in tree.constraints for i in tied[constraint] if i != WORLD}
    return [of(x) for x in sorted(connected)]


def _moved(tree: Tree, by: Vec3) -> Tree:
    """Return the tree with its joints and frames in the world moved."""

    def placed(X: Pose) -> Pose:
        return Pose(X.rotation, X.translation + by)

    bodies = [replace(x, placement=placed(x.placement)) if x.parent == WORLD else x for x in tree.bodies]
    frames = [replace(x, placement=placed(x.placement)) if x.body == WORLD else x for x in tree.frames]
    return replace(tree, bodies=tuple(bodies), frames=tuple(frames))


def is_free(tree: Tree) -> bool:
    """Return True for one root joint of several degrees of freedom without constraints to the world.

    Components of the momentum may then be conserved, which scaled velocities would change.
    """
    roots = [body for _, p, body in tree.outward() if p == WORLD]
    fixed = any(WORLD in referenced_bodies(tree, constraint) for constraint in tree.constraints)
    return len(roots) == 1 and len(roots[0].joint.S(roots[0].joint.zero()).columns) > 1 and not fixed
