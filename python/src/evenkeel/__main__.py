"""`python -m evenkeel sweep FILE.toml`: what `keel sweep` calls."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from . import KeelError, Sweep
from .sweeps import toml


def main() -> int:
    """Makes the sweep of a file, and prints what it found; the exit code is keel's."""
    parser = argparse.ArgumentParser(prog="keel", description="Searches a scheduler's settings.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    sweep = commands.add_parser("sweep", help="try the points of a space, each with several seeds")
    sweep.add_argument("file", help="a TOML file: scheduler, workload, machine, [space], [objective]")
    sweep.add_argument("--out", help="the folder of the results [default: FILE.sweep]")
    sweep.add_argument("--jobs", type=int, help="runs at a time [default: the host's number of CPUs]")
    sweep.add_argument("--ray", help="the address of a Ray cluster, auto, or local")
    sweep.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    try:
        found = toml.run(args.file, sys.stderr.isatty(), out=args.out, jobs=args.jobs, ray=args.ray)
    except KeelError as error:
        print(f"keel: {error}", file=sys.stderr)
        return error.exit_code
    except ImportError as error:
        print(f"keel: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("keel: stopped by SIGINT; the same command goes on from here", file=sys.stderr)
        return 130
    print(as_json(found) if args.json else found)
    return 0


def as_json(found: Sweep) -> str:
    """What `--json` prints."""
    points = [asdict(tried) for tried in found.tried()]
    front = [tried.number for tried in found.front()]
    whole = {"runs": len(found), "folder": str(found.folder), "digest": found.digest(), "front": front, "points": points}
    return json.dumps(whole, indent=2)


if __name__ == "__main__":
    sys.exit(main())
