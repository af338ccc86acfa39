"""Live page of robots in a browser: joint sliders, a handle with inverse kinematics, layers, and a bar of time."""

from linkwork._util.lazy_imports import public_names

__getattr__, __dir__, __all__ = public_names("linkwork.viewer.live", {"linkwork.viewer.live.view": "View open_view"})
