//! What the pages show: a run that loses a node and one that doesn't, tasks with hostile names, and a balancer that
//! reports why it moves none.

use keel_abi::{CpuId, Topology};
use keel_report::made_up::{MadeUp, shared};
use keel_trace::policy::{Group, Kind, Outcome};
use keel_trace::{Policy, Sink};

/// From one decision to the next, in nanoseconds.
const DECIDES: u64 = 40_000_000;

/// Untrusted names that tasks may have.
pub(crate) const HOSTILE: [&str; 8] = [
    "<script>document.title='owned'</script>",
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=document.title='owned'>",
    "\"><svg onload=document.title='owned'>",
    "<!--",
    "evil\u{202e}txt\u{0}\n",
    "{{constructor.constructor('document.title=1')()}}",
    "",
];

/// Plays a run into `sink`.
pub(crate) fn play(topology: Topology, ns: u64, tick_ns: u64, loses_a_node: bool, sink: &mut dyn Sink) {
    let every = (DECIDES / tick_ns).max(1);
    let decision = decision(&topology);
    let reported = |tick: u64| (loses_a_node && tick.is_multiple_of(every)).then(|| decision.clone());
    let wanted = shared(&topology, loses_a_node);
    MadeUp { topology, ns, tick_ns, names: &HOSTILE }.play(sink, wanted, reported);
}

/// The first CPU of the lost node compares averages and moves nothing.
fn decision(topology: &Topology) -> Policy {
    let per_node = topology.cpus() / topology.nodes();
    let group = |node: u32, load: u64| Group {
        load,
        first_cpu: CpuId(node * per_node),
        cpus: per_node as u16,
        runnable: load as u16 / 128,
        class: None,
    };
    let groups = vec![group(1, 1024), group(0, 900), group(2.min(topology.nodes() - 1), 880)];
    Policy {
        level: 2,
        chosen: None,
        outcome: Some(Outcome::Balanced),
        considered: (0..2 * per_node).map(CpuId).collect(),
        nr_groups: 3,
        groups,
        ..Policy::of(Kind::NewIdle, CpuId(per_node))
    }
}
