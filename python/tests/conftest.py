"""What several tests share."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def keel() -> str:
    """The command line that the package is compared with."""
    built = os.environ.get("KEEL") or shutil.which("keel")
    if built is None:
        pytest.fail("set KEEL to the keel that was built from this checkout")
    return built


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT
