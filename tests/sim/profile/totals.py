#!/usr/bin/env python3
"""Compares the sums of keel profile with the counts of keel sim, and prints the table of docs/how-to/profile.md.

usage: tests/sim/profile/totals.py [KEEL]     KEEL is the program to run; without it, keel on PATH
Needs clang-19. Exits with 1 if a sum is not the run's own count.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from scheduler_objects import compiled, keel

BUILT_IN = ["bsd", "cfs", "fifo", "goodness", "mq", "o1", "percpu", "ule"]
OBJECTS = ["sim/profile/fight", "sim/contention/contended", "objects/race", "objects/tardy", "objects/unfair"]
SCENE = ["--machine", "8", "--workload", "mix:40:80", "--duration", "200ms", "--json"]


def json_of(*command):
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def sums(profile):
    """Instructions and picoseconds, added up instruction by instruction."""
    nodes = [node for node in profile["nodes"] if node["in_callbacks"]]
    counts = [count for node in nodes for count in node["counts"]]
    own = sum(count["executed"] * profile["insn_ps"] + count["lines_ps"] + count["calls_ps"] for count in counts)
    return sum(count["executed"] for count in counts), own + sum(node["entry_ps"] for node in nodes)


def main():
    print("| scheduler | instructions: run | profile | time in callbacks: run | profile |")
    print("| --- | --- | --- | --- | --- |")
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        objects = [compiled(pathlib.Path(folder), name) for name in OBJECTS]
        for scheduler in [*BUILT_IN, *objects]:
            name = scheduler if isinstance(scheduler, str) else scheduler.name.split(".")[0]
            run = json_of(keel(), "sim", scheduler, *SCENE)["overhead"]
            instructions, ps = sums(json_of(keel(), "profile", scheduler, *SCENE))
            if (run["instructions"], run["callback_ns"] * 1000) != (instructions, ps):
                wrong.append(name)
            cells = [f"{run['instructions']:,}", f"{instructions:,}", f"{run['callback_ns']:,} ns", f"{ps:,} ps"]
            print(f"| `{name}` | " + " | ".join(cells) + " |", flush=True)
    if wrong:
        sys.exit("the sums differ: " + ", ".join(wrong))


main()
