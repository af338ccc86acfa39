"""Loops that cannot close are proved so: by the lengths of four-bars, and by triangles where the crank is fixed."""

import numpy as np
import pytest

import linkwork as lw

HINGE = lw.joints.Revolute((0, 0, 1))


def four_bar(crank, coupler, rocker, ground, base=None, closing=HINGE, shift=0.0):
    """Return a four-bar with hinges A, B, D and C of the loop; links are shifted along the axes."""
    parts = [lw.Link(name, mass=1.0, inertia=(0.1, 0.1, 0.1)) for name in ("crank", "coupler", "rocker")]
    parts += [
        lw.Joint.of(HINGE, name="A", parent="world", child="crank"),
        lw.Joint.of(HINGE, name="B", parent="crank", child="coupler", placement=lw.pose((crank, 0, shift))),
        lw.Joint.of(HINGE, name="D", parent="world", child="rocker", placement=lw.pose((ground, 0, 0))),
    ]
    robot = lw.Robot.build("fourbar", *parts)
    robot = robot.with_frame("coupler tip", "coupler", lw.pose((coupler, 0, -shift)))
    robot = robot.with_frame("rocker tip", "rocker", lw.pose((rocker, 0, 0))).with_loop(
        "C", "coupler tip", "rocker tip", closing
    )
    return robot if base is None else robot.with_base(base)


@pytest.mark.parametrize("closing", [HINGE, lw.joints.Spherical()])
def test_four_bars_with_one_bar_longer_than_the_others_are_proved_not_to_close(closing):
    rng = np.random.default_rng(4)
    base = lw.pose(rng.normal(size=3), rpy=rng.uniform(-3.0, 3.0, 3))
    counts = {True: 0, False: 0}
    ends = (("A", "B"), ("B", "C"), ("C", "D"), ("A", "D"))
    for lengths in [(1.0, 2.0, 3.0, 9.0), (7.0, 1.0, 2.0, 3.0), (1.0, 2.0, 3.0, 6.0 - 1e-6), (2.0, 7.0, 9.0, 6.0)]:
        longest = max(lengths)
        can_close = 2.0 * longest <= sum(lengths)
        result = four_bar(*lengths, base=base, closing=closing).assemble(check=False)
        assert (result.status == "infeasible") == (not can_close), lengths
        counts[can_close] += 1
        if not can_close:
            text = result.explain()
            assert f"is {longest:g} m long, the others reach {sum(lengths) - longest:g} m" in text
            assert all(repr(end) in text for end in ends[lengths.index(longest)]) and "more starts" not in text
            assert "for any joint positions" in text
        else:
            assert result.success
    assert counts == {True: 2, False: 2}


def test_fixed_crank_of_a_four_bar_is_proved_infeasible_where_its_triangle_cannot_close():
    robot = four_bar(2.0, 4.0, 1.5, 4.0)  # the crank cannot turn fully
    angles = np.linspace(-3.0, 3.0, 13)
    pin = np.stack([2.0 * np.cos(angles), 2.0 * np.sin(angles)], axis=-1)
    diagonal = np.linalg.norm(pin - (4.0, 0.0), axis=-1)
    can_close = (diagonal <= 4.0 + 1.5) & (diagonal >= 4.0 - 1.5)
    assert 0 < can_close.sum() < len(angles)
    result = robot.assemble(hold={"A": angles}, check=False)
    assert np.array_equal(np.asarray(result.status) == "infeasible", ~can_close)
    assert np.array_equal(result.success, can_close)
    k = int(np.flatnonzero(~can_close)[0])
    assert "cannot close for these values of 'A'" in result.explain(k)
    with pytest.raises(lw.errors.AssemblyError, match="cannot close for these values of 'A'"):
        robot.assemble(hold={"A": angles[k]})
    motion = robot.drive_mechanism({"A": angles[k] + np.linspace(0.0, 0.1, 3)}, check=False)
    assert motion.status == "infeasible" and "cannot close" in motion.explain()


@pytest.mark.slow(every=3)
def test_loops_with_slides_or_along_their_axes_are_not_called_too_short():
    assert four_bar(2.0, 7.0, 9.0, 6.0, shift=3.0).assemble(check=False).success
    apart = four_bar(1.0, 2.0, 3.0, 9.0, closing=lw.joints.Prismatic((1, 0, 0))).assemble(check=False)
    assert apart.status != "infeasible"
    for name in ("fourbar", "jansen_leg", "delta", "scissor_lift"):
        assert lw.load(name).assemble(check=False).success
