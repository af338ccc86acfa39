"""The cases by subject: each module of this folder registers its own."""

from importlib import import_module
from pkgutil import iter_modules

__all__ = sorted(module.name for module in iter_modules(__path__))

for _name in __all__:
    import_module(f"{__name__}.{_name}")
