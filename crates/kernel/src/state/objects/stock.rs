//! What forks take and exits return: memory for page tables and for the kernel's own objects, some of which each CPU
//! keeps for itself; and the locks, lists and counts that all processes share.
//!
//! A CPU allocates the memory that it freed last: it is cleared and in the CPU's cache. If processes begin on one CPU
//! and end on another, one CPU runs out and the other has too much: then memory moves through the common pool, and has
//! left all caches by then. (`pte_quicklist`, `pgd_quicklist` and the slab allocator's arrays in Linux 2.4, per-CPU
//! lists of free pages since 2.5.)

use crate::state::objects::pages::On;
use keel_abi::lines::Line;

/// Bytes of a page.
const PAGE_BYTES: u64 = 4096;

/// Entries of a page table.
const ENTRIES: u64 = 1024;

/// All CPUs' stocks, and the lines that all CPUs share.
#[derive(Debug, Default)]
pub(crate) struct Stocks {
    /// By CPU.
    of: Vec<Stock>,
    /// Stands for each of the lines that all processes share.
    shared: Line,
}

#[derive(Clone, Copy, Debug, Default)]
struct Stock {
    tables: u64,
    /// Sets of objects; a set is enough for one process.
    objects: u64,
}

impl Stocks {
    /// A process of `pages` pages begins. Returns the cost of its memory and of the shared lines in picoseconds.
    pub(crate) fn begin(&mut self, pages: usize, on: On<'_>) -> u64 {
        let costs = on.costs;
        let stock = self.at(on);
        let page_ps = on.bus.slowed_ns(on.cpu, costs.page_clear_ns) * 1000;
        let wanted = tables(pages, on);
        let missing = wanted.saturating_sub(stock.tables);
        stock.tables -= wanted - missing;
        let mut ps = missing * page_ps;
        match stock.objects {
            0 => ps += (costs.process_bytes + costs.signal_bytes) * page_ps / PAGE_BYTES,
            _ => stock.objects -= 1,
        }
        ps + self.share_ps(on)
    }

    /// A process ends: the CPU gets its memory. The price is in picoseconds.
    pub(crate) fn end(&mut self, pages: usize, on: On<'_>) -> u64 {
        let most = on.costs.table_stock;
        let stock = self.at(on);
        stock.tables += tables(pages, on);
        stock.objects += 1;
        if stock.tables > most {
            stock.tables = most / 2;
        }
        // As many processes' objects as tables: about what the slab allocator's arrays hold.
        stock.objects = stock.objects.min(most / on.costs.table_pages.max(1));
        self.share_ps(on)
    }

    fn at(&mut self, on: On<'_>) -> &mut Stock {
        let index = on.cpu.index();
        if index >= self.of.len() {
            self.of.resize(index + 1, Stock::default());
        }
        &mut self.of[index]
    }

    fn share_ps(&mut self, on: On<'_>) -> u64 {
        on.costs.shared_lines * on.transfers.write_ps(&mut self.shared, on.cpu)
    }
}

/// The number of page table pages: those of a small process, and one more for each full table.
fn tables(pages: usize, on: On<'_>) -> u64 {
    on.costs.table_pages + pages as u64 / ENTRIES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::cost::{Bus, Costs};
    use keel_abi::lines::{LineCosts, Transfers};
    use keel_abi::{CpuId, Topology};

    /// Processes begin and end on these CPUs, one after another: checks what each beginning costs in nanoseconds.
    fn check(rounds: &[(u32, u32)], expected: &[u64]) {
        let costs = Costs {
            page_clear_ns: 4096,
            table_pages: 4,
            table_stock: 10,
            process_bytes: 20,
            signal_bytes: 3,
            ..Costs::default()
        };
        let topology = Topology::regular(1, 1, 2, 1);
        let bus = Bus::new(&topology, &costs);
        let transfers = Transfers::new(topology, LineCosts::default());
        let mut stocks = Stocks::default();
        let mut round = |&(begins, ends): &(u32, u32)| {
            let on = |cpu| On { costs: &costs, transfers: &transfers, bus: &bus, cpu: CpuId(cpu) };
            let ps = stocks.begin(100, on(begins));
            stocks.end(100, on(ends));
            ps / 1000
        };
        assert_eq!(rounds.iter().map(&mut round).collect::<Vec<_>>(), expected, "{rounds:?}");
    }

    const ALL: u64 = 4 * 4096 + 23;

    #[test]
    fn a_cpu_gives_out_again_what_it_got_back() {
        check(&[(0, 0), (0, 0), (0, 0), (1, 1), (1, 1)], &[ALL, 0, 0, ALL, 0]);
    }

    #[test]
    fn where_processes_only_begin_nothing_is_in_stock() {
        check(&[(0, 1), (0, 1), (0, 1)], &[ALL; 3]);
        check(&[(0, 1), (1, 0), (0, 1), (1, 0)], &[ALL, 0, 0, 0]);
    }

    #[test]
    fn a_cpu_that_has_too_much_gives_half_away() {
        // Twelve tables are too many: five stay, and two processes' objects.
        check(&[(0, 1), (0, 1), (0, 1), (1, 1), (1, 0), (1, 0)], &[ALL, ALL, ALL, 0, 0, 4 * 4096 - 4096]);
    }
}
