"""Bundled robots in Pinocchio and MuJoCo: masses, limits, agreement of both, and mirrored sides."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
import pytest

from robots.shipped import (
    TRIES,
    Posture,
    every_robot,
    frame_pose,
    massive_links,
    moving_joints,
    mujoco_data,
    mujoco_mass_matrix,
    mujoco_model,
    pinocchio_mass_matrix,
    pinocchio_model,
    pinocchio_q,
    random_posture,
    values,
    velocity_map,
    xml_of,
    zero_posture,
)


@every_robot
def test_inertias_of_bundled_robots_are_physical(robot):
    inertias = [inertia for inertia in pinocchio_model(robot.name, robot.floating).inertias if inertia.mass > 0]
    assert len(inertias) > robot.joints
    theirs = mujoco_model(robot.name, robot.floating)
    moments = [np.linalg.eigvalsh(inertia.inertia) for inertia in inertias]
    moments += [np.sort(row) for row, mass in zip(theirs.body_inertia, theirs.body_mass, strict=True) if mass > 0]
    for smallest, middle, largest in moments:
        assert smallest > 0
        assert smallest + middle > largest * (1 + 1e-6)


@every_robot
def test_degrees_of_freedom_and_masses_of_bundled_robots_equal_pinocchios_and_mujocos(robot):
    ours, theirs = pinocchio_model(robot.name, robot.floating), mujoco_model(robot.name, robot.floating)
    base = 6 if robot.floating else 0
    assert ours.nv == theirs.nv == robot.joints + base
    assert theirs.nbody == robot.links + 1
    written = sum(float(link.find("inertial/mass").get("value")) for link in massive_links(robot.name))
    assert written == pytest.approx(robot.mass, rel=1e-12)
    assert sum(inertia.mass for inertia in ours.inertias) == pytest.approx(robot.mass, rel=1e-12)
    assert sum(theirs.body_mass) == pytest.approx(robot.mass, rel=1e-12)


@every_robot
def test_limits_of_bundled_robots_equal_pinocchios_and_mujocos(robot):
    ours, theirs = pinocchio_model(robot.name, robot.floating), mujoco_model(robot.name, robot.floating)
    for joint in moving_joints(robot.name):
        name, limit = joint.get("name"), joint.find("limit")
        index = ours.getJointId(name)
        speed = ours.upperVelocityLimit if hasattr(ours, "upperVelocityLimit") else ours.velocityLimit
        assert speed[ours.idx_vs[index]] == float(limit.get("velocity"))
        assert theirs.dof_damping[theirs.joint(name).dofadr[0]] == float(joint.find("dynamics").get("damping"))
        assert theirs.dof_frictionloss[theirs.joint(name).dofadr[0]] == float(joint.find("dynamics").get("friction"))
        bounded = joint.get("type") != "continuous"
        assert theirs.jnt_limited[theirs.joint(name).id] == bounded
        if bounded:
            written = [float(limit.get("lower")), float(limit.get("upper"))]
            row = ours.idx_qs[index]
            assert [ours.lowerPositionLimit[row], ours.upperPositionLimit[row]] == written
            np.testing.assert_array_equal(theirs.jnt_range[theirs.joint(name).id], written)


@every_robot
def test_pinocchio_and_mujoco_agree_on_the_physics_of_bundled_robots(robot):
    """Positions of links, mass matrices and gravity forces."""
    rng = np.random.default_rng(sum(robot.name.encode()))
    ours, theirs = pinocchio_model(robot.name, robot.floating), mujoco_model(robot.name, robot.floating)
    for _ in range(TRIES):
        posture = random_posture(robot.name, rng)
        q, data = pinocchio_q(ours, posture, robot.floating), mujoco_data(theirs, posture, robot.floating)
        for link in xml_of(robot.name).findall("link"):
            pose, body = frame_pose(ours, q, link.get("name")), data.body(link.get("name"))
            np.testing.assert_allclose(pose.translation, body.xpos, atol=1e-12)
            np.testing.assert_allclose(pose.rotation, body.xmat.reshape(3, 3), atol=1e-12)
        to_theirs = velocity_map(robot.name, robot.floating, posture)
        mass_matrix = pinocchio_mass_matrix(ours, q)
        assert np.linalg.eigvalsh(mass_matrix)[0] > 0
        np.testing.assert_allclose(mass_matrix, to_theirs.T @ mujoco_mass_matrix(theirs, data) @ to_theirs, atol=1e-9)
        gravity = pin.computeGeneralizedGravity(ours, ours.createData(), q)
        np.testing.assert_allclose(gravity, to_theirs.T @ data.qfrc_bias, atol=1e-9)


@every_robot
def test_zero_configuration_of_bundled_robots_is_free_of_contact(robot):
    theirs = mujoco_model(robot.name, robot.floating)
    assert mujoco_data(theirs, zero_posture(robot.name), robot.floating).ncon == 0


@dataclass(frozen=True)
class Mirror:
    """A reflection of the robot: two names change places, one coordinate changes its sign."""

    names: tuple[str, str]
    flipped: int  # the coordinate: 0 for x, 1 for y

    def name(self, name: str) -> str:
        words = {self.names[0]: self.names[1], self.names[1]: self.names[0]}
        return "_".join(words.get(word, word) for word in name.split("_"))

    @property
    def vector(self) -> np.ndarray:
        """The signs that a reflection gives a vector; those of an axis of rotation are the opposite."""
        return np.where(np.arange(3) == self.flipped, -1.0, 1.0)

    def joint_sign(self, joint: ET.Element) -> float:
        assert joint.get("type") == "revolute"
        return float(-self.vector @ values(joint.find("axis"), "xyz"))

    def posture(self, name: str, posture: Posture) -> Posture:
        signs = {joint.get("name"): self.joint_sign(joint) for joint in moving_joints(name)}
        joints = {self.name(joint): signs[joint] * angle for joint, angle in posture.joints.items()}
        quaternion = np.append(-self.vector, 1.0) * posture.quaternion
        return Posture(joints, self.vector * posture.position, quaternion)

    def velocity_map(self, name: str) -> np.ndarray:
        model = pinocchio_model(name, True)
        out = np.zeros((model.nv, model.nv))
        out[:3, :3], out[3:6, 3:6] = np.diag(self.vector), np.diag(-self.vector)
        for joint in moving_joints(name):
            name_of_joint, mirrored_name = joint.get("name"), self.name(joint.get("name"))
            out[model.idx_vs[model.getJointId(mirrored_name)], model.idx_vs[model.getJointId(name_of_joint)]] = (
                self.joint_sign(joint)
            )
        return out


LEFT_RIGHT, FRONT_HIND = Mirror(("left", "right"), 1), Mirror(("front", "hind"), 0)
every_symmetry = pytest.mark.parametrize(
    ("name", "mirror"),
    [("humanoid", LEFT_RIGHT), ("quadruped", LEFT_RIGHT), ("quadruped", FRONT_HIND)],
    ids=["humanoid-left-right", "quadruped-left-right", "quadruped-front-hind"],
)


@every_symmetry
def test_mirrored_postures_of_bundled_robots_have_mirrored_poses_and_mass_matrices(name, mirror):
    """Every link is in the mirrored position."""
    rng = np.random.default_rng(7)
    model = pinocchio_model(name, True)
    links = [link.get("name") for link in xml_of(name).findall("link")]
    for _ in range(TRIES):
        posture = random_posture(name, rng)
        q = pinocchio_q(model, posture, True)
        mirrored_q = pinocchio_q(model, mirror.posture(name, posture), True)
        for link in links:
            pose, image = frame_pose(model, q, link), frame_pose(model, mirrored_q, mirror.name(link))
            np.testing.assert_allclose(image.translation, mirror.vector * pose.translation, atol=1e-12)
            reflected = np.diag(mirror.vector) @ pose.rotation @ np.diag(mirror.vector)
            np.testing.assert_allclose(image.rotation, reflected, atol=1e-12)
        swap = mirror.velocity_map(name)
        np.testing.assert_allclose(
            pinocchio_mass_matrix(model, mirrored_q), swap @ pinocchio_mass_matrix(model, q) @ swap.T, atol=1e-12
        )


@every_symmetry
def test_mirrored_joints_of_bundled_robots_have_mirrored_limits(name, mirror):
    joints = {joint.get("name"): joint for joint in moving_joints(name)}
    for joint in joints.values():
        limit, image = joint.find("limit"), joints[mirror.name(joint.get("name"))].find("limit")
        bounds = [mirror.joint_sign(joint) * float(limit.get(key)) for key in ("lower", "upper")]
        assert sorted(bounds) == [float(image.get("lower")), float(image.get("upper"))]
        assert (limit.get("effort"), limit.get("velocity")) == (image.get("effort"), image.get("velocity"))
