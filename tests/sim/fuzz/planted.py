#!/usr/bin/env python3
"""Searches for the planted bugs of tests/objects with keel fuzz, and prints the table of docs/explanation/fuzz-results.md.

usage: tests/sim/fuzz/planted.py [KEEL]     KEEL is the program to run; without it, keel on PATH
Needs clang-19. Exits with 1 if a bug is not found within a minute.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from scheduler_objects import compiled, keel

# Only the scheduler's own failures count.
OWN = ["--property", "switches >= 0"]
# An object, what must be set for its fault to show, and how a failure of it begins.
PLANTED = [
    ("accounts", [], "error_bpf"),
    ("bad_access", ["--set", "fault=1", "--property", "bad_accesses == 0"], "property"),
    ("bad_affinity", [], "error"),
    ("bad_dsq", [], "error"),
    ("errors", [], "error_bpf"),
    ("exits", [], "unreg_bpf"),
    ("far_node", [], "error"),
    ("forgets", OWN, "error_stall"),
    ("mixed_dsq", [], "error"),
    ("no_events", [], "error_bpf"),
    ("node_mask", [], "error"),
    ("reenqueues", [], "error_bpf"),
    ("spins", [], "error"),
    ("stall", OWN, "error_stall"),
    ("tardy", [], "wasted_core"),
    # Its mutexes make long waits, too, and the first failure ends the search.
    ("unfair", ["--allow", "lock_wait=any"], "long_delay"),
    ("wasteful", [], "wasted_core"),
    ("whole_mask", [], "error"),
]


def size(of):
    us = of["duration_us"]
    time = f"{us / 1e6:.3g} s" if us >= 1_000_000 else f"{us / 1e3:.3g} ms"
    return f"{of['cpus']} / {of['threads']} / {of['steps']} / {of['events']} / {time}"


def search(folder, name, options):
    built = compiled(folder, f"objects/{name}")
    command = [keel(), "fuzz", built, "--seconds", "60", "--json", "-o", folder / "out", *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if done.returncode not in (0, 1):
        sys.exit(f"{name}: keel fuzz ended with {done.returncode}")
    return json.loads(done.stdout)


def main():
    print("| object | how it fails | found in run | before | after | runs to shrink | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        for name, options, kind in PLANTED:
            found = search(pathlib.Path(folder), name, options)
            failure = next((f for f in found["failures"] if f["kind"].split(" ")[0] == kind), None)
            if failure is None:
                missed.append(name)
                continue
            cells = [f"`{name}`", kind, failure["after_runs"], size(failure["before"])]
            cells += [size(failure["after"]), failure["shrink_runs"], f"{found['wall_ns'] / 1e9:.1f}"]
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    if missed:
        sys.exit("not found: " + ", ".join(missed))


main()
