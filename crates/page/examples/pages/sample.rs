//! The contents of the pages: a run that loses a node and one that doesn't, tasks with hostile names, a balancer that
//! reports why it moves no task, and a profile with hostile names.

use keel_abi::{CpuId, Topology};
use keel_profile::{
    About, Conflict, Count, Function, Node, Place, Profile, SourceLine, Totals, Wait, Waiter,
};
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

/// The source of the profile. Lines 2 to 4 are code, and the third never ran.
pub(crate) const SOURCE: &str = "// a scheduler\nvoid enqueue()\n\tcount++; // <script>document.title='owned'</script>\n\tlock(\"<!--\");\n\n";

/// Enqueue calls a function with a hostile name. Every name that can be hostile is.
pub(crate) fn profile() -> Profile {
    let lines = (2..).zip(SOURCE.lines().skip(1).take(3));
    let lines = lines.map(|(line, text)| SourceLine {
        insn: line - 2,
        file: format!("a/{}.c", HOSTILE[2]),
        line,
        text: text.trim().to_owned(),
    });
    let lines: Vec<SourceLine> = lines.collect();
    let count = |insn, executed, calls_ps| Count { insn, executed, taken: 0, lines_ps: 900_000, calls_ps };
    let node = |origin: &str, caller, function, counts| Node {
        origin: origin.to_owned(),
        in_callbacks: true,
        caller,
        function,
        calls: 1_000,
        entry_ps: if caller.is_none() { 50_000_000 } else { 0 },
        counts,
    };
    let at = |insn| Place { function: 0, insn };
    let mut profile = Profile {
        about: About {
            scheduler: HOSTILE[1].to_owned(),
            workload: "made up".to_owned(),
            machine: "made up".to_owned(),
            cpus: 32,
            seed: 1,
            duration_ns: 4_000_000_000,
        },
        totals: Totals { callbacks: 1_000, instructions: 3_500, callback_ns: 60_000, ..Totals::default() },
        insn_ps: 300,
        functions: vec![
            Function { name: "enqueue".to_owned(), lines, branches: vec![2] },
            Function { name: HOSTILE[1].to_owned(), lines: Vec::new(), branches: Vec::new() },
        ],
        nodes: vec![
            node("ops.enqueue", None, 0, vec![count(0, 1_000, 0), count(2, 1_000, 4_000_000)]),
            node("ops.enqueue", Some((0, 2)), 1, vec![count(0, 1_000, 2_000_000)]),
            node(HOSTILE[3], None, 1, vec![count(0, 500, 0)]),
        ],
        conflicts: vec![Conflict {
            from: Some(at(1)),
            to: Some(at(2)),
            distance: "same LLC".to_owned(),
            writes: true,
            name: HOSTILE[4].to_owned(),
            several: false,
            moves: 7,
            ps: 900_000,
        }],
        waits: vec![Wait {
            waiter: Some(Waiter { origin: HOSTILE[0].to_owned(), place: at(2) }),
            holder: None,
            lock: HOSTILE[5].to_owned(),
            count: 2,
            ns: 1_000,
        }],
        ..Profile::default()
    };
    profile.settle();
    profile
}
