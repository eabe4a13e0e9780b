//! The kernel's own choice of a CPU, in cases that depend on more than the masks (the searches themselves are tested in
//! the `kernel` crate).

use crate::harness::*;
use keel_lab::machines;

#[test]
fn whole_cores_are_filled_first() {
    let laptop = machines::built_in("laptop-8").expect("it is built in");
    let cores = {
        let cpus = laptop.topology.iter();
        let mut cores: Vec<_> = cpus.map(|c| laptop.topology.place(c).core).collect();
        cores.dedup();
        cores.sort_unstable();
        cores.dedup();
        cores.len() as u32
    };
    assert!(cores < laptop.topology.cpus(), "the machine has SMT");
    let tasks = hog("a").instances(cores);
    let run = with("tracer").set("select_dsq", LOCAL).on(laptop.clone()).task(tasks).millis(20).survives();
    let mut used: Vec<_> = run.events_of(|e| match e.what {
        keel_trace::What::Switch { next, .. } if !next.is_idle() => Some(laptop.topology.place(e.cpu).core),
        _ => None,
    });
    used.sort_unstable();
    used.dedup();
    assert_eq!(used.len() as u32, cores);
}

#[test]
fn a_task_stays_where_it_was_while_that_is_idle() {
    let run =
        with("tracer").cpus(8).set("select_dsq", LOCAL).task(repeat("a", [run(100), sleep(100)])).survives();
    let mut cpus: Vec<u32> = run.starts("a").iter().map(|(_, cpu)| cpu.0).collect();
    cpus.dedup();
    assert_eq!(cpus.len(), 1);
}

#[test]
fn a_task_with_one_cpu_gets_that_one_if_it_is_idle() {
    let a = || repeat("a", [run(100), sleep(100)]).on([1]);
    let free = with("tracer").cpus(4).set("enqueue_selects", 1).task(a()).millis(5).survives();
    assert!(free.values("a", "was_idle")[1..].iter().all(|&idle| idle == 1), "{}", free.log());
    assert!(free.values("a", "selected_by_kfunc").iter().all(|&cpu| cpu == 1));
    let base = with("tracer").cpus(4).set("enqueue_selects", 1).set("slice_ns", 1_000_000);
    let busy = base.task(hog("x").on([1])).task(a().after_ms(1)).millis(20).survives();
    assert!(busy.values("a", "was_idle").iter().all(|&idle| idle == 0), "{}", busy.log());
}

#[test]
fn a_task_with_one_cpu_gets_none_if_prev_cpu_is_another() {
    let base = with("tracer").cpus(4).set("enqueue_selects", 1).set("select_prev", 0);
    let run = base.task(repeat("a", [run(100), sleep(100)]).on([1])).millis(5).survives();
    assert!(run.values("a", "was_idle").iter().all(|&idle| idle == 0), "{}", run.log());
    assert!(run.count("a", "was_idle") > 10);
}
