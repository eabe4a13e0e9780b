//! Converts cells to SVG paths: one path per colour, one stroke for each run of equal neighbours.

use super::heat::{Cell, Heat};
use super::layout::Layout;
use keel_abi::CpuId;
use std::fmt::Write;

/// Colours for the mean number of runnable tasks, each with the lowest mean that it represents.
pub(super) const LEVELS: [(f64, &str); 6] = [
    (0.03, "#d9f0d3"),
    (0.55, "#4daf4a"),
    (1.30, "#ffe119"),
    (2.50, "#ff9d1e"),
    (4.50, "#e8281e"),
    (8.50, "#8b0000"),
];

/// Hatchings for the share of wasted time, each with the lowest share that it represents.
pub(super) const HATCHES: [(f64, &str); 2] = [(0.10, "light"), (0.50, "dense")];

/// The maximum size of all paths together, in bytes; decisions and loads have limits of their own.
const MOST_BYTES: usize = 1_400_000;

/// The paths of the whole run: x in columns from its start, y in pixels from the top of a strip.
#[derive(Debug)]
pub(super) struct Paths {
    /// The length of a column in nanoseconds.
    pub(super) column_ns: u64,
    /// One path for each of [`LEVELS`].
    pub(super) levels: Vec<String>,
    /// One path for each of [`HATCHES`].
    pub(super) hatches: Vec<String>,
}

impl Paths {
    /// Returns paths as fine as the maximum size allows.
    pub(super) fn new(heat: &Heat, layout: &Layout) -> Self {
        let mut join = 1;
        loop {
            let paths = Self::joined(heat, layout, join);
            let bytes: usize = paths.levels.iter().chain(&paths.hatches).map(String::len).sum();
            // No strip's edge cuts a column, but all strips share the paths.
            if bytes <= MOST_BYTES || join >= 1 << 20 {
                return paths;
            }
            join *= 2;
        }
    }

    /// Returns paths with `join` buckets per column.
    fn joined(heat: &Heat, layout: &Layout, join: usize) -> Self {
        let column_ns = heat.bucket_ns() * join as u64;
        let mut levels = vec![Strokes::default(); LEVELS.len()];
        let mut hatches = vec![Strokes::default(); HATCHES.len()];
        for &(cpu, top) in &layout.tops {
            let columns: Vec<Cell> = columns(heat, cpu, join);
            let share = |ns: u64, at: usize| ns as f64 / lasts(heat, column_ns, at) as f64;
            let level = |at: usize| grade(&LEVELS, share(columns[at].load, at));
            let hatch = |at: usize| grade(&HATCHES, share(columns[at].wasted, at));
            strokes(columns.len(), top, level, &mut levels);
            strokes(columns.len(), top, hatch, &mut hatches);
        }
        let paths = |strokes: Vec<Strokes>| strokes.into_iter().map(|s| s.path).collect();
        Self { column_ns, levels: paths(levels), hatches: paths(hatches) }
    }
}

fn columns(heat: &Heat, cpu: CpuId, join: usize) -> Vec<Cell> {
    let sum = |cells: &[Cell]| Cell {
        load: cells.iter().map(|cell| cell.load).sum(),
        wasted: cells.iter().map(|cell| cell.wasted).sum(),
    };
    heat.row(cpu).chunks(join).map(sum).collect()
}

/// Returns how much of column `at` the run fills: the last column ends with the run.
fn lasts(heat: &Heat, column_ns: u64, at: usize) -> u64 {
    column_ns.min(heat.duration().saturating_sub(at as u64 * column_ns)).max(1)
}

/// Returns the last grade whose lowest value is reached.
pub(super) fn grade(grades: &[(f64, &str)], value: f64) -> Option<usize> {
    grades.iter().rposition(|&(least, _)| value >= least)
}

/// A path under construction: its text, and the position of the pen.
#[derive(Clone, Debug, Default)]
pub(super) struct Strokes {
    pub(super) path: String,
    x: i64,
    y: i64,
}

impl Strokes {
    fn add(&mut self, x: usize, y: u32, length: usize) {
        let (x, y, length) = (x as i64, i64::from(y), length as i64);
        // Writing to a string cannot fail.
        let _ = write!(self.path, "m{} {}h{length}", x - self.x, y - self.y);
        (self.x, self.y) = (x + length, y);
    }
}

/// Adds a row's runs of equal grades.
pub(super) fn strokes(columns: usize, y: u32, grade: impl Fn(usize) -> Option<usize>, to: &mut [Strokes]) {
    let mut from = 0;
    while from < columns {
        let here = grade(from);
        let end = (from + 1..columns).find(|&at| grade(at) != here).unwrap_or(columns);
        here.into_iter().for_each(|grade| to[grade].add(from, y, end - from));
        from = end;
    }
}
