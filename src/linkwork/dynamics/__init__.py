"""Values that dynamics returns: base parameters of a robot.

The functions are methods of `linkwork.Robot`; `linkwork.parameters` has functions of the inertial parameters of a body.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.dynamics.base_parameters import BaseParameters as BaseParameters


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.dynamics.base_parameters": "BaseParameters",
        },
    )
