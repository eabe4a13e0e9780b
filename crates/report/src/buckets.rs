//! Sums each CPU's activity over buckets of time, in memory that depends only on the machine.
//!
//! The number of buckets is fixed. When the run outgrows them, neighbours are merged and every bucket becomes twice as
//! long. So one pass is enough for a stream of any length.

use keel_abi::CpuId;

/// A bucket's first length is 2 to this power, in nanoseconds.
const FIRST_SHIFT: u32 = 10;
/// The minimum number of buckets, on a machine of any size.
const FEWEST: usize = 64;

/// One CPU for one bucket's time.
pub trait Cell: Copy + Default {
    /// Adds the next bucket's contents.
    fn join(&mut self, next: &Self);
}

/// All cells of all CPUs.
#[derive(Debug, Default)]
pub struct Buckets<C> {
    shift: u32,
    buckets: usize,
    cpus: usize,
    cells: Vec<C>,
}

impl<C: Cell> Buckets<C> {
    /// Creates buckets for this many CPUs: at most `cells` in total and `buckets` per CPU.
    pub fn new(cpus: usize, cells: usize, buckets: usize) -> Self {
        let most = (cells / cpus.max(1)).clamp(FEWEST, buckets);
        let buckets = 1 << most.ilog2();
        Self { shift: FIRST_SHIFT, buckets, cpus, cells: vec![C::default(); cpus * buckets] }
    }

    /// Returns a bucket's length in nanoseconds.
    pub fn bucket_ns(&self) -> u64 {
        1 << self.shift
    }

    /// Returns the first `used` cells of `cpu`.
    pub fn row(&self, cpu: CpuId, used: usize) -> &[C] {
        let from = cpu.index() * self.buckets;
        &self.cells[from..from + used.min(self.buckets)]
    }

    /// Makes the buckets long enough to hold `ns` nanoseconds.
    pub fn reach(&mut self, ns: u64) {
        while ns > (self.buckets as u64) << self.shift {
            self.coarsen();
        }
    }

    /// Calls `add` for each cell of `from..to`, given in nanoseconds from the start of the run, with the number of
    /// nanoseconds in that cell.
    pub fn spread(&mut self, cpu: CpuId, from: u64, to: u64, mut add: impl FnMut(&mut C, u64)) {
        if cpu.index() >= self.cpus || to <= from {
            return;
        }
        self.reach(to);
        let row = cpu.index() * self.buckets;
        let mut at = from;
        while at < to {
            let bucket = at >> self.shift;
            let until = ((bucket + 1) << self.shift).min(to);
            add(&mut self.cells[row + bucket as usize], until - at);
            at = until;
        }
    }

    #[cold]
    fn coarsen(&mut self) {
        for row in self.cells.chunks_mut(self.buckets) {
            for at in 0..row.len() {
                let pair = [2 * at, 2 * at + 1].map(|i| row.get(i).copied().unwrap_or_default());
                row[at] = pair[0];
                row[at].join(&pair[1]);
            }
        }
        self.shift += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Cell for u64 {
        fn join(&mut self, next: &Self) {
            *self += next;
        }
    }

    #[test]
    fn joining_buckets_loses_no_time() {
        let check = |spans: &[(u32, u64, u64)], bucket_ns: u64, expected: &[u64]| {
            let mut buckets = Buckets::<u64>::new(2, 128, 64);
            for &(cpu, from, to) in spans {
                buckets.spread(CpuId(cpu), from, to, |cell, ns| *cell += ns);
            }
            let got: Vec<u64> = (0..2).map(|cpu| buckets.row(CpuId(cpu), 64).iter().sum()).collect();
            assert_eq!((buckets.bucket_ns(), &got[..]), (bucket_ns, expected));
        };
        check(&[(0, 0, 1500), (1, 1000, 1001)], 1024, &[1500, 1]);
        check(&[(0, 0, 1500), (1, 100_000, 100_010)], 2048, &[1500, 10]);
        check(&[(0, 7, 3_000_000), (1, 5, 5), (2, 0, 100)], 65536, &[2_999_993, 0]);
    }
}
