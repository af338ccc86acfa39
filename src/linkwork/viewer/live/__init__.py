"""Live page of robots in a browser: joint sliders, a handle with inverse kinematics, layers, and a bar of time."""

from linkwork._util.lazy_imports import public_names

__all__ = ["View", "open_view"]

__getattr__, __dir__ = public_names(
    "linkwork.viewer.live",
    __all__,
    {"linkwork.viewer.live.view": "View", "linkwork.viewer.live.live_page": "open_view"},
)
