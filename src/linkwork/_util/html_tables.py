"""HTML of tables and headings for notebooks; all texts are escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

__all__ = ["html_table", "rows_table", "tag"]

_MAX_ROWS = 200  # of a table; a line below it states the number of all


def tag(name: str, *inner: str, **attributes: str) -> str:
    """Return an element with ``inner`` HTML and escaped attributes; a trailing underscore of a name is dropped."""
    shown = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(x)}"' for key, x in attributes.items())
    return f"<{name}{shown}>{''.join(inner)}</{name}>"


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]], kind: str) -> str:
    """Return an HTML table of texts with at most `_MAX_ROWS` rows.

    If there are more, a line below it states their number; ``kind`` is the plural noun for the rows in this line.
    """
    head = tag("tr", *(tag("th", escape(text)) for text in header))
    body = (tag("tr", *(tag("td", escape(text)) for text in row)) for row in rows[:_MAX_ROWS])
    more = tag("div", escape(f"… and more: {len(rows)} {kind} in all")) if len(rows) > _MAX_ROWS else ""
    return tag("table", head, *body) + more


def rows_table(rows: Iterable[Mapping[str, str]], kind: str) -> str:
    """Return a <table> of rows as mappings from columns to texts; columns in which all texts are empty are left out."""
    listed = [*rows]
    columns = [*dict.fromkeys(column for row in listed for column in row)]
    shown = [column for column in columns if any(row.get(column) for row in listed)]
    return html_table(shown, [[row.get(column, "") for column in shown] for row in listed], kind)
