"""Scores a scheduler and its base by keel, and prints a table in Markdown.

score.py SCHEDULER [BASE [SUITE]]

Exit codes: 0 it is no worse than its base; 1 it is worse by more than the noise; any other is keel's.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from typing import Any

# A difference of fewer standard errors is noise.
ERRORS = 3.0


def score(scheduler: str, suite: str) -> dict[str, Any]:
    """What `keel score --json` prints."""
    keel = os.environ.get("KEEL") or "keel"
    made = subprocess.run([keel, "score", "--suite", suite, "--json", "--", scheduler], stdout=subprocess.PIPE, text=True)
    if not made.stdout:
        # Its message is on stderr.
        raise SystemExit(made.returncode or 70)
    scored: dict[str, Any] = json.loads(made.stdout)
    return scored


def is_worse(now: float, now_noise: float, base: float, base_noise: float) -> bool:
    """Is it worse by more than the noise?"""
    noise = math.hypot(now_noise, base_noise)
    return now < base - ERRORS * noise - 1e-9


def code(text: str) -> str:
    """Untrusted text as code in a table."""
    return "`" + "".join(c if c.isprintable() and c not in "`|" else "?" for c in text) + "`"


def table(now: dict[str, Any], base: dict[str, Any] | None) -> str:
    """The table, a row for each part."""
    head = f"{code(now['scheduler'])} scores **{now['score']:.1f} ± {now['noise']:.1f}**"
    if base is not None:
        head += f"; the base branch {base['score']:.1f} ± {base['noise']:.1f}"
    scale = f"100 is as good as {code(now['baseline'])}; suite {code(now['suite'])}, version {now['version']}."
    lines = [head, "", scale, "", "| part | ratio | base | |", "| --- | --- | --- | --- |"]
    for at, part in enumerate(now["parts"]):
        noise = part["ratio"] * part["noise"]
        row = f"| {code(part['name'])} | {part['ratio']:.3f} ± {noise:.3f} |"
        if base is None:
            lines.append(f"{row} | |")
            continue
        other = base["parts"][at]
        other_noise = other["ratio"] * other["noise"]
        worse = is_worse(part["ratio"], noise, other["ratio"], other_noise)
        lines.append(f"{row} {other['ratio']:.3f} ± {other_noise:.3f} | {'worse' if worse else ''} |")
    return "\n".join(lines)


def main(scheduler: str, base: str = "", suite: str = "general") -> int:
    """Prints the table, and gives the exit code."""
    now = score(scheduler, suite)
    before = score(base, suite) if base else None
    print(table(now, before))
    if any(part["failed"] for part in now["parts"]):
        return 3
    return int(before is not None and is_worse(now["score"], now["noise"], before["score"], before["noise"]))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
