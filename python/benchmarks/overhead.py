"""What a call of `evenkeel.sim` costs besides its run: measure it on an idle machine."""

from __future__ import annotations

import time

import evenkeel

RUNS = 100


def main() -> None:
    took_ms = []
    for seed in range(RUNS):
        begun = time.perf_counter_ns()
        run = evenkeel.sim("fifo", "mix:32:80", 8, duration="50ms", seed=seed)
        took_ms.append((time.perf_counter_ns() - begun - run.wall_ns) / 1e6)
    took_ms.sort()
    print(f"{RUNS} runs: least {took_ms[0]:.3f} ms, median {took_ms[RUNS // 2]:.3f} ms, greatest {took_ms[-1]:.3f} ms")


if __name__ == "__main__":
    main()
