"""Force elements between bodies: springs, dampers and bushings."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.force_elements.all_kinds import ALL as ALL
    from linkwork.force_elements.bushing import Bushing as Bushing
    from linkwork.force_elements.force_element import ForceElement as ForceElement
    from linkwork.force_elements.force_element import Marks as Marks
    from linkwork.force_elements.force_element import Resistance as Resistance
    from linkwork.force_elements.force_element_contract import check_force_element as check_force_element
    from linkwork.force_elements.spring_damper import SpringDamper as SpringDamper


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.force_elements.all_kinds": "ALL",
            "linkwork.force_elements.bushing": "Bushing",
            "linkwork.force_elements.force_element": "ForceElement Marks Resistance",
            "linkwork.force_elements.force_element_contract": "check_force_element",
            "linkwork.force_elements.spring_damper": "SpringDamper",
        },
    )
