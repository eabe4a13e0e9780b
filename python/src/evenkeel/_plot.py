"""Figures by matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._optional import needs

if TYPE_CHECKING:
    import pyarrow
    from matplotlib.axes import Axes


def _axes(ax: Axes | None, height: float) -> Axes:
    if ax is not None:
        return ax
    plt = needs("matplotlib.pyplot", "plot")
    made: Axes = plt.subplots(figsize=(10, height), layout="constrained")[1]
    return made


def run_map(cells: pyarrow.Table, cpus: int, title: str, ax: Axes | None) -> Axes:
    """A row for each CPU: white is idle, then green, yellow, red for more tasks; blue where it idled while a task waited."""
    np = needs("numpy", "plot")
    ax = _axes(ax, min(2 + cpus * 0.12, 12))
    column = {name: cells[name].to_numpy() for name in cells.column_names}
    buckets = max(1, len(column["cpu"]) // max(1, cpus))
    shape = (cpus, buckets)
    lasts = column["for_ns"][: cpus * buckets].reshape(shape)
    runnable = column["runnable_ns"][: cpus * buckets].reshape(shape) / lasts
    wasted = column["wasted_ns"][: cpus * buckets].reshape(shape) / lasts
    colours = needs("matplotlib.colors", "plot").LinearSegmentedColormap.from_list(
        "tasks", ["white", "#3cb44b", "#ffe119", "#f58231", "#e8281e"]
    )
    end_s = float(column["at_ns"].max() + lasts[0, -1]) / 1e9
    extent = (0.0, end_s, cpus - 0.5, -0.5)
    image = ax.imshow(runnable, aspect="auto", cmap=colours, vmin=0, vmax=4, extent=extent, interpolation="nearest")
    blue = np.zeros((*shape, 4))
    blue[..., 2], blue[..., 3] = 0.8, np.clip(wasted, 0, 1)
    ax.imshow(blue, aspect="auto", extent=extent, interpolation="nearest")
    ax.set(xlabel="time (s)", ylabel="CPU", title=title)
    ax.figure.colorbar(image, ax=ax, label="runnable tasks (blue: idle while a task waits)")
    return ax


def delays(names: pyarrow.Table, title: str, ax: Axes | None) -> Axes:
    """Median, 99th percentile and maximum of the wakeup delay for each name of tasks."""
    rows = [row for row in names.to_pylist() if row["woken"] > 0][:32]
    ax = _axes(ax, 1.5 + 0.3 * len(rows))
    at = range(len(rows))
    for part, marker in (("p50", "|"), ("p99", "o"), ("max", "x")):
        ax.plot([row[f"wakeup_delay_{part}_ns"] / 1e3 for row in rows], at, marker, label=part, color="black")
    ax.set_yticks(list(at), [row["name"] for row in rows])
    ax.set(xlabel="wakeup delay (us)", title=title, xscale="symlog")
    ax.invert_yaxis()
    ax.legend()
    return ax


def comparison(rows: Sequence[Mapping[str, Any]], schedulers: Sequence[str], figures: Sequence[str]) -> Any:
    """A panel for each figure, a row for each scheduler, a point for each run."""
    plt = needs("matplotlib.pyplot", "plot")
    size = (4 * len(figures), 1.2 + 0.4 * len(schedulers))
    figure, panels = plt.subplots(1, len(figures), figsize=size, sharey=True, squeeze=False, layout="constrained")
    for panel, name in zip(panels[0], figures, strict=True):
        for at, scheduler in enumerate(schedulers):
            values = [row[name] for row in rows if row["scheduler"] == scheduler]
            panel.plot(values, [at] * len(values), "o", alpha=0.5, color="black")
            panel.plot(sum(values) / len(values), at, "|", markersize=18, color="#e8281e")
        panel.set_xlabel(name)
        panel.set_yticks(range(len(schedulers)), schedulers)
    panels[0][0].invert_yaxis()
    return figure
