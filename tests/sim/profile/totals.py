#!/usr/bin/env python3
"""Compares the sums of keel profile with the counts of keel sim, and prints the table of docs/how-to/profile.md.

usage: tests/sim/profile/totals.py [KEEL [PROGRAM...]]
KEEL is the program to run; without it, keel on PATH. A PROGRAM is a scheduler's own, as `./x programs` installs it, with
its arguments: "PATH/scx_layered --run-example". Needs clang-19. Exits with 1 if a sum is not the run's own count.
"""

import json
import pathlib
import shlex
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


def own_program(given):
    """Its name, and the arguments that name it to keel."""
    command = shlex.split(given)
    return pathlib.Path(command[0]).name, ["--", *command]


def main():
    print("| scheduler | instructions: run | profile | time in callbacks: run | profile |")
    print("| --- | --- | --- | --- | --- |")
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        objects = [compiled(pathlib.Path(folder), name) for name in OBJECTS]
        schedulers = [(name, [name]) for name in BUILT_IN]
        schedulers += [(path.name.split(".")[0], [path]) for path in objects]
        schedulers += [own_program(given) for given in sys.argv[2:]]
        for name, scheduler in schedulers:
            run = json_of(keel(), "sim", *SCENE, *scheduler)["overhead"]
            instructions, ps = sums(json_of(keel(), "profile", *SCENE, *scheduler))
            if (run["instructions"], run["callback_ns"] * 1000) != (instructions, ps):
                wrong.append(name)
            cells = [f"{run['instructions']:,}", f"{instructions:,}", f"{run['callback_ns']:,} ns", f"{ps:,} ps"]
            print(f"| `{name}` | " + " | ".join(cells) + " |", flush=True)
    if wrong:
        sys.exit("the sums differ: " + ", ".join(wrong))


main()
