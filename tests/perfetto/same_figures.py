#!/usr/bin/env python3
"""Reads a Perfetto trace by the published protos (pip install perfetto), and compares it with keel check --json.

same_figures.py TRACE.pftrace CHECK.json: the switches, and each pid's CPU time. Exit code 1 where they differ.
"""

import json
import sys
from collections import defaultdict

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace


def figures(path):
    """Switches, nanoseconds by pid, and wakeups of a Perfetto trace."""
    trace = Trace()
    with open(path, "rb") as file:
        trace.ParseFromString(file.read())
    switches, wakeups, ran, since = 0, 0, defaultdict(int), {}
    for packet in trace.packet:
        for event in packet.ftrace_events.event:
            wakeups += event.HasField("sched_waking")
            if not event.HasField("sched_switch"):
                continue
            switches += 1
            cpu, told = packet.ftrace_events.cpu, event.sched_switch
            pid, begun = since.get(cpu, (0, 0))
            assert pid == told.prev_pid, f"CPU {cpu} ran {pid}, and {told.prev_pid} leaves it"
            ran[pid] += event.timestamp - begun
            since[cpu] = (told.next_pid, event.timestamp)
    return switches, wakeups, ran, since


def main():
    switches, wakeups, ran, since = figures(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:
        check = json.load(file)
    # What runs at the end counts until then.
    for pid, begun in since.values():
        ran[pid] += check["duration_ns"] - begun
    expected = defaultdict(int)
    for task in check["tasks"]:
        expected[task["pid"]] += task["cpu_ns"]
    wrong = [pid for pid in expected if ran[pid] != expected[pid]]
    print(f"switches {switches} of {check['switches']}, wakeups {wakeups} of {check['wakeups']}, "
          f"{len(expected) - len(wrong)} of {len(expected)} pids with the same CPU time")
    return int(bool(wrong) or (switches, wakeups) != (check["switches"], check["wakeups"]))


if __name__ == "__main__":
    sys.exit(main())
