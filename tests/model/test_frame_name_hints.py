"""Frame names of other libraries: the error states the name in linkwork."""

import pickle

import pytest

import linkwork as lw
from linkwork.errors import UnknownNameError

ARM, DOG = lw.load("arm7"), lw.load("quadruped", floating_base=True)


@pytest.mark.light
@pytest.mark.parametrize(
    ("robot", "name", "remedy"),
    [
        (
            ARM,
            "local",
            'a frame\'s own axes are selected by its name, as in expressed_in="hand": see docs/conventions.md',
        ),
        (ARM, "LOCAL", "a frame's own axes are selected by its name"),
        (ARM, "body", "a frame's own axes are selected by its name"),
        (ARM, "LOCAL_WORLD_ALIGNED", 'are the default, expressed_in="world" without at=: see docs'),
        (ARM, "World", 'the world\'s frame is called "world"'),
        (ARM, "universe", 'the world\'s frame is called "world"'),
        (ARM, "base_link", "the root link is called 'base'"),
        (DOG, "base", "the root link is called 'trunk'"),
        (ARM, "hnad", "did you mean 'hand'?"),
        (ARM, None, "expected a frame's name, a string"),
        (ARM, "ee", "the last frame of the chain is 'tool'; there are 'base', "),
        (DOG, "ee", "the last frame of the chain is 'front_left_foot' or 'front_right_foot' or 'hind_left_foot' or "),
    ],
)
def test_frame_names_of_other_libraries_are_refused_with_linkworks_name(robot, name, remedy):
    q = robot.neutral()
    for ask in (
        lambda: robot.jacobian(q, robot.frames[-1], expressed_in=name),
        lambda: robot.pose(q, name),
        lambda: robot.compile(("pose", robot.frames[-1], {"relative_to": name})),
    ):
        with pytest.raises(UnknownNameError, match=f"no frame named {name!r}; ") as caught:
            ask()
        assert remedy in str(caught.value)
        again = pickle.loads(pickle.dumps(caught.value))
        assert str(again) == str(caught.value) and again.known == caught.value.known


def test_frames_named_base_and_world_are_accepted_without_a_hint():
    assert ARM.pose(ARM.neutral(), "base").shape == (4, 4)
    assert ARM.pose(ARM.neutral(), "world").shape == (4, 4)
