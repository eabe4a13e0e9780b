//! The programs of `keel_workload::programs`: each does what it counts, and those that end do so.
#![forbid(unsafe_code)]

mod common;

use common::{fifo, spec};
use keel_abi::Instant;
use keel_lab::machines;
use keel_trace::{Class, Event, Meta, Sink, What};

#[derive(Default)]
struct Heard {
    units: u64,
    forks: u64,
    exits: u64,
    last_exit: Instant,
}

impl Sink for Heard {
    fn wants(&self) -> Class {
        Class::CORE.with(Class::COUNTS)
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            match event.what {
                What::Count { units, .. } => self.units += u64::from(units),
                What::Fork { .. } => self.forks += 1,
                What::Exit { .. } => {
                    self.exits += 1;
                    self.last_exit = event.at;
                }
                _ => {}
            }
        }
    }

    fn meta(&mut self, _: Instant, _: &Meta) {}
}

fn heard(program: &str, machine: &str, ms: u64) -> Heard {
    let machine = machines::built_in(machine).expect(machine);
    let workload = keel_workload::program(program).expect(program).expect(program);
    let mut heard = Heard::default();
    let outcome =
        keel_lab::run(&spec(fifo(), workload, machine, ms, 1), &mut heard, &mut |_| {}).expect(program);
    assert_eq!(outcome.exit, keel_abi::scx::ExitKind::None, "{program}: {}", outcome.message);
    assert!(outcome.counters.user_time.as_ns() <= ms * 1_000_000 * 8, "{program}");
    heard
}

/// A program that ends: units, tasks, and the moment of the last exit lies within these milliseconds.
fn check(program: &str, machine: &str, ms: u64, units: u64, tasks: u64, ends: std::ops::Range<u64>) {
    let heard = heard(program, machine, ms);
    assert_eq!((heard.units, heard.forks, heard.exits), (units, tasks, tasks), "{program} on {machine}");
    let last = heard.last_exit.as_ns() / 1_000_000;
    assert!(ends.contains(&last), "{program} on {machine} ends at {last} ms");
}

#[test]
fn what_ends_has_done_all_of_it() {
    check("chat:2:3:5", "p3-2", 1_000, 2 * 3 * 3 * 5, 24, 1..20);
    check("chat:2:3:5:19", "p3-1", 1_000, 2 * 3 * 3 * 5, 24, 1..20);
    check("chat:1:10:40", "xeon-8", 2_000, 10 * 10 * 40, 40, 5..200);
    check("make:2:6", "p3-2", 4_000, 6, 1 + 6 * 3 + 1, 900..2_500);
    check("make:0:6", "xeon-8", 4_000, 6, 1 + 6 * 3 + 1, 700..2_000);
    check("make:1:6", "p3-2", 6_000, 6, 1 + 6 * 3 + 1, 1_700..3_000);
    // 39 files in 11 directories: a make and a link each, mkdep and three programs a file.
    check("buildworld:4:1", "p3-2", 20_000, 39, 1 + 11 * 2 + 39 * 4, 5_000..12_000);
}

#[test]
fn what_the_wasted_cores_paper_ran_ends() {
    // A step of LU is 2 s of work, of which a thread of eight has 13 rows of 100 at most.
    check("lu:8:2", "xeon-8", 2_000, 2, 8, 500..700);
    check("lu:1:1", "p3-1", 3_000, 1, 1, 1_950..2_100);
    // 64 workers and 8 kernel threads; a block is 64 x 32 batches of 2.3 ms.
    check("tpch:1:1", "opteron-6272", 1_000, 64 * 32, 72, 73..130);
    check("tpch:18:1", "opteron-6272", 1_000, 64 * 32, 72, 73..200);
    check("tpch:0:1", "opteron-6272", 8_000, 64 * 32 * 22, 72, 1_600..4_000);
    check("r:1", "p3-1", 3_000, 100, 1, 1_000..1_100);
}

#[test]
fn what_goes_on_for_ever_counts() {
    // `fifo` lets the crowd's wakers wait for everybody else's slice, and LU's threads spin for each other.
    let all =
        keel_workload::programs().filter(|(form, ..)| !form.starts_with("crowd") && !form.starts_with("lu:"));
    for (_, program, _) in all {
        let one = heard(program, "p3-1", 2_000);
        assert!(one.units > 3, "{program} does {} in 2 s", one.units);
    }
}
