"""Packages that are needed for a part only."""

from __future__ import annotations

import importlib
from typing import Any


def needs(module: str, extra: str | None) -> Any:
    """The module, or an error that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        what = f"'evenkeel[{extra}]'" if extra else package
        raise ImportError(f"this needs {package}: pip install {what}") from error
