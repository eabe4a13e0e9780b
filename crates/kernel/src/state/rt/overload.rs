//! CPUs with waiting real-time tasks that may run elsewhere (`rto_mask`).

use keel_abi::{CpuId, CpuSet};

/// The overloaded CPUs.
#[derive(Debug, Default)]
pub(crate) struct Overload {
    pub(crate) cpus: CpuSet,
    /// The CPU that is being asked to push, if any.
    asked: Option<CpuId>,
    /// The number of requested rounds, and the one in progress: a new request makes it start over.
    wanted: u64,
    round: u64,
}

impl Overload {
    /// Returns whether a CPU other than `c` is overloaded.
    pub(crate) fn is_elsewhere(&self, c: CpuId) -> bool {
        self.next_from(0, c).is_some()
    }

    /// The next overloaded CPU from the number `from` on, except `c`.
    pub(crate) fn next_from(&self, from: u32, c: CpuId) -> Option<CpuId> {
        self.cpus.iter().find(|&cpu| cpu.0 >= from && cpu != c)
    }

    /// Requests a round of pushes. Returns the CPU to ask first, unless a round is in progress (`tell_cpu_to_push()`).
    pub(crate) fn begin_round(&mut self) -> Option<CpuId> {
        self.wanted += 1;
        if self.asked.is_some() { None } else { self.next_asked() }
    }

    /// The CPU to ask next; none when all have been asked since the last request (`rto_next_cpu()`).
    pub(crate) fn next_asked(&mut self) -> Option<CpuId> {
        loop {
            let from = self.asked.map_or(0, |cpu| cpu.0 + 1);
            self.asked = self.cpus.iter().find(|cpu| cpu.0 >= from);
            if self.asked.is_some() || self.round == self.wanted {
                return self.asked;
            }
            self.round = self.wanted;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overloaded(cpus: &[u32]) -> Overload {
        Overload { cpus: cpus.iter().map(|&c| CpuId(c)).collect(), ..Overload::default() }
    }

    #[test]
    fn a_round_asks_each_cpu_once_and_restarts_on_a_new_request() {
        let mut all = overloaded(&[1, 3]);
        assert_eq!(all.begin_round(), Some(CpuId(1)));
        assert_eq!(all.next_asked(), Some(CpuId(3)));
        // A round that ends with an unseen request begins another.
        assert_eq!(all.next_asked(), Some(CpuId(1)));
        assert_eq!(all.begin_round(), None, "one is in progress");
        assert_eq!(all.next_asked(), Some(CpuId(3)));
        assert_eq!(all.next_asked(), Some(CpuId(1)), "the second wish");
        assert_eq!((all.next_asked(), all.next_asked()), (Some(CpuId(3)), None));
        assert_eq!(overloaded(&[]).begin_round(), None);
    }

    #[test]
    fn one_s_own_overload_is_not_another_s() {
        let check = |cpus: &[u32], c: u32, expected: bool| {
            assert_eq!(overloaded(cpus).is_elsewhere(CpuId(c)), expected, "{cpus:?} {c}");
        };
        check(&[], 0, false);
        check(&[0], 0, false);
        check(&[0], 1, true);
        check(&[0, 1], 1, true);
    }
}
