"""Ray's processes on this machine, so that a test or a benchmark can kill one."""

from __future__ import annotations

from pathlib import Path


def workers() -> list[int]:
    """Those that do batches of a sweep."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cmdline").read_bytes().startswith(b"ray::batch"):
                found.append(int(process.name))
        except OSError:
            pass  # It has ended.
    return found
