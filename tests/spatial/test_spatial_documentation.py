"""`linkwork.spatial`: every public name and member has a docstring, and the package's docstring lists all names."""

from __future__ import annotations

import inspect
import re

from linkwork import spatial


def test_every_name_and_member_of_the_spatial_package_is_documented() -> None:
    text = inspect.getdoc(spatial) or ""
    for name in spatial.__all__:
        value = getattr(spatial, name)
        assert re.search(rf"`{name}`", text), f"the room's text does not name {name}"
        docstring = value.__doc__ or ""
        assert docstring and not docstring.startswith(f"{name}("), f"{name} has no text but what dataclasses write"
        for member, attribute in vars(value).items() if inspect.isclass(value) else ():
            function = attribute.fget if isinstance(attribute, property) else getattr(attribute, "__func__", attribute)
            if not member.startswith("_") and inspect.isfunction(function):
                assert inspect.getdoc(function), f"{name}.{member}"
