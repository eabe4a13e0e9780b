"""What a sweep found."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from .._optional import needs
from .objective import Objective, ranks
from .space import Point, Value
from .store import Store

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class Tried:
    """A point, over its seeds."""

    number: int
    """The point's number, from 0."""
    point: Point
    """Its values."""
    runs: int
    """How many runs it made."""
    failed: int
    """In how many of them the scheduler failed."""
    means: dict[str, float]
    """Each objective's mean; none where a run failed."""
    spreads: dict[str, float]
    """Each objective's standard deviation over seeds; 0 of a single run."""


class Sweep:
    """What a sweep found. Its runs are a Parquet data set in ``folder``."""

    def __init__(self, store: Store, objectives: list[Objective], points: list[Point]) -> None:
        self._store, self.objectives, self._points = store, objectives, points
        self.folder = store.folder

    def __len__(self) -> int:
        return len(self._store.rows)

    def table(self) -> pyarrow.Table:
        """A row for each run, by point and seed: param_*, objective_*, and the run's figures."""
        return self._store.table()

    def to_pandas(self) -> Any:
        """The same as a pandas data frame."""
        return self.table().to_pandas()

    def digest(self) -> str:
        """SHA-256 of all rows: equal where the same runs gave the same results."""
        return self._store.digest()

    def tried(self) -> list[Tried]:
        """All points that were tried, over their seeds."""
        rows: dict[int, list[dict[str, Any]]] = {}
        for (number, _), row in sorted(self._store.rows.items()):
            rows.setdefault(number, []).append(row)
        return [self._tried(number, of) for number, of in rows.items()]

    def front(self) -> list[Tried]:
        """The points that no other is better than in every objective (the Pareto front), most runs first."""
        good = [tried for tried in self.tried() if tried.means]
        most = max((tried.runs for tried in good), default=0)
        # Those that were stopped early were hopeless.
        good = [tried for tried in good if tried.runs == most]
        losses = [[each.loss(tried.means[each.name]) for each in self.objectives] for tried in good]
        return [tried for tried, rank in zip(good, ranks(losses), strict=True) if rank == 0]

    def best(self) -> Tried:
        """The best point of the first objective."""
        first = self.objectives[0]
        front = self.front()
        if not front:
            raise ValueError("no point was tried without failing")
        return min(front, key=lambda tried: (first.loss(tried.means[first.name]), tried.number))

    def plot(self) -> Any:
        """Draws the first objective over each parameter; where there are several, the first two with their front."""
        plt = needs("matplotlib.pyplot", "plot")
        tried = [each for each in self.tried() if each.means]
        if len(self.objectives) > 1:
            x, y = (each.name for each in self.objectives[:2])
            figure, ax = plt.subplots(layout="constrained")
            ax.plot([t.means[x] for t in tried], [t.means[y] for t in tried], "o", alpha=0.4, color="black")
            front = sorted(self.front(), key=lambda t: t.means[x])
            ax.plot([t.means[x] for t in front], [t.means[y] for t in front], "o-", color="#e8281e", label="front")
            ax.set(xlabel=x, ylabel=y)
            ax.legend()
            return figure
        name, params = self.objectives[0].name, list(self._points[0])
        figure, panels = plt.subplots(1, len(params), figsize=(4 * len(params), 3), squeeze=False, layout="constrained")
        for panel, param in zip(panels[0], params, strict=True):
            values: list[Value] = [each.point[param] for each in tried]
            panel.plot(values, [each.means[name] for each in tried], "o", color="black")
            panel.set(xlabel=param, ylabel=name)
        return figure

    def _tried(self, number: int, rows: list[dict[str, Any]]) -> Tried:
        failed = sum(bool(row["failed"]) for row in rows)
        means, spreads = {}, {}
        for each in self.objectives:
            values = [row[f"objective_{each.name}"] for row in rows]
            if failed == 0 and None not in values:
                means[each.name] = fmean(values)
                spreads[each.name] = stdev(values) if len(values) > 1 else 0.0
        point = self._points[number]
        return Tried(number, point, len(rows), failed, means if len(means) == len(self.objectives) else {}, spreads)

    def __str__(self) -> str:
        shown = sorted(self.front(), key=lambda t: self.objectives[0].loss(t.means[self.objectives[0].name]))[:10]
        lines = [f"{len(self)} runs of {len(self.tried())} points in {self.folder}"]
        for tried in shown:
            point = ", ".join(f"{name}={value}" for name, value in tried.point.items())
            figures = ", ".join(
                f"{name} {mean:.6g} (sd {tried.spreads[name]:.2g})" for name, mean in tried.means.items()
            )
            lines.append(f"  {point}: {figures}, {tried.runs} runs")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(str(self))}</pre>"
