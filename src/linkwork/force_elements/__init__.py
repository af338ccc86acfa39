"""Force elements between bodies: springs, dampers and bushings."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.force_elements.all_kinds import ALL
    from linkwork.force_elements.bushing import Bushing
    from linkwork.force_elements.force_element import ForceElement, Marks, Resistance
    from linkwork.force_elements.force_element_contract import check_force_element
    from linkwork.force_elements.spring_damper import SpringDamper

__all__ = ["ALL", "Bushing", "ForceElement", "Marks", "Resistance", "SpringDamper", "check_force_element"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(
        __name__,
        __all__,
        {
            "linkwork.force_elements.all_kinds": "ALL",
            "linkwork.force_elements.bushing": "Bushing",
            "linkwork.force_elements.force_element": "ForceElement Marks Resistance",
            "linkwork.force_elements.force_element_contract": "check_force_element",
            "linkwork.force_elements.spring_damper": "SpringDamper",
        },
    )
