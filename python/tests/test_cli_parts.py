"""What stands on the command line's and the package's shoulders: sweeps from files, the action's table, notebooks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import evenkeel
from evenkeel import InputError
from evenkeel.sweeps import toml

ROOT = Path(__file__).resolve().parents[2]
SUITE = """version = 1
title = "small"
baseline = "eevdf"
duration_ms = 300
seeds = 3
[[part]]
name = "overload"
workload = "typist+hogs:6"
machine = "2"
figure = "wakeup_delay_p99"
"""


def run(*args: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(args, capture_output=True, text=True, check=False, **more)


def example() -> str:
    """The sweep of the page on scores."""
    page = (ROOT / "docs/how-to/score.md").read_text()
    found = re.search(r"```toml\n(.*?)```", page, re.S)
    assert found
    return found[1]


def test_a_sweep_of_a_file_is_that_of_the_package(keel: str, tmp_path: Path) -> None:
    file = tmp_path / "slices.toml"
    file.write_text(example())
    made = run(keel, "sweep", str(file), "--json", "--python", sys.executable)
    assert made.returncode == 0, made.stderr
    found = json.loads(made.stdout)
    assert (found["runs"], len(found["points"])) == (24, 8)
    assert found["folder"] == str(tmp_path / "slices.sweep")
    assert toml.run(file, False, out=str(tmp_path / "again")).digest() == found["digest"]
    assert toml.run(file, False, jobs=1).digest() == found["digest"], "it goes on with what is there"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("[space]", "[spaces]"), "space"),
        (("seeds = 3", "sedes = 3"), "sedes"),
        (("log = true", "lag = true"), "slice_ns"),
        (("seeds = 3", "seeds ="), "line 5"),
        (('"fifo"', '"nobody"'), "nobody"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(tmp_path: Path, change: tuple[str, str], says: str) -> None:
    file = tmp_path / "s.toml"
    file.write_text(example().replace(*change, 1))
    with pytest.raises(InputError, match=says):
        toml.run(file, False)


def test_the_action_compares_with_the_base(keel: str, tmp_path: Path) -> None:
    suite = tmp_path / "s.toml"
    suite.write_text(SUITE)

    def score(now: str, base: str = "") -> subprocess.CompletedProcess[str]:
        script = str(ROOT / "action/score.py")
        return run(sys.executable, script, now, base, str(suite), env={**os.environ, "KEEL": keel})

    alone = score("fifo")
    assert alone.returncode == 0 and "`fifo` scores **" in alone.stdout
    same = score("fifo", "fifo")
    assert same.returncode == 0 and "worse" not in same.stdout
    # A task that waits behind a slice a hundred times as long waits longer.
    worse = score("fifo:fifo=1:slice_ns=20000000", "fifo:fifo=1:slice_ns=200000")
    assert worse.returncode == 1 and "worse" in worse.stdout
    assert score("nobody", "fifo").returncode == 2


def test_a_score_repeats(keel: str, tmp_path: Path) -> None:
    suite = tmp_path / "s.toml"
    suite.write_text(SUITE)
    one, other = (run(keel, "score", "fifo", "--suite", str(suite), "--json").stdout for _ in range(2))
    assert one == other
    held_out = json.loads(run(keel, "score", "fifo", "--suite", str(suite), "--json", "--held-out").stdout)
    assert held_out["held_out"] and held_out["score"] != json.loads(one)["score"]
    assert json.loads(run(keel, "score", "eevdf", "--suite", str(suite), "--json").stdout)["score"] == 100.0


def test_agents_have_tools(keel: str) -> None:
    def ask(*more: dict[str, Any]) -> list[dict[str, Any]]:
        client = {"name": "test", "version": "1"}
        start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        messages: list[dict[str, Any]] = [
            {"id": 1, "method": "initialize", "params": start},
            {"method": "notifications/initialized"},
            *({"id": at, **message} for at, message in enumerate(more, 2)),
        ]
        served = subprocess.Popen([keel, "mcp", "--time=20s"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert served.stdin and served.stdout
        for message in messages:
            served.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        served.stdin.flush()
        answers: dict[int, dict[str, Any]] = {}
        while len(answers) < len(more) + 1:
            answer = json.loads(served.stdout.readline())
            answers[answer["id"]] = answer
        served.stdin.close()
        assert served.wait(timeout=60) == 0
        assert answers[1]["result"]["serverInfo"] == {"name": "keel", "version": evenkeel.__version__}
        return [answers[at]["result"] for at in range(2, len(more) + 2)]

    def call(name: str, **arguments: Any) -> dict[str, Any]:
        return {"method": "tools/call", "params": {"name": name, "arguments": arguments}}

    listed, run_, wrong, long = ask(
        {"method": "tools/list"},
        call("sim", scheduler="fifo", workload="mix:12:90", machine="2", duration="50ms", seed=3),
        call("sim", scheduler="nobody"),
        call("sim", scheduler="fifo", workload="mix:4000:90", machine="64", duration="1000s"),
    )
    assert {tool["name"] for tool in listed["tools"]} == {"sim", "compare", "check", "explain", "score"}
    got = json.loads(run_["content"][0]["text"])
    assert got["seed"] == 3 and got["switches"] > 0 and "tasks" not in got
    assert wrong["isError"] and "no built-in scheduler" in wrong["content"][0]["text"]
    assert long["isError"] and "more than 20 s" in long["content"][0]["text"]


@pytest.mark.parametrize("notebook", sorted((ROOT / "examples/notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_run(notebook: Path, keel: str, tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    (tmp_path / "keel").symlink_to(Path(keel).resolve())
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "MPLBACKEND": "agg"}
    content = nbformat.read(notebook, as_version=4)  # type: ignore[no-untyped-call]
    client = NotebookClient(content, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    client.execute(env=environment)
    outputs = [output for cell in content.cells for output in cell.get("outputs", [])]
    assert any("data" in output for output in outputs)
