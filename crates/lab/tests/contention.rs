//! A queue that all CPUs share serves no more of them than its lock lets through; queues of their
//! own serve each CPU.

use keel_abi::Span;
use keel_lab::{Engine, RunSpec, SchedulerSource, machines, run, schedulers, workloads};
use keel_trace::NullSink;

/// Switches in 10 ms of as many pairs as CPUs that send four bytes to and fro.
fn switches(scheduler: &str, cpus: u32) -> u64 {
    let machine = machines::of_cpus(cpus);
    let bytes = schedulers::built_in(scheduler).expect("it is built in").into();
    let spec = RunSpec {
        scheduler: SchedulerSource { name: scheduler.into(), bytes, recipe: keel_recipe::Recipe::default() },
        settings: Vec::new(),
        workload: workloads::made(&format!("context1:{cpus}"), &machine).expect("made").expect("right"),
        machine,
        duration: Span::from_ms(10),
        seed: 1,
        noise: keel_abi::Noise::None,
        engine: Engine::Native,
        checked: false,
    };
    run(&spec, &mut NullSink, &mut |_| {}).expect("it runs").counters.switches
}

#[test]
fn one_queue_gets_slower_with_more_cpus_and_queues_of_their_own_do_not() {
    let check = |scheduler: &str, is_expected: fn(u64, u64) -> bool| {
        let (few, many) = (switches(scheduler, 8), switches(scheduler, 32));
        assert!(is_expected(few, many), "{scheduler}: {few} on 8 CPUs, {many} on 32");
    };
    check("fifo", |few, many| many < few);
    check("percpu", |few, many| many * 10 > few * 4 * 8);
}
