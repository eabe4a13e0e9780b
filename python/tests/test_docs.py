"""Every example of the documentation does what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("docs/how-to/python.md", "python/README.md")
FENCE = re.compile(r"^(?P<mark><!-- not run -->\n)?```(?P<kind>\w+)\n(?P<code>.*?)^```$", re.M | re.S)
MARK = "-- end of example --"


def examples(page: str) -> list[tuple[str, str | None]]:
    """The Python of a page, each with what it prints."""
    found: list[tuple[str, str | None]] = []
    for fence in FENCE.finditer((ROOT / page).read_text()):
        if fence["kind"] == "python" and not fence["mark"]:
            found.append((fence["code"], None))
        elif fence["kind"] == "text" and found:
            found[-1] = (found[-1][0], fence["code"])
    return found


def printed(codes: list[str], folder: Path, keel: str) -> list[str]:
    """What examples print, each after those before it."""
    (folder / "bin").mkdir()
    (folder / "bin" / "keel").symlink_to(Path(keel).resolve())
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    script = f"\nprint({MARK!r})\n".join([*codes, ""])
    made = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    return made.stdout.split(f"{MARK}\n")


@pytest.mark.parametrize("page", PAGES)
def test_examples_print_what_the_page_says(page: str, tmp_path: Path, keel: str) -> None:
    of_page = examples(page)
    assert of_page
    made = printed([code for code, _ in of_page], tmp_path, keel)
    got = {code: output for (code, _), output in zip(of_page, made, strict=False)}
    if os.environ.get("KEEL_RENEW_DOCS"):
        renew(ROOT / page, got)
    for code, expected in examples(page):
        if expected is not None:
            assert got[code] == expected, code


def renew(page: Path, printed: dict[str, str]) -> None:
    """Writes what examples print into their page."""
    text = page.read_text()
    for code, output in printed.items():
        begins = f"```python\n{code}```\n\n```text\n"
        before, found, after = text.partition(begins)
        if found:
            text = before + begins + output + after[after.index("```") :]
    page.write_text(text)


