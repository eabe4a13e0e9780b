//! Rows by CPU, and the machine's CPU time.

use keel_abi::cpuset::MAX_CPUS;
use keel_abi::{CpuId, Instant, Span};

/// Rows of the machine's CPUs. A CPU that the stream did not announce is added when it appears, up to [`MAX_CPUS`];
/// further CPUs share a row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cpus<T> {
    rows: Vec<T>,
}

impl<T: Default + Clone> Cpus<T> {
    /// The machine has at least `count` CPUs.
    pub(crate) fn grow(&mut self, count: u32) {
        if self.rows.len() < count as usize {
            self.rows.resize(count as usize, T::default());
        }
    }

    /// The row of `cpu`.
    #[inline]
    pub(crate) fn get(&mut self, cpu: CpuId) -> &mut T {
        if cpu.index() < self.rows.len() {
            return &mut self.rows[cpu.index()];
        }
        self.unannounced(cpu)
    }

    #[cold]
    fn unannounced(&mut self, cpu: CpuId) -> &mut T {
        let at = cpu.0.min(MAX_CPUS - 1);
        self.grow(at + 1);
        &mut self.rows[at as usize]
    }

    /// All rows, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.rows.iter()
    }

    /// How many CPUs there are.
    pub(crate) fn len(&self) -> u32 {
        self.rows.len() as u32
    }
}

/// Integral of a number over time: of the CPUs online, for the machine's CPU time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Integral {
    level: i64,
    since: Instant,
    sum: u64,
}

impl Integral {
    /// The number changes by `step` at `now`.
    pub(crate) fn add(&mut self, now: Instant, step: i64) {
        self.sum = self.at(now).as_ns();
        self.since = now;
        self.level += step;
    }

    /// The number now.
    pub(crate) fn level(&self) -> u64 {
        self.level.max(0) as u64
    }

    /// The integral until `now`.
    pub(crate) fn at(&self, now: Instant) -> Span {
        let more = now.since(self.since).as_ns().saturating_mul(self.level());
        Span::from_ns(self.sum.saturating_add(more))
    }
}
