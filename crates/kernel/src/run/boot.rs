//! Boots: creates a kernel at time zero from a machine, a workload and a scheduler's callbacks.

use crate::rules::emit_groups::has_groups_or_policies;
use crate::state::bpf::functions::{AllTerms, F, Terms};
use crate::state::bpf::iter::Cursors;
use crate::state::bpf::res_spin::ResLocks;
use crate::state::bpf::spin::SpinLocks;
use crate::state::bpf::timer::Timers;
use crate::state::cgroup::Cgroups;
use crate::state::cost::{Bus, KernelLines, Turns, kfunc};
use crate::state::cpus::Cpus;
use crate::state::domains::Domains;
use crate::state::event::EventQueue;
use crate::state::fair::Fair;
use crate::state::hooks::Hooks;
use crate::state::idle::IdleMasks;
use crate::state::jiffies::Jiffies;
use crate::state::kernel::{Counters, Kernel};
use crate::state::layout::TASK_STRIDE;
use crate::state::log::Log;
use crate::state::machine::Machine;
use crate::state::noise::NoiseState;
use crate::state::objects::Objects;
use crate::state::out::Out;
use crate::state::outside::Outside;
use crate::state::rng::Rng;
use crate::state::rt::overload::Overload;
use crate::state::rt::throttle::RtPeriod;
use crate::state::scx::Scx;
use crate::state::scx::queues::Queues;
use crate::state::sessions::Sessions;
use crate::state::setup::{FIRST_PID, MAX_TASKS, Scheduler, Setup, SetupError, refuse};
use crate::state::steps::Steps;
use crate::state::task::Tasks;
use keel_abi::bpf::{Ea, World};
use keel_abi::scx::ops_flags;
use keel_abi::task::Workload;
use keel_abi::timeline::{Change, Happening};
use keel_abi::{CoreId, CpuId, CpuSet, DsqId, Instant, Noise, Span, Topology, UPTIME};
use keel_trace::{Class, Meta};
use std::collections::BTreeMap;

/// Returns the changes from outside during a run. A recording in which CPUs go online or offline already contains the
/// changes of the machine's own timeline.
fn timeline<'a>(machine: &'a Machine, workload: &'a Workload) -> impl Iterator<Item = Happening> + 'a {
    let plugs = |entry: &Happening| matches!(entry.change, Change::Online(_) | Change::Offline(_));
    let is_told = workload.recorded.is_some() && workload.timeline.iter().any(plugs);
    let own: &[Happening] = if is_told { &[] } else { &machine.timeline };
    own.iter().chain(&workload.timeline).cloned()
}

/// Returns how long the machine has been up when the run begins: a random time of at least [`UPTIME`] and less than
/// twice that, because schedulers count seconds and longer periods by the clock.
fn uptime(seed: u64) -> Span {
    const STREAM: u64 = u64::MAX - 1;
    UPTIME + Span::from_ns(Rng::new(seed, STREAM).below(UPTIME.as_ns()))
}

impl Kernel {
    pub(crate) fn boot<W: World>(world: &mut W, mut setup: Setup, wants: Class) -> Result<Self, SetupError> {
        let scheduler = setup.scheduler.unwrap_or_else(|| Scheduler {
            name: crate::state::fair::NAME.to_owned(),
            ..Scheduler::default()
        });
        refuse(&scheduler)?;
        let topology = &setup.machine.topology;
        let tick = Span::from_ns(1_000_000_000 / u64::from(setup.machine.hz));
        let lines = KernelLines::new(topology, setup.machine.lines);
        let mut cpus = Cpus::new(siblings(topology), lines.transfers());
        let queues = Queues::new(topology);
        for c in topology.iter() {
            cpus[c].global = queues.global(topology.place(c).node);
        }
        let task_base = world.reserve(TASK_STRIDE * (MAX_TASKS + u64::from(topology.cpus())));
        let task_base = task_base.ok_or(SetupError::NoRoom(MAX_TASKS))?;
        let sessions = Sessions::new(world).ok_or(SetupError::NoRoom(MAX_TASKS))?;
        let mut kernel = Self {
            queue: EventQueue::new(topology.cpus()),
            now: Instant::ZERO,
            uptime: uptime(setup.seed),
            cpus,
            tasks: Tasks::default(),
            queues,
            idle: IdleMasks::new(topology),
            fair: Fair::new(topology, setup.fair, setup.seed),
            lines,
            bus: Bus::new(topology, &setup.machine.costs),
            scx: Scx::new(&scheduler),
            objects: Objects::new(&setup.workload, &setup.machine),
            cgroups: Cgroups::default(),
            decisions: scheduler.decisions,
            local_types: scheduler.local_types.clone(),
            spins: SpinLocks::default(),
            res_spins: ResLocks::default(),
            timers: Timers::default(),
            out: Out::new(wants),
            counters: Counters::default(),
            waits: None,
            clocks: None,
            exit: None,
            blamed: None,
            waiting_starts: Vec::new(),
            asleep_at_boot: Vec::new(),
            starts: Default::default(),
            not_own_ps: 0,
            asked: None,
            programs: setup.programs,
            hooks: Hooks::default(),
            failed_program: None,
            seed: setup.seed,
            task_base,
            next_pid: FIRST_PID,
            tick,
            jiffies: Jiffies::new(tick),
            has_groups_or_policies: has_groups_or_policies(&setup.workload),
            turns: match setup.machine.costs.turn_ns {
                0 => None,
                turn_ns => Some(Turns::new(turn_ns)),
            },
            cids: Default::default(),
            terms: terms(setup.machine.costs.insn_ps, topology.cpus()),
            cursors: Cursors::default(),
            online_mask: Ea::NULL,
            order: None,
            single_masks: Ea::NULL,
            possible_mask: Ea::NULL,
            per_cpu: Ea::NULL,
            domains: Domains::new(topology),
            sessions,
            overload: Overload::default(),
            rt_period: RtPeriod::default(),
            odd_switches: u32::from(setup.machine.costs.distinguishes_switches_to_idle()),
            again: crate::state::scx::restart::Restart::default(),
            outside: Outside::new(topology.cpus(), timeline(&setup.machine, &setup.workload)),
            rng: Rng::new(setup.seed, u64::MAX),
            noise: NoiseState::new(setup.noise, &setup.machine, setup.seed),
            log: Log::default(),
            insn_ps: setup.machine.policy_insn_ps(),
            entry_ps: setup.machine.costs.callback_ns * 1000,
            schedule_ps: setup.machine.costs.schedule_first_ns().map(|ns| ns * 1000),
            machine: setup.machine,
            // Last, as the lines above read programs in the workload.
            steps: Steps::taken_from(&mut setup.workload.tasks),
            workload: setup.workload,
        };
        kernel.objects.processes.hints = scheduler.hints;
        kernel.terms.iter_mut().for_each(|terms| terms.set_form(scheduler.arenas.is_some()));
        kernel.idle.set_per_node(scheduler.flags & ops_flags::BUILTIN_IDLE_PER_NODE != 0);
        kernel.lines.set_idle_per_node(kernel.idle.per_node());
        if !kernel.make_first_cgroups(world) {
            return Err(SetupError::NoRoomForCgroups(kernel.workload.cgroups.len()));
        }
        kernel.mirror_idle_tasks(world);
        kernel.emit_start(&scheduler.name, &scheduler.queues, setup.noise);
        kernel.emit_first_groups();
        for c in kernel.machine.topology.iter() {
            let speed = kernel.speed_of(c);
            let takes_turns = kernel.turns.is_some();
            let cpu = kernel.cpu(c);
            if takes_turns {
                cpu.pauses.take_turns();
                cpu.shares_speed = true;
            }
            cpu.set_speed(speed);
        }
        kernel.arm_starts();
        kernel.arm_interrupts();
        kernel.arm_timeline();
        Ok(kernel)
    }

    fn emit_start(&mut self, scheduler: &str, queues: &[(DsqId, String)], noise: Noise) {
        let meta = Meta::Start {
            topology: self.machine.topology.clone(),
            scheduler: scheduler.to_owned(),
            workload: self.workload.name.clone(),
            unit: self.workload.unit.clone(),
        };
        self.out.emit_meta(Instant::ZERO, meta);
        if noise != Noise::None {
            self.out.emit_meta(Instant::ZERO, Meta::Chance { seed: self.seed, noise });
        }
        for (id, name) in queues {
            self.out.emit_meta(Instant::ZERO, Meta::Queue { id: *id, name: name.clone() });
        }
    }
}

/// Returns the other CPUs of each CPU's core.
fn siblings(topology: &Topology) -> Vec<CpuSet> {
    let mut cores: BTreeMap<CoreId, CpuSet> = BTreeMap::new();
    for c in topology.iter() {
        cores.entry(topology.place(c).core).or_default().insert(c);
    }
    let others = |c: CpuId| {
        let mut set = cores[&topology.place(c).core].clone();
        set.remove(c);
        set
    };
    topology.iter().map(others).collect()
}

/// Returns the terms of each helper and kfunc on a machine.
fn terms(insn_ps: u64, cpus: u32) -> AllTerms {
    let words = u64::from(cpus.div_ceil(64));
    let price = |f: F| kfunc::price(f.name()).over(words) * insn_ps;
    let of = |f| Terms::new(f, price(f));
    std::array::from_fn(|i| of(F::all()[i]))
}
