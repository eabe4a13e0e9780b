//! One task's time on each CPU, in little memory: of ten thousand tasks on a large machine these numbers are most of
//! what the judge keeps.

use keel_abi::cpuset::MAX_CPUS;
use keel_abi::fetch::fetch_at;
use keel_abi::{CpuId, Span};

/// Times that are not in the list by CPU. Few tasks have any, so it is one pointer in a row.
#[derive(Clone, Debug, Default)]
struct Carried {
    /// What no longer fitted there, in order of CPUs.
    more: Vec<(CpuId, Span)>,
    /// On CPUs that no machine has.
    beyond: Span,
}

/// Room for so many CPUs is made at once: lists that grow in steps leave holes behind.
const AT_ONCE: u32 = 64;

/// Time on each CPU.
#[derive(Clone, Debug, Default)]
pub(super) struct ByCpu {
    /// Nanoseconds by CPU: one look-up per switch, where a sorted list would cost a cache miss per step.
    ns: Box<[u32]>,
    carried: Option<Box<Carried>>,
}

impl ByCpu {
    /// Requests the time on `cpu`.
    #[inline(always)]
    pub(super) fn fetch(&self, cpu: CpuId) {
        fetch_at(&self.ns, cpu.index());
    }

    /// Adds time on `cpu`, one of `cpus`.
    #[inline(always)]
    pub(super) fn add(&mut self, cpu: CpuId, span: Span, cpus: u32) {
        match self.ns.get_mut(cpu.index()) {
            Some(ns) => match u64::from(*ns).checked_add(span.as_ns()).map(u32::try_from) {
                Some(Ok(sum)) => *ns = sum,
                _ => self.carry(cpu, span),
            },
            None => self.add_first(cpu, span, cpus),
        }
    }

    #[cold]
    fn carry(&mut self, cpu: CpuId, span: Span) {
        add_to(&mut self.carried.get_or_insert_default().more, cpu, span);
    }

    /// Makes room for [`AT_ONCE`] CPUs, then up to a power of two: a task that stays on the first CPUs of a large
    /// machine has a short list.
    #[cold]
    fn add_first(&mut self, cpu: CpuId, span: Span, cpus: u32) {
        if cpu.0 >= MAX_CPUS {
            self.carried.get_or_insert_default().beyond += span;
            return;
        }
        let len = (cpu.0 + 1).next_power_of_two().max(AT_ONCE).min(cpus.max(cpu.0 + 1)) as usize;
        let mut ns = vec![0; len].into_boxed_slice();
        ns[..self.ns.len()].copy_from_slice(&self.ns);
        self.ns = ns;
        self.add(cpu, span, cpus);
    }

    /// The time on all CPUs.
    pub(super) fn total(&self) -> Span {
        let ns = Span::from_ns(self.ns.iter().map(|&ns| u64::from(ns)).sum());
        let Some(carried) = &self.carried else { return ns };
        ns + carried.beyond + carried.more.iter().map(|&(_, span)| span).sum()
    }

    /// The time on each CPU that there was any on, ascending.
    pub(super) fn spans(&self) -> Vec<(CpuId, Span)> {
        // Written without a branch: which CPUs a task has run on is hard to predict. The next one replaces a CPU that it
        // has not, and one more place takes those behind the last.
        let count = self.ns.iter().filter(|&&ns| ns > 0).count();
        let mut spans = vec![(CpuId(0), Span::ZERO); count + 1];
        let mut end = 0;
        for (cpu, &ns) in (0..).map(CpuId).zip(&self.ns) {
            spans[end] = (cpu, Span::from_ns(ns.into()));
            end += usize::from(ns > 0);
        }
        spans.truncate(end);
        let carried = self.carried.iter().flat_map(|carried| &carried.more);
        carried.for_each(|&(cpu, span)| add_to(&mut spans, cpu, span));
        spans
    }
}

/// Adds time to a list in order of CPUs.
pub(super) fn add_to(spans: &mut Vec<(CpuId, Span)>, cpu: CpuId, span: Span) {
    match spans.binary_search_by_key(&cpu, |&(cpu, _)| cpu) {
        Ok(at) => spans[at].1 += span,
        Err(at) => spans.insert(at, (cpu, span)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(adds: &[(u32, u64)], expected: &[(u32, u64)]) {
        let mut by_cpu = ByCpu::default();
        adds.iter().for_each(|&(cpu, ns)| by_cpu.add(CpuId(cpu), Span::from_ns(ns), 64));
        let spans = by_cpu.spans();
        let total = adds.iter().map(|&(_, ns)| Span::from_ns(ns)).sum();
        assert_eq!(by_cpu.total(), total);
        let expected: Vec<_> = expected.iter().map(|&(cpu, ns)| (CpuId(cpu), Span::from_ns(ns))).collect();
        assert_eq!(spans, expected);
    }

    #[test]
    fn times_add_up_beyond_four_seconds() {
        check(&[], &[]);
        check(&[(5, 10), (0, 1), (5, 20)], &[(0, 1), (5, 30)]);
        check(&[(63, 1), (70, 2)], &[(63, 1), (70, 2)]);
        let second = 1_000_000_000;
        check(
            &[(2, 4 * second), (2, second), (2, 7), (9, 50 * second)],
            &[(2, 5 * second + 7), (9, 50 * second)],
        );
        check(&[(1, u64::from(u32::MAX)), (1, 1)], &[(1, 1 << 32)]);
        check(&[(MAX_CPUS, 5)], &[]);
    }
}
