"""Results as a partitioned Parquet data set: each file appears whole or not at all, and holds runs that no other holds."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import InputError
from .._optional import needs

if TYPE_CHECKING:
    import pyarrow

POINTS_A_PARTITION = 1000
PLAN = "sweep.json"

Row = dict[str, Any]
Key = tuple[int, int]


class Store:
    """The folder of a sweep: its plan, and the runs that were made."""

    def __init__(self, folder: str | os.PathLike[str], plan: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(plan, sort_keys=True, indent=1)
        there = self.folder / PLAN
        if not there.exists():
            _write_whole(there, text.encode())
        elif there.read_text() != text:
            raise InputError(f"{self.folder} holds another sweep; name another folder, or remove it")
        self.rows: dict[Key, Row] = {}
        for row in self._read():
            self.rows[row["point"], row["seed"]] = row

    def add(self, rows: Iterable[Row]) -> None:
        """Writes rows of runs that were just made. Those that are there already are left out."""
        new = [row for row in rows if (row["point"], row["seed"]) not in self.rows]
        by_partition: dict[int, list[Row]] = {}
        for row in new:
            by_partition.setdefault(row["point"] // POINTS_A_PARTITION, []).append(row)
        pa, parquet = needs("pyarrow", "sweep"), needs("pyarrow.parquet", "sweep")
        for partition, part in by_partition.items():
            folder = self.folder / f"points={partition}"
            folder.mkdir(exist_ok=True)
            keys = json.dumps([(row["point"], row["seed"]) for row in part]).encode()
            sink = pa.BufferOutputStream()
            parquet.write_table(pa.Table.from_pylist(part), sink)
            name = f"{hashlib.sha256(keys).hexdigest()[:24]}.parquet"
            _write_whole(folder / name, sink.getvalue().to_pybytes())
        for row in new:
            self.rows[row["point"], row["seed"]] = row

    def table(self) -> pyarrow.Table:
        """All runs, by point and seed: the same table however it was made."""
        pa = needs("pyarrow", "sweep")
        rows = [self.rows[key] for key in sorted(self.rows)]
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {name: [row.get(name) for row in rows] for name in names}
        return pa.table(columns)

    def digest(self) -> str:
        """SHA-256 of all runs: equal where the same runs gave the same results."""
        rows = [self.rows[key] for key in sorted(self.rows)]
        return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()

    def _read(self) -> Iterable[Row]:
        parquet = needs("pyarrow.parquet", "sweep")
        for path in sorted(self.folder.glob("points=*/*.parquet")):
            yield from parquet.ParquetFile(path).read().to_pylist()


def _write_whole(path: Path, content: bytes) -> None:
    """A file that exists completely, or not at all, whenever this process ends."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
