"""Sensor of the positions and forces of contact points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork._util.checked_arguments import public_constructor
from linkwork.simulation.contacts.contact_candidates import frame_pose
from linkwork.simulation.contacts.contact_set import ContactSet
from linkwork.simulation.sensors.sensor import Sensor, SensorInput

__all__ = ["ContactSensor"]

_EACH = 6  # readings of a contact point


@public_constructor
@dataclass(frozen=True)
class ContactSensor(Sensor):
    """Position [m] and force [N] of each contact point, in the world's axes: six readings a point.

    ``contacts`` are the contacts of the simulation; the points are in the order of `Simulation.contact_names`.  A force
    acts on the robot, or on the second link of a pair.  `linkwork.viewer.View.update` draws the forces of a `Simulator`
    with this sensor.

    ``noise``, ``bias`` and ``delay`` are described at `Sensor`.

    >>> import linkwork as lw
    >>> from linkwork.simulation import ContactGround, ContactSensor
    >>> robot = lw.load("quadruped", floating_base=True)
    >>> ground = ContactGround(("front_left_foot", "front_right_foot"), height=-0.3)
    >>> simulator = lw.Simulator(robot, contacts=ground, sensors={"feet": ContactSensor(ground)})
    >>> simulator.readings["feet"].reshape(-1, 6).shape
    (2, 6)

    Raises TypeError for other contacts, and in a simulation ValueError for another number of contact points.
    """

    contacts: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        contacts = ContactSet.of(self.contacts, "convex", "ContactSensor")
        if contacts is None:
            raise TypeError("ContactSensor: contacts: expected the contacts of the simulation, got None")
        object.__setattr__(self, "contacts", contacts)

    def checked(self, robot: Any, has_contacts: bool) -> None:
        if not has_contacts:
            raise ValueError("ContactSensor: expected a simulation with contacts, got none; pass contacts=")
        self.contacts.checked(robot)
        super().checked(robot, has_contacts)

    def size(self, robot: Any) -> int:
        return _EACH * len(self.contacts.names(robot))

    def readings(self, state: SensorInput) -> Sequence[Any]:
        count = len(self.contacts.names(state.robot))
        if len(state.contacts) != count:
            stated = f"{count} points of a simulation with {len(state.contacts)}"
            raise ValueError(f"ContactSensor: contacts: expected the contacts of the simulation, got {stated}")
        result: list[Any] = []
        for candidate, force in state.contacts:
            result += [*(frame_pose(state.robot, state.q, candidate.second).translation + candidate.arms[1]), *force]
        return result
