"""Events of the controls of a viser page, which only post jobs and never wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["when_changed", "when_clicked"]


def when_changed(control: Any, act: Callable[[Any], Any]) -> None:
    """Call ``act(value)`` when somebody changes a control in a page, not when a program sets its value."""

    async def changed(event: Any) -> None:
        if event.client_id is not None:
            act(event.target.value)

    control.on_update(changed)


def when_clicked(button: Any, act: Callable[[], Any]) -> None:
    """Call ``act()`` when somebody clicks a button."""

    async def clicked(event: Any) -> None:
        act()

    button.on_click(clicked)
