//! Divides the grid into levels of detail, each in tiles that contain all CPUs for some buckets.
//!
//! The finest level is the grid's own. Each further level merges four buckets, until the whole run has at most
//! [`COARSEST`] buckets. So for any part of the run on the screen, some level has about as many buckets as there are
//! pixels.

use crate::grid::{Cell, Grid};
use crate::pack::{logarithm, number, share};
use keel_abi::{CpuId, TaskId};
use keel_report::buckets::Cell as _;
use std::collections::BTreeMap;

/// A level with at most this many buckets is the last.
const COARSEST: usize = 1024;
/// The maximum number of cells in a tile.
const TILE_CELLS: usize = 1 << 15;
/// Represents no task, or a full palette.
const NOBODY: u16 = u16::MAX;

/// One level: the length of its buckets in nanoseconds, and its tiles' raw bytes.
#[derive(Debug)]
pub(crate) struct Level {
    pub(crate) bucket_ns: u64,
    pub(crate) buckets: usize,
    /// The number of buckets in each tile except the last.
    pub(crate) tile: usize,
    pub(crate) tiles: Vec<Vec<u8>>,
}

/// A cell's byte in one plane. The second argument is the cell's length in nanoseconds.
type Plane<'a> = &'a dyn Fn(&Cell, u64) -> u8;

/// Returns all levels, the coarsest first. Rows are in the order of `cpus`.
pub(crate) fn levels(grid: &mut Grid, duration: u64, cpus: &[CpuId]) -> Vec<Level> {
    let used = grid.used(duration);
    let tile = 1 << (TILE_CELLS / cpus.len().max(1)).clamp(16, 1024).ilog2();
    let mut levels = Vec::new();
    let mut join = 1;
    loop {
        let rows: Vec<Vec<Cell>> = cpus.iter().map(|&cpu| joined(grid.row(cpu, used), join)).collect();
        let bucket_ns = grid.bucket_ns() * join as u64;
        let buckets = used.div_ceil(join);
        let pack = |from: usize| {
            let to = (from + tile).min(buckets);
            let parts: Vec<&[Cell]> = rows.iter().map(|row| &row[from..to]).collect();
            pack(&parts, |at| bucket_ns.min(duration.saturating_sub((from + at) as u64 * bucket_ns)))
        };
        let tiles = (0..buckets).step_by(tile).map(pack).collect();
        levels.push(Level { bucket_ns, buckets, tile, tiles });
        if buckets <= COARSEST {
            break;
        }
        join *= 4;
    }
    levels.reverse();
    levels
}

fn joined(row: &[Cell], join: usize) -> Vec<Cell> {
    let sum = |cells: &[Cell]| {
        let mut sum = cells[0];
        cells[1..].iter().for_each(|cell| sum.join(cell));
        sum
    };
    row.chunks(join).map(sum).collect()
}

/// Packs a palette of tasks, then one plane after another, each row by row: load, maximum runnable, busy, wasted,
/// weight, low and high byte of the task's index in the palette, and its lead as a share.
fn pack(rows: &[&[Cell]], lasts: impl Fn(usize) -> u64) -> Vec<u8> {
    let mut palette: BTreeMap<TaskId, u16> = BTreeMap::new();
    for cell in rows.iter().flat_map(|row| row.iter()).filter(|cell| cell.lead > 0) {
        palette.insert(cell.task, NOBODY);
    }
    for (at, place) in palette.values_mut().enumerate() {
        *place = u16::try_from(at).unwrap_or(NOBODY);
    }
    let mut bytes = Vec::new();
    number(&mut bytes, palette.len() as u64);
    palette.keys().for_each(|task| number(&mut bytes, u64::from(task.0)));
    let of = |cell: &Cell| if cell.lead > 0 { palette[&cell.task] } else { NOBODY };
    let planes: [Plane<'_>; 8] = [
        &|cell, ns| logarithm(cell.load, ns),
        &|cell, _| u8::try_from(cell.max).unwrap_or(u8::MAX),
        &|cell, ns| share(cell.busy, ns),
        &|cell, ns| share(cell.wasted, ns),
        &|cell, ns| logarithm(cell.weight, ns),
        &|cell, _| of(cell) as u8,
        &|cell, _| (of(cell) >> 8) as u8,
        &|cell, ns| share(cell.lead, ns),
    ];
    for plane in planes {
        for row in rows {
            bytes.extend(row.iter().enumerate().map(|(at, cell)| plane(cell, lasts(at))));
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_get_coarser_by_four() {
        let mut grid = Grid::default();
        grid.start(2);
        grid.wasted(CpuId(1), 0, 10_000_000);
        let levels = levels(&mut grid, 10_000_000, &[CpuId(1), CpuId(0)]);
        let shapes: Vec<_> =
            levels.iter().map(|level| (level.bucket_ns, level.buckets, level.tiles.len())).collect();
        assert_eq!(shapes, [(16384, 611, 1), (4096, 2442, 3), (1024, 9766, 10)]);
        // No palette, then the fourth plane: CPU 1 is wasted all the time, including the rest of the last bucket.
        let tile = &levels[0].tiles[0];
        assert_eq!(tile.len(), 1 + 8 * 2 * 611);
        let wasted = &tile[1 + 3 * 2 * 611..][..2 * 611];
        assert!(wasted[..611].iter().all(|&share| share == 255));
        assert!(wasted[611..].iter().all(|&share| share == 0));
    }
}
