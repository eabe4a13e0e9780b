"""What the scripts below this folder share: which keel to run, and how schedulers are compiled. Needs clang-19."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLANG = ["clang-19", "-mcpu=v3", "-target", "bpf", "-O2", "-g", "-c", "-w"]


def keel():
    """The program of the first argument, or keel on PATH."""
    return pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else "keel"


def compiled(folder, name):
    """The object of tests/NAME.bpf.c, in that folder."""
    built = folder / f"{pathlib.Path(name).name}.bpf.o"
    includes = [f"-I{ROOT / part}" for part in ("schedulers/include", "crates/kernel/btf")]
    subprocess.run([*CLANG, *includes, "-o", built, ROOT / f"tests/{name}.bpf.c"], check=True)
    return built
