"""Features: what problems of optimal motion are made of, a kind or a family a file."""

from .contract import Feature as Feature
from .contract import FeatureRows as FeatureRows
from .contract import TaskFeature as TaskFeature
from .contract import Window as Window
from .motion import AccelerationFeature as AccelerationFeature
from .motion import ConfigurationFeature as ConfigurationFeature
from .motion import JerkFeature as JerkFeature
from .motion import VelocityFeature as VelocityFeature

BY_NAME: dict[str, type[Feature]] = {
    "configuration": ConfigurationFeature,
    "velocity": VelocityFeature,
    "acceleration": AccelerationFeature,
    "jerk": JerkFeature,
}
"""What problems know by a name alone: each is made without arguments."""

__all__ = [
    "BY_NAME",
    "AccelerationFeature",
    "ConfigurationFeature",
    "Feature",
    "FeatureRows",
    "JerkFeature",
    "TaskFeature",
    "VelocityFeature",
    "Window",
]
