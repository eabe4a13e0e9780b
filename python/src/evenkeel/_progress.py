"""Progress bars by tqdm, over virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ._optional import needs

if TYPE_CHECKING:
    from ._native import Progress


@contextmanager
def over(total_ns: int, wanted: bool) -> Iterator[Progress]:
    """What a run is to call with the virtual nanoseconds that are simulated."""
    if not wanted:
        yield None
        return
    tqdm = needs("tqdm.auto", "progress").tqdm
    with tqdm(total=round(total_ns / 1e9, 3), unit="s", bar_format="{l_bar}{bar}| {n:.2f}/{total} virtual s") as bar:

        def reached(ns: int) -> None:
            bar.n = ns / 1e9
            # Some work turns out to need more than was known when it began.
            bar.total = max(bar.total, bar.n)
            bar.refresh()

        yield reached
