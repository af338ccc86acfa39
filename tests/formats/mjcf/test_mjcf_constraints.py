"""Equality constraints, tendons and contact pairs of MJCF."""

import numpy as np
import pytest

import linkwork as lw
from linkwork._util import own_code
from linkwork.constraints import Ball, Coupling, PolynomialCoupling, Weld
from linkwork.formats.mjcf import contact_pairs

mujoco = pytest.importorskip("mujoco", reason="MJCF is read by MuJoCo's compiler")
pytestmark = pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")

from benchmarks.formats.mjcf_comparison import deviations  # noqa: E402

BODIES = """<worldbody>
  <body name="a" pos=".1 .2 .3" euler="10 20 30"><freejoint/><geom size=".1"/>
  <site name="s" pos=".1 .2 .3" euler="30 0 0"/>
    <body name="b" pos=".2 0 0"><joint name="h1" ref="20"/><geom size=".1" pos=".1 0 0"/>
    <site name="t" pos=".3 .1 0" euler="0 50 0"/>
      <body name="c" pos=".2 0 0"><joint name="h2" axis="0 1 0" ref="-10"/><geom size=".1" pos=".1 0 0"/>
        <body name="d" pos=".2 0 0"><joint name="l" type="slide" ref=".1"/><geom size=".1"/></body></body></body>
        </body>
  <body name="e"><joint name="m" type="slide" axis="1 0 0"/><geom size=".1"/><body name="f" pos=".2 0 0">
  <geom size=".1"/></body></body>
</worldbody>"""

EQUALITIES = {
    '<connect name="x" body1="c" anchor=".1 .2 .3"/>': Ball,
    '<connect name="x" body1="c" body2="e" anchor=".1 .2 .3"/>': Ball,
    '<connect name="x" site1="s" site2="t"/>': Ball,
    '<weld name="x" body1="d"/>': Weld,
    '<weld name="x" body1="d" body2="e" anchor=".1 .2 .3" torquescale="2" relpose="1 2 3 4 5 6 7"/>': Weld,
    '<weld name="x" site1="t" site2="s" torquescale=".5"/>': Weld,
    '<joint name="x" joint1="h1"/>': Coupling,
    '<joint name="x" joint1="l" polycoef=".3"/>': Coupling,
    '<joint name="x" joint1="h1" joint2="h2"/>': Coupling,
    '<joint name="x" joint1="l" joint2="h2" polycoef=".1 -2 0 0 0"/>': Coupling,
    '<joint name="x" joint1="l" joint2="h2" polycoef=".1 -2 3 4 5"/>': PolynomialCoupling,
    '<joint name="x" joint1="h2" joint2="h1" polycoef="0 0 1"/>': PolynomialCoupling,
    '<tendon name="x" tendon1="t1" polycoef=".2"/>': Coupling,
    '<tendon name="x" tendon1="t1" tendon2="t2" polycoef=".2 3"/>': Coupling,
}
TENDONS = """<tendon><fixed name="t1"><joint joint="h1" coef="2"/><joint joint="l" coef="-3"/></fixed>
<fixed name="t2"><joint joint="h2" coef="1.5"/><joint joint="l" coef="1"/></fixed></tendon>"""


def read(text, **options):
    return lw.Robot.from_mujoco(mujoco.MjModel.from_xml_string(f"<mujoco>{text}</mujoco>"), **options)


def test_constraint_residuals_of_mjcf_equal_mujocos():
    for line, kind in EQUALITIES.items():
        model = mujoco.MjModel.from_xml_string(f"<mujoco>{BODIES}{TENDONS}<equality>{line}</equality></mujoco>")
        robot = lw.Robot.from_mujoco(model)
        assert [type(constraint) for constraint in robot.constraints] == [kind], line
        assert not robot.report.repairs, line
        result = deviations(robot.tree, model, count=5)
        assert result["equality"] < 1e-12, (line, result)
        changed = robot.without_constraints("x").tree
        assert deviations(changed, model, count=1)["equality"] == 0.0  # nothing is compared without the constraint


def test_polynomial_couplings_of_mjcf_have_the_stated_error_rate_and_bias():
    robot = read(f'{BODIES}<equality><joint name="x" joint1="l" joint2="h2" polycoef=".1 -2 3 4 5"/></equality>')
    coupling = robot.constraints["x"]
    assert coupling.coefficients == (0.1, -2.0, 3.0, 4.0, 5.0) and coupling.unit == "m"
    assert (coupling.a_reference, coupling.b_reference) == (0.1, pytest.approx(np.radians(-10.0)))
    q = robot.random_configuration(seed=3)
    x = q[robot.joint("h2").q_slice][0] - coupling.b_reference
    error = q[robot.joint("l").q_slice][0] - 0.1 - (0.1 - 2.0 * x + 3.0 * x**2 + 4.0 * x**3 + 5.0 * x**4)
    np.testing.assert_allclose(robot.constraint_error(q), [error], rtol=1e-13)


def test_linear_mjcf_couplings_can_also_be_read_as_mimic_joints():
    lines = """<joint joint1="h1" joint2="h2" polycoef=".2 -3"/><joint joint1="h2" joint2="h1"/>
    <joint joint1="l" joint2="h1" polycoef="0 .1"/>
    <connect body1="d" body2="e" anchor="0 0 0"/>"""
    free, coupled = (read(f"{BODIES}<equality>{lines}</equality>", mimic=x) for x in ("free", "coupled"))
    assert len(free.constraints) == 4 and free.nv == 10 and not free.report.repairs
    assert "MIMIC_FREE" not in [issue.code for issue in free.report.warnings]
    assert (free.joint("h1").mimic.joint, free.joint("h2").mimic, free.joint("l").mimic.joint) == ("h2", None, "h2")
    assert [constraint.name for constraint in coupled.constraints] == ["equality1", "equality3"] and coupled.nv == 8
    q = coupled.random_configuration(seed=1)
    x = q[coupled.joint("h2").q_slice][0]
    X = free.pose({"h1": np.radians(20.0) + 0.2 - 3.0 * (x + np.radians(10.0)), "h2": x}, "c", relative_to="a")
    np.testing.assert_allclose(coupled.pose(q, "c", relative_to="a"), X, atol=1e-14)
    maps = lw.formats.MujocoCoordinates(coupled, mujoco.MjModel.from_xml_string(f"<mujoco>{BODIES}</mujoco>"))
    np.testing.assert_allclose(maps.q(maps.qpos(q)), q)


def test_mimic_followers_of_mjcf_have_coordinates_computed_from_the_followed_joint():
    """Fingers with a ratio of 1, which differ in MuJoCo when they grip."""
    slide = '<body name="{0}"><joint name="{0}" type="slide"/><geom size=".1"/></body>'
    grip = f"<worldbody>{slide.format('l')}{slide.format('r')}</worldbody>"
    text = f'<mujoco>{grip}<equality><joint joint1="r" joint2="l"/></equality></mujoco>'
    model = mujoco.MjModel.from_xml_string(text)
    robot = lw.Robot.from_mujoco(model, mimic="coupled")
    maps = lw.formats.MujocoCoordinates(robot, model)
    assert robot.nv == 1
    np.testing.assert_array_equal(maps.q([0.03, 0.01]), [0.03])
    np.testing.assert_array_equal(maps.v([0.03, 0.01], [0.2, 0.1]), [0.2])
    np.testing.assert_array_equal(maps.qpos([0.03]), [0.03, 0.03])
    np.testing.assert_array_equal(maps.qvel([0.03], [0.2]), [0.2, 0.2])


def test_inactive_mjcf_constraints_are_reported():
    lines = """<weld name="off" body1="a" active="false"/><weld name="within" body1="e" body2="f"/>"""
    robot = read(f"{BODIES}<equality>{lines}</equality>")
    assert not robot.constraints and not robot.report.repairs
    messages = [issue.message for issue in robot.report.warnings]
    assert any("'off': it is not active" in text for text in messages)
    assert any("'within' connects parts of one rigid body" in text for text in messages)
    robot = read(f'<option><flag equality="disable"/></option>{BODIES}<equality><weld body1="a"/></equality>')
    assert not robot.constraints


def test_mjcf_tendons_are_read_or_reported():
    sites = '<site name="u"/></body></worldbody>'
    world = BODIES.replace("</body>\n</worldbody>", sites)
    spatial = '<tendon><spatial name="rope"{}><site site="s"/><site site="u"/></spatial></tendon>'
    for more, code, text in (
        ("", "IGNORED", "is not taken"),
        (' range="0 1" limited="true"', "UNSUPPORTED", "its limits are not taken"),
        (' stiffness="3" springlength="1 2"', "UNSUPPORTED", "its stiffness is not taken"),
        (' stiffness="3" frictionloss="1"', "UNSUPPORTED", "its friction is not taken"),
    ):
        (issue,) = (x for x in read(world + spatial.format(more)).report.warnings if "rope" in x.message)
        assert issue.code == code and text in issue.message, more
    fixed = TENDONS.replace('"t1"', '"t1" stiffness="2" frictionloss="1" limited="true" range="0 1"')
    robot = read(BODIES + fixed)
    (issue,) = robot.report.repairs
    assert issue.message == "fixed tendon 't1': its stiffness, friction and limits are not taken"
    with pytest.raises(lw.errors.ModelError, match="its stiffness, friction and limits"):
        read(BODIES + fixed, strict=True)
    ropes = '<equality><tendon tendon1="rope"/></equality>'
    assert any("spatial tendons" in x.message for x in read(world + spatial.format("") + ropes).report.repairs)


def test_mjcf_tendons_between_two_sites_become_springs():
    world = BODIES.replace("</body>\n</worldbody>", '<site name="u"/></body></worldbody>')
    tendon = (
        '<tendon><spatial name="rope" stiffness="30" damping="4"{}><site site="t"/><site site="u"/></spatial></tendon>'
    )
    for more in ("", ' springlength=".3"'):
        model = mujoco.MjModel.from_xml_string(f"<mujoco>{world}{tendon.format(more)}</mujoco>")
        robot = lw.Robot.from_mujoco(model)
        spring = robot.force_elements["rope"]
        assert (spring.a, spring.b, spring.stiffness, spring.damping) == (
            "t",
            "u",
            30.0,
            4.0,
        ) and not robot.report.repairs
        assert deviations(robot.tree, model, count=3)["passive"] < 1e-12


LEGS = """<worldbody><geom type="plane" size="1 1 1"/>
  <body name="trunk"><freejoint/><geom size=".1"/>
    <body name="thigh"><joint name="x"/><joint name="y" axis="0 1 0"/><geom size=".1"/>
      <body name="shin"><joint/><geom size=".1"/><body name="foot"><geom size=".1"/></body></body></body>
    <body name="arm"><joint/><geom size=".1" contype="2" conaffinity="4"/><body name="hand"><joint/>
    <geom size=".1" contype="0" conaffinity="0"/></body></body>
  </body></worldbody>"""


def pairs_of_mujoco(model):
    """Pairs of bodies whose geoms MuJoCo reports in contact, with all of them in one place."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    bodies = model.geom_bodyid[data.contact.geom]
    return {frozenset(model.body(i).name for i in pair) for pair in bodies}


@pytest.mark.parametrize(
    "contact",
    [
        "",
        '<contact><exclude body1="trunk" body2="shin"/></contact>',
        '<contact><pair geom1="t" geom2="k"/><pair geom1="t" geom2="h"/></contact>',
    ],
)
def test_collision_pairs_of_mjcf_are_those_that_mujoco_checks(contact):
    text = LEGS.replace('<freejoint/><geom size=".1"/>', '<freejoint/><geom name="t" size=".1"/>')
    text = text.replace('axis="0 1 0"/><geom', 'axis="0 1 0"/><geom name="k"').replace(
        'contype="0"', 'name="h" contype="0"'
    )
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{text}{contact}</mujoco>")
    robot = lw.Robot.from_mujoco(model)
    assert {frozenset(pair) for pair in robot.collision_pairs} == pairs_of_mujoco(model)


def random_masks(rng):
    """A model whose bodies have several geoms at one point, with random masks, pairs, excludes and flags."""
    geoms, children = 0, {i: [] for i in range(-1, 6)}
    for i in range(6):
        children[int(rng.integers(-1, i))].append(i)

    def geom():
        nonlocal geoms
        geoms += 1
        contype, conaffinity = (int(x) for x in rng.integers(0, 4, 2))
        return f'<geom name="g{geoms - 1}" size=".1" contype="{contype}" conaffinity="{conaffinity}"/>'

    def body(i):
        joints = "".join(f'<joint axis="{axis}"/>' for axis in ("1 0 0", "0 1 0")[: int(rng.integers(0, 3))])
        own_geoms = "".join(geom() for _ in range(int(rng.integers(1, 4))))
        return (
            f'<body name="b{i}"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>{joints}{own_geoms}'
            + "".join(map(body, children[i]))
            + "</body>"
        )

    text = "".join(geom() for _ in range(2)) + "".join(map(body, children[-1]))
    lines = set()
    while len(lines) < 4:
        a, b = sorted(rng.choice(geoms, 2, replace=False).tolist())
        lines.add(f'<pair geom1="g{a}" geom2="g{b}"/>')
    a, b = rng.choice(6, 2, replace=False).tolist()
    lines.add(f'<exclude body1="b{a}" body2="b{b}"/>')
    flag = "disable" if rng.random() < 0.3 else "enable"
    option = f'<option><flag filterparent="{flag}"/></option>'
    return f"<mujoco>{option}<worldbody>{text}</worldbody><contact>{''.join(sorted(lines))}</contact></mujoco>"


def test_masks_of_very_many_links_or_kinds_of_geoms_are_reported(monkeypatch):
    bodies = "".join(
        f'<body name="b{k}"><joint/><geom size=".1" contype="{k + 1}"/><geom size=".1" contype="8"/></body>'
        for k in range(3)
    )
    text = f"<worldbody>{bodies}</worldbody>"
    monkeypatch.setattr(own_code, "_replaced", {})
    for links, kinds, reported in ((3, 6, False), (2, 6, True), (3, 5, True)):
        monkeypatch.setattr(contact_pairs, "_MOST_LINKS", links)
        monkeypatch.setattr(contact_pairs, "_MOST_KINDS", kinds)
        texts = [x.message for x in read(text).report.repairs]
        assert any("bit masks and explicit pairs of contacts are not taken" in x for x in texts) is reported


def test_powers_of_the_length_of_a_tendon_are_reported_if_they_have_an_effect():
    """The length of one tendon alone is constant: c_0."""
    for second, codes in (("", []), (' tendon2="t2"', ["UNSUPPORTED"])):
        line = f'<equality><tendon name="e" tendon1="t1"{second} polycoef="0.1 0.2 0.3 0 0"/></equality>'
        robot = read(BODIES + TENDONS + line)
        texts = [x.message for x in robot.report.repairs]
        assert [x.code for x in robot.report.repairs if "powers" in x.message] == codes, texts
        assert (len(robot.constraints) == 1) is not bool(codes)


def test_robots_read_from_mjcf_check_the_pairs_of_geoms_that_mujoco_checks():
    rng, separated = np.random.default_rng(3), 0
    assert not lw.Robot.from_mujoco(mujoco.MjModel.from_xml_string("<mujoco/>")).collision_pairs
    for _ in range(40):
        model = mujoco.MjModel.from_xml_string(random_masks(rng))
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        rigid = model.body_weldid[model.geom_bodyid]
        expected = {frozenset(pair) for pair in data.contact.geom.tolist() if rigid[pair[0]] != rigid[pair[1]]}
        robot = lw.Robot.from_mujoco(model)
        geoms = {
            f.name: [model.geom(collision.name).id for collision in f.collisions]
            for f in robot.tree.frames
            if f.collisions
        }
        results = [frozenset((i, j)) for a, b in robot.collision_pairs for i in geoms[a] for j in geoms[b]]
        assert {*results} == expected and len(results) == len(expected)
        separated += len(robot.links) > model.nbody + sum(model.body_jntnum > 1)
    assert separated > 20
