use super::*;
use keel_abi::Topology;
use keel_abi::lines::LineCosts;

fn with(test: impl FnOnce(&mut Memory, On<'_>)) {
    let costs = Costs {
        page_share_ns: 1,
        page_release_ns: 10,
        page_fault_ns: 100,
        write_fault_ns: 1_000,
        page_copy_ns: 10_000,
        ..Costs::default()
    };
    let cpus = TwoCpus::new(costs, LineCosts::default());
    test(&mut Memory::default(), cpus.on(0));
}

/// Two CPUs under one cache.
struct TwoCpus {
    costs: Costs,
    transfers: Transfers,
    bus: Bus,
}

impl TwoCpus {
    fn new(costs: Costs, lines: LineCosts) -> Self {
        let topology = Topology::regular(1, 1, 2, 1);
        let bus = Bus::new(&topology, &costs);
        Self { costs, transfers: Transfers::new(topology, lines), bus }
    }

    fn on(&self, cpu: u32) -> On<'_> {
        On { costs: &self.costs, transfers: &self.transfers, bus: &self.bus, cpu: CpuId(cpu) }
    }
}

/// Writes all pages, as a task that is never interrupted does.
fn write(memory: &mut Memory, mm: MmId, pages: u32, on: On<'_>) -> u64 {
    let (mut ps, mut next) = (0, 0);
    while next < pages {
        let (more, then) = memory.write(mm, next..pages, on);
        assert!(then > next);
        (ps, next) = (ps + more, then);
    }
    ps
}

#[test]
fn the_first_writer_copies_and_the_other_gets_the_page_back() {
    with(|memory, on| {
        let parent = memory.create(5, on.transfers.line_of(on.cpu));
        assert_eq!(write(memory, parent, 3, on), 0, "all its own");
        let (child, ps) = memory.fork(parent, on);
        assert_eq!(ps, 5_000);
        assert_eq!(write(memory, parent, 2, on), 2 * 11_000_000, "parent first: it copies");
        assert_eq!(
            write(memory, child, 3, on),
            2 * 1_000_000 + 11_000_000,
            "two are the child's alone by now"
        );
        assert_eq!(write(memory, child, 3, on), 0);
    });
}

#[test]
fn a_child_that_is_gone_leaves_cheap_faults() {
    with(|memory, on| {
        let parent = memory.create(5, on.transfers.line_of(on.cpu));
        let (child, _) = memory.fork(parent, on);
        assert_eq!(memory.leave(child, on), 5 * 10_000);
        assert_eq!(write(memory, parent, 5, on), 5 * 1_000_000);
        assert_eq!(write(memory, parent, 6, on), 100_000, "one that was not there");
    });
}

#[test]
fn threads_share_and_the_last_gives_up() {
    with(|memory, on| {
        let mm = memory.create(4, on.transfers.line_of(on.cpu));
        memory.join(mm);
        assert_eq!([memory.leave(mm, on), memory.leave(mm, on)], [0, 40_000]);
        assert_eq!(memory.free_pages.len(), 4);
        let again = memory.create(4, on.transfers.line_of(on.cpu));
        assert_eq!((again, memory.pages.len()), (mm, 4), "pages are used again");
    });
}

#[test]
fn a_child_on_another_cpu_makes_lines_move() {
    let costs = Costs { memory_kb_ns: 5, ..Costs::default() };
    let lines = LineCosts { llc_ps: 7, ..LineCosts::default() };
    let cpus = TwoCpus::new(costs, lines);
    let on = |cpu| cpus.on(cpu);
    let mut memory = Memory::default();
    let parent = memory.create(16, cpus.transfers.line_of(CpuId(0)));
    let mut round = |cpu| {
        let (child, fork_ps) = memory.fork(parent, on(0));
        let copy_ps = write(&mut memory, child, 1, on(cpu));
        let exit_ps = memory.leave(child, on(cpu));
        (fork_ps, copy_ps, exit_ps)
    };
    assert_eq!(round(0), (0, 0, 0));
    let (fork_ps, copy_ps, exit_ps) = round(1);
    let both_pages_ps = 2 * 4 * 5 * 1000;
    assert_eq!((fork_ps, copy_ps), (0, both_pages_ps + 7 + 7));
    assert_eq!(exit_ps, (16 + 2) * 7, "each count, the new page's too, and 16 entries in two lines");
    assert_eq!(round(0).0, 16 * 7, "the counts come back");
}

#[test]
fn copies_are_made_one_at_a_time() {
    with(|memory, on| {
        let parent = memory.create(3, on.transfers.line_of(on.cpu));
        let (child, _) = memory.fork(parent, on);
        assert_eq!(memory.write(parent, 0..3, on), (11_000_000, 1));
        assert_eq!(memory.write(child, 0..3, on), (1_000_000 + 11_000_000, 2), "its own by now, then a copy");
        assert_eq!(memory.write(parent, 1..3, on), (1_000_000 + 11_000_000, 3));
    });
}

#[test]
fn what_describes_a_process_moves_as_many_lines_as_it_has() {
    let costs = Costs { process_bytes: 640, shared_lines: 3, ..Costs::default() };
    let lines = LineCosts { llc_ps: 1, ..LineCosts::default() };
    let cpus = TwoCpus::new(costs, lines);
    let on = |cpu| cpus.on(cpu);
    let mut memory = Memory::default();
    let parent = memory.create(8, cpus.transfers.line_of(CpuId(0)));
    let mut round = |cpu| {
        let (child, fork_ps) = memory.fork(parent, on(0));
        (fork_ps, memory.leave(child, on(cpu)))
    };
    assert_eq!(round(0), (0, 0));
    assert_eq!(round(1), (0, 10 + 1 + 8 + 3), "its lines, a line of entries, the counts, what all share");
    assert_eq!(round(0), (8 + 3, 0), "the counts and what all share come back");
}

#[test]
fn a_new_program_has_tables_of_its_own() {
    let costs = Costs { table_pages: 4, table_stock: 100, page_clear_ns: 1, ..Costs::default() };
    let cpus = TwoCpus::new(costs, LineCosts::default());
    let on = cpus.on(0);
    let mut memory = Memory::default();
    let parent = memory.create(8, cpus.transfers.line_of(CpuId(0)));
    let (child, ps) = memory.fork(parent, on);
    assert_eq!(ps, 4000, "none in stock");
    let (child, ps) = memory.replace(child, on);
    assert_eq!(ps, 0, "those of the old one");
    memory.write(child, 0..1, on);
    memory.leave(child, on);
    assert_eq!(memory.fork(parent, on).1, 0);
    assert_eq!(memory.fork(parent, on).1, 4000);
}

#[test]
fn a_copy_fetches_the_page_that_another_cpu_freed() {
    let costs = Costs { memory_kb_ns: 5, ..Costs::default() };
    let lines = LineCosts { llc_ps: 7, ..LineCosts::default() };
    let cpus = TwoCpus::new(costs, lines);
    let on = |cpu| cpus.on(cpu);
    let mut memory = Memory::default();
    let parent = memory.create(1, cpus.transfers.line_of(CpuId(0)));
    let mut copies = |cpu| {
        let (child, _) = memory.fork(parent, on(0));
        let ps = write(&mut memory, child, 1, on(cpu)) / 1000;
        memory.leave(child, on(cpu));
        ps
    };
    let page_ns = 4 * 5;
    assert_eq!(copies(1), page_ns, "the parent's page; the new one is nobody's");
    assert_eq!(copies(0), page_ns, "its own page, but into the one that the other has freed");
    assert_eq!(copies(0), 0);
    assert_eq!(copies(1), page_ns, "it still has the parent's, which nobody wrote");
}
