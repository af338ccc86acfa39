"""Exact dry friction by block principal pivoting: laws such as Coulomb's, in which joints at rest may stick.

The friction force on a joint that moves is −F(v), which is −f sign(v) by Coulomb's law.  A joint at rest, v = 0, stays
if friction up to its static bound f_s can hold it.  Otherwise it starts against the kinetic friction f = F(0⁺):

    a = 0 and |λ| ≤ f_s,     or     λ = −f sign(a),          M a = τ + τ_p − h + λ.

With one bound b for both, λ minimises ½ aᵀ M a over all |λ| ≤ b: friction dissipates the maximum power, and the motion
is unique.  Pivoting finds it: each joint is guessed to stick or to slide in one direction, and wrong guesses are
replaced, all together while their number decreases, else one at a time, which terminates.
Where f_s > f, several motions may satisfy the law.  The result is the one that follows from breaking away: all joints
at rest have the bound f_s at first, and those that start have f from then on, until no further joint starts.

Sources: Moreau, On unilateral constraints, friction and plasticity, in: New Variational Techniques in Mathematical
Physics, 1974 (the principle of maximal dissipation); Júdice and Pires, A block principal pivoting algorithm for
large-scale strictly monotone linear complementarity problems, Computers & Operations Research 21, 1994; Murty, Note on
a Bard-type scheme for solving the complementarity problem, Opsearch 11, 1974.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

from linkwork.dynamics.algorithms.mass_matrix import mass_solved
from linkwork.expr.control import while_loop
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, eq, fabs, lt, not_, or_, sign, where
from linkwork.model.body import FRICTION_VELOCITY
from linkwork.model.friction_laws import DryFriction, FrictionLaw, same
from linkwork.model.tree import Tree

__all__ = ["dry_friction", "dry_parameters", "starting_friction", "with_dry_friction"]

Scalars = Sequence[Any]

_ROUNDING = by_type(1e-12)  # relative to the bound and the load: excess load that a joint which sticks may have
_PATIENCE = 3.0  # number of rounds in which all wrong guesses may be replaced without a decrease of their number


def dry_friction(tree: Tree, law: FrictionLaw) -> tuple[list[Any], list[Any]]:
    """Return, for each velocity, the kinetic friction F(0⁺) just after the start and the static bound f_s (nv each).

    The values of a joint include those of its followers.
    """
    kinetic: list[Any] = [0.0] * tree.nv
    static: list[Any] = [0.0] * tree.nv
    for body, columns in zip(tree.bodies, tree.v_slices, strict=True):
        for k, dry in zip(range(tree.nv)[columns], body.dry_friction, strict=True):
            kinetic[k] += abs(body.ratio) * law.magnitude(0.0, dry)
            static[k] += abs(body.ratio) * dry.static
    return kinetic, static


def starting_friction(tree: Tree, v: Scalars, a: Scalars, law: FrictionLaw) -> list[Any]:
    """Return the friction force λ (nv) on joints that start from rest, against their acceleration a.

    It is zero for joints that move.
    """
    result: list[Any] = []
    for x, rate, dry in zip(v, a, dry_parameters(tree), strict=True):
        result.append(0.0 if law.vanishes(dry) else 0.0 - law.starting(x, rate, dry))
    return result


def dry_parameters(tree: Tree) -> list[DryFriction]:
    """Return the dry-friction parameters for each velocity (nv), summed over the joint and its followers.

    The friction velocity is that of the joint itself, without followers.
    """
    sliding: list[Any] = [0.0] * tree.nv
    static: list[Any] = [0.0] * tree.nv
    speed: list[Any] = [FRICTION_VELOCITY] * tree.nv
    for body, columns in zip(tree.bodies, tree.v_slices, strict=True):
        for k, dry in zip(range(tree.nv)[columns], body.dry_friction, strict=True):
            sliding[k] += abs(body.ratio) * dry.sliding
            static[k] += abs(body.ratio) * dry.static
            if body.coupling is None:
                speed[k] = dry.velocity
    return [DryFriction(*parameters) for parameters in zip(sliding, static, speed, strict=True)]


def with_dry_friction(tree: Tree, v: Scalars, M: Sequence[Scalars], forces: Scalars, law: FrictionLaw) -> list[Any]:
    """Return the accelerations a (nv) of a robot whose joints at rest have dry friction λ: M a = forces + λ.

    The forces include the friction of joints that move.  Where a joint sticks, its a is exactly 0.
    """
    kinetic, static = dry_friction(tree, law)
    dry = [k for k, most in enumerate(static) if not is_zero(most)]
    problem = _Problem(tree, M, forces, kinetic, static, {k: eq(v[k], 0.0) for k in dry})
    start = _Guess((0.0,) * len(dry), (0.0,) * len(dry), float(len(dry) + 1), _PATIENCE, 1.0)
    result = while_loop(lambda guess: lt(0.5, guess.going), problem.pivoted, start, max_iterations=100 + 20 * len(dry))
    slides = [sign(x) for x in result.state.slides]  # sign() drops derivatives of the guess
    a, _, _ = problem.moved(slides, result.state.started)
    return a


class _Guess(NamedTuple):
    """Guess, for each joint with dry friction, if it sticks or in which direction it starts."""

    slides: tuple[Any, ...]  # direction in which a joint at rest starts, 1 or −1, and 0 where it sticks
    started: tuple[Any, ...]  # 1 where the joint has the kinetic bound
    fewest: Any  # smallest number of wrong guesses so far
    patience: Any
    going: Any  # 1 while some guess is wrong


@dataclass(frozen=True, slots=True)
class _Problem:
    tree: Tree
    M: Sequence[Scalars]
    forces: Scalars
    kinetic: Scalars
    static: Scalars
    resting: dict[int, Any]  # True where a joint is at rest, by index in v, for velocities with dry friction

    def moved(self, slides: Scalars, started: Scalars) -> tuple[list[Any], dict[int, Any], dict[int, Any]]:
        """Return the accelerations if the joints stick or slide as guessed, with two dicts by index in v.

        The first dict tells which joints stick, the second has the bounds on their friction. ``slides`` has the sign
        of each joint's motion, 0 if it sticks. ``started`` is 1 for joints that have broken away, which only kinetic
        friction holds.
        """
        bounds, sticks, pushed = {}, {}, list(self.forces)
        for (k, rests), direction, now in zip(self.resting.items(), slides, started, strict=True):
            shared = same(self.static[k], self.kinetic[k])
            bounds[k] = self.static[k] if shared else where(lt(0.5, now), self.kinetic[k], self.static[k])
            sticks[k] = and_(rests, eq(direction, 0.0))
            pushed[k] = where(sticks[k], 0.0, pushed[k] - bounds[k] * direction)
        rows = [[self._element(i, j, x, sticks) for j, x in enumerate(row)] for i, row in enumerate(self.M)]
        return mass_solved(self.tree, rows, pushed), sticks, bounds

    @staticmethod
    def _element(i: int, j: int, x: Any, sticks: dict[int, Any]) -> Any:
        """Return element (i, j) of the matrix M in which each joint that sticks has the equation a = 0."""
        fixed = [sticks[k] for k in dict.fromkeys((i, j)) if k in sticks]
        return where(reduce(or_, fixed), float(i == j), x) if fixed else x

    def pivoted(self, guess: _Guess) -> _Guess:
        """Return the next guess of which joints stick and which slide: wrong guesses are replaced."""
        a, sticks, bounds = self.moved(guess.slides, guess.started)
        wrong, instead, broken = [], [], []
        for k, direction, now in zip(self.resting, guess.slides, guess.started, strict=True):
            load = sum((x * y for x, y in zip(self.M[k], a, strict=True)), 0.0) - self.forces[k]
            excess = fabs(load) - bounds[k] - _ROUNDING * (bounds[k] + fabs(self.forces[k]))
            wrong.append(or_(and_(sticks[k], lt(0.0, excess)), lt(a[k] * direction, 0.0)))
            instead.append(where(sticks[k], sign(load) * -1.0, 0.0))
            broken.append(and_(lt(now, 0.5), lt(0.0, a[k] * direction)))
        many = _count(wrong)
        going = lt(0.0, many)
        fewer = lt(many, guess.fewest)
        patience = where(fewer, _PATIENCE, guess.patience - 1.0)
        at_once, before, slides = lt(0.0, patience), 0.0, []
        for direction, false, alternative in zip(guess.slides, wrong, instead, strict=True):
            slides.append(where(and_(false, or_(at_once, eq(before, 0.0))), alternative, direction))
            before = before + where(false, 1.0, 0.0)
        fewest = where(fewer, many, guess.fewest)
        if all(same(self.static[k], self.kinetic[k]) for k in self.resting):
            return _Guess(tuple(slides), guess.started, fewest, patience, where(going, 1.0, 0.0))
        restarts = and_(not_(going), lt(0.0, _count(broken)))
        started = tuple(where(and_(restarts, x), 1.0, now) for x, now in zip(broken, guess.started, strict=True))
        fewest, patience = where(restarts, float(len(wrong) + 1), fewest), where(restarts, _PATIENCE, patience)
        return _Guess(tuple(slides), started, fewest, patience, where(or_(going, restarts), 1.0, 0.0))


def _count(truths: Scalars) -> Any:
    return sum((where(x, 1.0, 0.0) for x in truths), 0.0)
