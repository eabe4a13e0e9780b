//! Creates tasks as the kernel does, and describes them to listeners.

use crate::state::kernel::Kernel;
use crate::state::layout::{TASK_STRIDE, task as field};
use crate::state::objects::process::Birth;
use crate::state::rng::Rng;
use crate::state::task::{Doing, Member, OpsState, Own, State, Task};
use keel_abi::bpf::{Ea, World};
use keel_abi::scx::ent;
use keel_abi::task::Policy;
use keel_abi::{CpuId, CpuSet, Instant, Pid, Span, TaskId};
use keel_trace::{Class, Meta, TaskInfo, What};

impl Kernel {
    /// Marks a task that `ops.init_task` has accepted as ready.
    pub(crate) fn mark_ready<W: World>(&mut self, world: &mut W, task: TaskId) {
        self.task(task).member = Member::Ready;
        self.mirror_scx_bits(world, task, ent::STATE_MASK, ent::STATE_READY);
    }

    /// Returns whether `ops.init_task` has forbidden the task to join the scheduler (`p->scx.disallow`).
    pub(crate) fn is_disallowed<W: World>(&self, world: &W, task: TaskId) -> bool {
        world.slice(self.tasks[task].ea.offset(field::SCX_DISALLOW), 1).is_some_and(|byte| byte[0] != 0)
    }

    /// Returns whether the task may not have this policy (`scx_check_setscheduler()`, `-EACCES`).
    pub(crate) fn refuses<W: World>(&self, world: &W, task: TaskId, policy: Policy) -> bool {
        policy == Policy::Ext && !self.scx.is_gone() && self.is_disallowed(world, task)
    }

    /// Creates a task and its `task_struct`. The task starts on its creator's CPU.
    pub(crate) fn make_task<W: World>(
        &mut self,
        world: &mut W,
        spec: Option<u32>,
        c: CpuId,
        parent: TaskId,
        birth: Birth,
    ) -> TaskId {
        let all = CpuSet::first(self.cpus.len() as u32);
        let (nice, wanted, policy) = match spec {
            Some(spec) => {
                let spec = &self.workload.tasks[spec as usize];
                (spec.nice, spec.cpus.clone(), spec.policy)
            }
            None => (0, CpuSet::new(), Policy::Other),
        };
        let cpus = if wanted.is_empty() { all } else { wanted };
        let (number, program) = (self.tasks.len() as u64, self.steps.begin_of(spec));
        let pid = Pid(self.next_pid);
        self.next_pid += 1;
        let task = self.tasks.push(Task {
            ea: Ea(self.task_base.0 + number * TASK_STRIDE),
            member: Member::No,
            cpu: c,
            placed: None,
            wake_cpu: c,
            state: State::New,
            queued: false,
            on_cpu: false,
            ops_state: OpsState::None,
            in_custody: false,
            deferred: false,
            reset_runnable_at: true,
            watched: false,
            direct: None,
            queue: None,
            runnable_at: self.now,
            exec_start: self.now,
            cpu_time: Span::ZERO,
            nr_allowed: cpus.len() as u32,
            goes_anywhere: cpus.len() == self.cpus.len(),
            cpus,
            class: self.scx.takes.class_of(policy),
            immed: false,
            migration_disabled: 0,
            is_pinned: false,
            policy,
            boost: 0,
            turn_ticks: self.turn_ticks(),
            nice,
            weight: crate::rules::policy::weight_of(policy, nice),
            pid,
            spec,
            program,
            doing: Doing::Steps,
            next_step: program,
            loops: Vec::new(),
            began: Instant::NEVER,
            timers: Vec::new(),
            written: 0,
            rng: Rng::new(self.seed, number),
            counted: 0,
            yielded: false,
            busy: false,
            waking: false,
            sleeps: 0,
            own: Own::default(),
            sleeps_until: None,
            tape_at: 0,
        });
        self.counters.forks += 1;
        if let Some(spec) = spec {
            self.outside.add(spec, task);
        }
        self.queues.add_task(task);
        self.lines.add_task(task);
        self.place_new(task, spec, c, parent, birth);
        self.mirror_new(world, task);
        self.join_session(world, task, spec, parent, birth);
        let cgroup = self.cgroup_of_new(spec, parent);
        self.cgroups.add_task(task, cgroup);
        self.mirror_membership(world, task, cgroup);
        self.mirror_task_group(world, task);
        self.emit_scheduled(task);
        self.emit_task(task);
        self.emit_first_requests(task);
        task
    }

    /// Emits a task's description, or an updated one after a change.
    pub(crate) fn emit_task(&mut self, task: TaskId) {
        if self.tasks[task].spec.is_none() {
            return;
        }
        let name = self.full_name(task);
        let t = &self.tasks[task];
        let info = TaskInfo { task, pid: t.pid, name, nice: t.nice, cpus: t.cpus.clone() };
        self.out.emit_meta(self.now, Meta::Task(info));
        self.emit_priority(task);
    }

    /// Emits a task's priority. Its weight has no meaning if it is in a cgroup or session that has its own weight.
    pub(crate) fn emit_priority(&mut self, task: TaskId) {
        let t = &self.tasks[task];
        if t.spec.is_none() {
            return;
        }
        let prio = match t.rt_priority() {
            0 => 120 + i16::from(t.nice),
            priority => 99 - i16::from(priority),
        };
        let grouped = self.cgroups.is_below_root(task) || self.has_autogroup(task);
        let weight = if grouped { 0 } else { t.weight };
        let cpu = t.cpu;
        self.tell(Class::BRIEF, cpu, What::Priority { task, prio, weight });
    }

    fn full_name(&self, task: TaskId) -> String {
        match self.tasks[task].spec {
            Some(spec) => self.workload.tasks[spec as usize].name.clone(),
            None => "init".to_owned(),
        }
    }

    /// Returns whether the task is dead.
    pub(crate) fn is_dead(&self, task: TaskId) -> bool {
        self.tasks[task].state == State::Dead
    }

    /// Sets the next tick of `c`, after a tick or when the CPU gets a task.
    #[inline]
    pub(crate) fn arm_tick(&mut self, c: CpuId) {
        let period = self.tick.as_ns();
        let cpu = &*self.cpus.this_cpu;
        let (now, due) = (cpu.clock.as_ns(), cpu.tick_due.as_ns());
        // Ticks are a period apart, so the last one tells the next, mostly without a division.
        let next = match now.checked_sub(due) {
            Some(since) if since < period => due + period,
            Some(since) => due + (since / period + 1) * period,
            None if due - now <= period => due,
            _ => self.first_tick_ns(c, now),
        };
        let due = Instant::from_ns(next);
        let latency = self.interrupt_latency(c);
        let cpu = self.this_cpu();
        cpu.tick_due = due;
        cpu.ticks.set_tick(due + latency);
    }

    /// When the first tick of `c` after `now` is due.
    #[inline(never)]
    fn first_tick_ns(&self, c: CpuId, now: u64) -> u64 {
        let period = self.tick.as_ns();
        let phase = self.tick_phase_ns(c);
        (now + period - phase) / period * period + phase
    }
}
