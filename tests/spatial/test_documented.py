"""`linkwork.spatial` is for users: every name and member says what it is, and the room's text names all."""

from __future__ import annotations

import inspect
import re

from linkwork import spatial


def test_every_name_and_member_says_what_it_is() -> None:
    text = inspect.getdoc(spatial) or ""
    for name in spatial.__all__:
        value = getattr(spatial, name)
        assert re.search(rf"`{name}`", text), f"the room's text does not name {name}"
        own = value.__doc__ or ""
        assert own and not own.startswith(f"{name}("), f"{name} has no text but what dataclasses write"
        for member, attribute in vars(value).items() if inspect.isclass(value) else ():
            function = attribute.fget if isinstance(attribute, property) else getattr(attribute, "__func__", attribute)
            if not member.startswith("_") and inspect.isfunction(function):
                assert inspect.getdoc(function), f"{name}.{member}"
