//! A random machine, random tasks and a random timeline. Events from outside end early, so that the test can check
//! which tasks are still there afterwards.

use crate::harness::{LOCAL, Scenario, local_on, run_up_to, set, sleep, with_source};
use keel_abi::cgroup::{Bandwidth, Cgroup, CgroupId, CgroupStep};
use keel_abi::task::{Policy, Step, TaskSpec};
use keel_abi::timeline::{Change, Happening};
use keel_abi::{CpuSet, Span};
use keel_lab::{Machine, machines};

/// From here on, nothing happens from outside.
pub(crate) const QUIET_MS: u64 = 120;
/// How long a run is.
pub(crate) const END_MS: u64 = 500;

/// A small generator (splitmix64).
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }
}

/// 2, 4 or 8 CPUs, plain, with SMT, or on two nodes.
fn machine(rng: &mut Rng) -> Machine {
    let shape =
        rng.pick(&[(1, 2, 1), (1, 4, 1), (1, 8, 1), (1, 1, 2), (1, 2, 2), (2, 1, 2), (2, 2, 2), (2, 2, 1)]);
    let (nodes, cores, threads) = shape;
    let text = format!(
        "name = 'm'\n[topology]\nnodes = {nodes}\nllcs_per_node = 1\ncores_per_llc = {cores}\nthreads_per_core = {threads}\n"
    );
    machines::read("m.toml", &text).unwrap_or_else(|e| panic!("{e}"))
}

/// Some of the CPUs, at least one.
fn some(rng: &mut Rng, cpus: u32) -> CpuSet {
    let word = rng.next();
    let mut chosen = set((0..cpus).filter(|cpu| word >> cpu & 1 == 1));
    if chosen.is_empty() || rng.one_in(3) {
        chosen = set([rng.below(u64::from(cpus)) as u32]);
    }
    chosen
}

fn policy(rng: &mut Rng) -> Policy {
    let priority = 1 + rng.below(4) as u8;
    rng.pick(&[
        Policy::Other,
        Policy::Other,
        Policy::Ext,
        Policy::Fifo(priority),
        Policy::RoundRobin(priority),
    ])
}

/// What a task does repeatedly. `spells` are migration-disabled sections, in which it may sleep.
fn steps(rng: &mut Rng, cpus: u32, spells: bool) -> Vec<Step> {
    let mut steps = vec![run_up_to(600), sleep(200 + rng.below(3000))];
    for _ in 0..1 + rng.below(6) {
        let step = match rng.below(12) {
            0 => Step::Policy(policy(rng)),
            1 => Step::Nice(rng.pick(&[-5, 0, 5, 19])),
            2 => Step::Affinity(some(rng, cpus)),
            3 => Step::Affinity(CpuSet::new()),
            4 | 5 => Step::Cgroup(cgroup_step(rng)),
            6 => Step::Yield,
            7 => Step::Fork(0),
            8 => Step::Spawn(0),
            _ => run_up_to(2000),
        };
        steps.push(step);
        if rng.one_in(2) {
            steps.push(rng.pick(&[run_up_to(300), sleep(100), sleep(1500)]));
        }
    }
    if spells {
        let within = 2 + rng.below(steps.len() as u64 - 1) as usize;
        // A task cannot leave the CPU that it is pinned to on its own.
        let is_kept = |step: &&Step| !matches!(step, Step::Affinity(_));
        let mut spell = vec![Step::MigrateDisable];
        spell.extend(steps[..within.min(steps.len())].iter().filter(is_kept).cloned());
        spell.push(Step::MigrateEnable);
        steps.extend(spell);
    }
    steps.push(sleep(100 + rng.below(2000)));
    steps.push(Step::Loop { to: 0, times: Some(4 + rng.below(25) as u32), slot: 0 });
    // Then little work is left anywhere.
    let calm = steps.len() as u32 + 2;
    steps.extend([Step::Policy(Policy::Other), Step::Affinity(CpuSet::new()), run_up_to(100), sleep(3000)]);
    steps.push(Step::Loop { to: calm, times: None, slot: 1 });
    steps
}

fn cgroup_step(rng: &mut Rng) -> CgroupStep {
    let id = CgroupId(rng.below(4) as u32);
    match rng.below(8) {
        0..=3 => CgroupStep::Join(id),
        4 | 5 => CgroupStep::JoinProcess(id),
        6 => CgroupStep::Weight(id, 1 + rng.below(1000) as u32),
        _ => CgroupStep::Idle(id, rng.one_in(2)),
    }
}

fn tasks(rng: &mut Rng, cpus: u32) -> Vec<TaskSpec> {
    // The task that the others fork.
    let child = TaskSpec {
        name: "child".to_owned(),
        steps: vec![run_up_to(200), sleep(300), run_up_to(100)],
        ..TaskSpec::default()
    };
    let mut tasks = vec![child];
    for number in 1..2 + rng.below(5) {
        let spells = rng.one_in(2);
        tasks.push(TaskSpec {
            name: format!("{}{number}", if spells { "spell" } else { "plain" }),
            instances: 1 + rng.below(3) as u32,
            delay: Span::from_us(rng.below(20_000)),
            cpus: if rng.one_in(3) { some(rng, cpus) } else { CpuSet::new() },
            steps: steps(rng, cpus, spells),
            process: rng.below(2) as u32,
            policy: policy(rng),
            kthread: rng.one_in(8),
            cgroup: rng.one_in(3).then(|| CgroupId(rng.below(4) as u32)),
            ..TaskSpec::default()
        });
    }
    if rng.one_in(2) {
        tasks.push(TaskSpec {
            name: "hog".to_owned(),
            instances: 1 + rng.below(u64::from(cpus)) as u32,
            steps: vec![run_up_to(20_000), Step::Loop { to: 0, times: Some(10), slot: 0 }],
            cpus: if rng.one_in(2) { some(rng, cpus) } else { CpuSet::new() },
            ..TaskSpec::default()
        });
    }
    tasks
}

fn timeline(rng: &mut Rng, cpus: u32, specs: u64) -> Vec<Happening> {
    let mut timeline = Vec::new();
    for _ in 0..4 + rng.below(30) {
        let spec = 1 + rng.below(specs - 1) as u32;
        let change = match rng.below(5) {
            0 => Change::Offline(without_first(some(rng, cpus))),
            1 => Change::Online(some(rng, cpus)),
            2 | 3 => Change::Affinity { spec, cpus: some(rng, cpus) },
            _ => Change::Nice { spec, nice: rng.pick(&[-20, -1, 0, 7, 19]) },
        };
        let at = Span::from_us(rng.below(QUIET_MS * 1000));
        timeline.push(Happening { at, every: None, times: None, follows: false, change });
    }
    let mut quiet = vec![Change::Online(CpuSet::first(cpus))];
    for spec in 1..specs as u32 {
        quiet.extend([Change::Affinity { spec, cpus: CpuSet::first(cpus) }, Change::Nice { spec, nice: 0 }]);
    }
    let at = Span::from_ms(QUIET_MS);
    timeline.extend(quiet.into_iter().map(|change| Happening {
        at,
        every: None,
        times: None,
        follows: false,
        change,
    }));
    timeline
}

fn without_first(mut cpus: CpuSet) -> CpuSet {
    cpus.remove(keel_abi::CpuId(0));
    cpus
}

fn cgroups() -> Vec<Cgroup> {
    let cgroup = |path: &str, parent| Cgroup {
        path: path.to_owned(),
        parent,
        is_there: true,
        weight: 100,
        bandwidth: Bandwidth::default(),
        idle: false,
    };
    vec![cgroup("/a", CgroupId::ROOT), cgroup("/b", CgroupId::ROOT), cgroup("/a/c", CgroupId(1))]
}

/// What the tracer does besides recording.
fn settings(rng: &mut Rng, cpus: u64, mut scenario: Scenario) -> Scenario {
    const IMMED: u64 = 1 << 33;
    let cpu = rng.below(cpus);
    if rng.one_in(3) {
        scenario = scenario.set("select_this", cpu);
    }
    if rng.one_in(4) {
        scenario = scenario.set("select_dsq", LOCAL).set("select_flags", rng.pick(&[0, IMMED]));
    }
    let enqueue = rng.below(8);
    scenario = match enqueue {
        0 | 1 => scenario.set("enqueue_dsq", 0),
        2 => scenario.set("enqueue_dsq", LOCAL),
        3 => scenario.set("enqueue_dsq", LOCAL).set("enqueue_flags", IMMED).set("again_to_own", 1),
        4 => scenario
            .set("enqueue_dsq", local_on(cpu))
            .set("enqueue_flags", rng.pick(&[0, IMMED]))
            .set("again_to_own", 1),
        _ => scenario,
    };
    if rng.one_in(3) {
        // SCX_KICK_IDLE, SCX_KICK_PREEMPT, SCX_KICK_WAIT.
        let flags = rng.pick(&[0u32, 1, 2, 4, 6]);
        scenario = scenario.set("enqueue_kicks", rng.below(cpus)).set("kick_flags", flags);
        if rng.one_in(2) {
            scenario = scenario.set("kicks_too", rng.below(cpus));
        }
    }
    if rng.one_in(4) {
        scenario = scenario.set("reenqueues", 1);
    }
    if rng.one_in(2) {
        scenario = scenario.set("release_reenqueues", 1);
    }
    scenario.set("slice_ns", rng.pick(&[500_000u64, 5_000_000, 20_000_000]))
}

/// A run in which everything happens.
pub(crate) fn mixed(source: &str, rng: &mut Rng) -> Scenario {
    let machine = machine(rng);
    let cpus = machine.topology.cpus();
    let tasks = tasks(rng, cpus);
    let mut timeline = timeline(rng, cpus, tasks.len() as u64);
    if source.ends_with("fifo") && !rng.one_in(8) {
        timeline.retain(|happening| happening.change.spec().is_some());
    }
    let mut scenario = with_source(source).on(machine).millis(END_MS);
    if source.ends_with("together") {
        scenario = settings(rng, u64::from(cpus), scenario);
    }
    scenario.workload(|workload| {
        (workload.tasks, workload.timeline, workload.cgroups) = (tasks, timeline, cgroups());
    })
}
