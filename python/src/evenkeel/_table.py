"""Arrow tables: pandas, polars and DuckDB take them as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from . import _native
from ._optional import needs

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class _Exporter(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class Table:
    """A table of a report, one row for each task, name, line or lock.

    It speaks the Arrow PyCapsule interface: give it to ``pyarrow.table``, ``polars.DataFrame`` or
    ``duckdb.from_arrow``. Columns are named as the fields of the JSON; their units come last.
    """

    def __init__(self, native: _native.Table) -> None:
        self._native = native

    def __arrow_c_schema__(self) -> object:
        return self._native.__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        return self._native.__arrow_c_array__(requested_schema)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self._native)

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return self._native.column_names

    def to_arrow(self) -> pyarrow.Table:
        """The table as pyarrow has it; nothing is copied."""
        pa = needs("pyarrow", "arrow")
        table: pyarrow.Table = pa.table(self)
        return table

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a pandas data frame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The table as a polars data frame; nothing is copied."""
        pl = needs("polars", None)
        frame: polars.DataFrame = pl.DataFrame(self)
        return frame

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        rows: list[dict[str, Any]] = self.to_arrow().to_pylist()
        return rows

    def __repr__(self) -> str:
        return f"<Table of {len(self)} rows: {', '.join(self.column_names)}>"

    def _repr_html_(self) -> str:
        import html

        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.column_names)
        rows = self.to_arrow().slice(0, 20).to_pylist()
        cells = ("".join(f"<td>{html.escape(str(value))}</td>" for value in row.values()) for row in rows)
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        more = f"<caption>20 of {len(self)} rows</caption>" if len(self) > 20 else ""
        return f"<table>{more}<tr>{head}</tr>{body}</table>"
