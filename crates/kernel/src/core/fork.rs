//! New tasks and dead ones: `sched_fork()`, `wake_up_new_task()`, `sched_ext_dead()`.

use crate::sim::Sim;
use crate::state::class::SchedClass;
use crate::state::frame::Frame;
use crate::state::kernel::Kernel;
use crate::state::layout::{TASK_STRIDE, init_task_args, task as field};
use crate::state::objects::process::Birth;
use crate::state::rng::Rng;
use crate::state::scx::Phase;
use crate::state::setup::MAX_TASKS;
use crate::state::task::{Doing, Member, OpsState, Own, State, Task};
use keel_abi::bpf::{Ea, Engine, Owner, World};
use keel_abi::scx::{Op, ent, wake};
use keel_abi::task::Policy;
use keel_abi::{CpuId, CpuSet, Instant, Pid, Span, TaskId};
use keel_trace::{Class, Meta, TaskInfo, What};

impl<E: Engine> Sim<E> {
    /// Makes an instance of a task of the workload and starts it on its way.
    pub(crate) fn fork(&mut self, c: CpuId, spec: u32, parent: TaskId, birth: Birth) {
        if self.k.tasks.len() as u64 >= MAX_TASKS {
            return self.k.error(c, format!("fork: no more than {MAX_TASKS} tasks"));
        }
        let costs = &self.k.machine.costs;
        let fork_ns = if birth == Birth::Process { costs.fork_process_ns } else { costs.fork_ns };
        self.k.charge_ns(c, fork_ns);
        let child = self.k.make_task(self.vm.world(), Some(spec), c, parent, birth);
        self.k.deliver_hint(self.vm.world(), child);
        self.k.this_cpu().stack.push(Frame::ForkInit { child, parent });
    }

    /// [`Frame::ForkInit`].
    pub(crate) fn fork_init(&mut self, c: CpuId, child: TaskId, parent: TaskId) {
        if !matches!(self.k.scx.phase, Phase::Enabled | Phase::Disabling) {
            // Nobody has it, or whoever enables a scheduler takes it in.
            return self.k.this_cpu().stack.push(Frame::ForkWake { child, parent });
        }
        self.k.this_cpu().stack.push(Frame::ForkInited { child, parent });
        self.init_task(c, child, true);
    }

    /// Calls `ops.init_task`.
    pub(crate) fn init_task(&mut self, c: CpuId, task: TaskId, fork: bool) {
        let ea = self.k.tasks[task].ea;
        let (args, cgroup) = (self.k.scx.args_at(c), self.k.cgroups.ea_of(task));
        let world = self.vm.world();
        world.put(args, &[0; init_task_args::SIZE as usize]);
        world.put(args.offset(init_task_args::FORK), &[u8::from(fork)]);
        world.put(args.offset(init_task_args::CGROUP), &cgroup.0.to_le_bytes());
        world.put(ea.offset(field::SCX_DISALLOW), &[0]);
        self.start(c, Op::InitTask, task, &[ea.0, args.0]);
    }

    /// [`Frame::ForkInited`]: an error aborts the fork; else `ops.enable`.
    pub(crate) fn fork_inited(&mut self, c: CpuId, child: TaskId, parent: TaskId) {
        let answer = self.k.this_cpu().returned as i32;
        if self.k.sane_errno(c, "init_task", answer) != 0 {
            self.k.task(child).state = State::Dead;
            return self.k.cgroups.remove_task(child);
        }
        if self.k.scx.is_disabling() {
            return self.k.this_cpu().stack.push(Frame::ForkWake { child, parent });
        }
        if self.k.is_disallowed(self.vm.world(), child) {
            let who = self.k.name_of(child);
            self.k.error(c, format!("ops.init_task() set task->scx.disallow for {who} during fork"));
        }
        if self.k.tasks[child].class != SchedClass::Ext {
            self.k.mark_ready(self.vm.world(), child);
            return self.k.this_cpu().stack.push(Frame::ForkWake { child, parent });
        }
        self.k.this_cpu().stack.push(Frame::ForkWeight { child, parent });
        self.enable_member(c, child);
    }

    /// Calls `ops.enable`.
    pub(crate) fn enable_member(&mut self, c: CpuId, task: TaskId) {
        self.k.task(task).member = Member::Enabled;
        self.k.mirror_enabled(self.vm.world(), task);
        let ea = self.k.tasks[task].ea;
        self.start(c, Op::Enable, task, &[ea.0]);
    }

    /// [`Frame::ForkWeight`].
    pub(crate) fn fork_weight(&mut self, c: CpuId, child: TaskId, parent: TaskId) {
        let (ea, weight) = (self.k.tasks[child].ea, self.k.tasks[child].weight);
        self.k.this_cpu().stack.push(Frame::ForkWake { child, parent });
        self.start(c, Op::SetWeight, child, &[ea.0, u64::from(weight)]);
    }

    /// [`Frame::ForkWake`].
    pub(crate) fn fork_wake(&mut self, child: TaskId, parent: TaskId) {
        self.k.this_cpu().stack.push(Frame::Wake { task: child, flags: wake::FORK, waker: parent });
    }

    /// [`Frame::Reap`]: a dead task leaves the scheduler: `ops.disable` if it was its, then `ops.exit_task`.
    pub(crate) fn reap(&mut self, c: CpuId, task: TaskId) {
        let ea = self.k.tasks[task].ea;
        self.k.this_cpu().stack.push(Frame::ReapExit { task });
        if self.k.tasks[task].member == Member::Enabled {
            self.start(c, Op::Disable, task, &[ea.0]);
        }
    }

    /// [`Frame::ReapExit`].
    pub(crate) fn reap_exit(&mut self, c: CpuId, task: TaskId) {
        if self.k.tasks[task].member == Member::No {
            return;
        }
        let ea = self.k.tasks[task].ea;
        let args = self.k.scx.scratch;
        self.vm.world().put(args, &[0; 8]);
        self.k.task(task).member = Member::Ready;
        self.k.this_cpu().stack.push(Frame::Reaped { task });
        self.start(c, Op::ExitTask, task, &[ea.0, args.0]);
    }

    /// [`Frame::Reaped`].
    pub(crate) fn reaped(&mut self, _c: CpuId, task: TaskId) {
        self.vm.world().storage_forget(Owner::Task(task.0));
        if self.k.is_dead(task) {
            // Who outlives the scheduler keeps its cgroup.
            self.k.cgroups.remove_task(task);
        }
        let t = self.k.task(task);
        t.member = Member::No;
        t.loops = Vec::new();
        t.timers = Vec::new();
    }
}

impl Kernel {
    /// `ops.init_task` has taken the task in.
    pub(crate) fn mark_ready<W: World>(&mut self, world: &mut W, task: TaskId) {
        self.task(task).member = Member::Ready;
        self.mirror_scx_bits(world, task, ent::STATE_MASK, ent::STATE_READY);
    }

    /// Has `ops.init_task` said that the task may not ask for the scheduler (`p->scx.disallow`)?
    pub(crate) fn is_disallowed<W: World>(&self, world: &W, task: TaskId) -> bool {
        world.slice(self.tasks[task].ea.offset(field::SCX_DISALLOW), 1).is_some_and(|byte| byte[0] != 0)
    }

    /// Is it not to get this policy (`scx_check_setscheduler()`, `-EACCES`)?
    pub(crate) fn refuses<W: World>(&self, world: &W, task: TaskId, policy: Policy) -> bool {
        policy == Policy::Ext && !self.scx.is_gone() && self.is_disallowed(world, task)
    }

    /// Makes a task and its `task_struct`. The child starts where its maker runs.
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
        let number = self.tasks.len() as u64;
        let pid = Pid(self.next_pid);
        self.next_pid += 1;
        let task = self.tasks.push(Task {
            ea: Ea(self.task_base.0 + number * TASK_STRIDE),
            member: Member::No,
            cpu: c,
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
            cpus,
            class: self.scx.takes.class_of(policy),
            immed: false,
            migration_disabled: 0,
            is_pinned: false,
            policy,
            boost: 0,
            turn_ticks: self.turn_ticks(),
            nice,
            weight: crate::core::policy::weight_of(policy, nice),
            pid,
            spec,
            doing: Doing::Steps,
            next_step: 0,
            loops: Vec::new(),
            began: Instant::NEVER,
            timers: Vec::new(),
            written: 0,
            rng: Rng::new(self.seed, number),
            counted: 0,
            yielded: false,
            busy: false,
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
        self.tell_task(task);
        task
    }

    /// Emits who a task is, or what has changed about it.
    pub(crate) fn tell_task(&mut self, task: TaskId) {
        if self.tasks[task].spec.is_none() {
            return;
        }
        let name = self.full_name(task);
        let t = &self.tasks[task];
        let info = TaskInfo { task, pid: t.pid, name, nice: t.nice, cpus: t.cpus.clone() };
        self.out.tell_meta(self.now, Meta::Task(info));
        self.tell_priority(task);
    }

    /// Emits a task's priority. Its weight means nothing where a cgroup or session of its own has one.
    pub(crate) fn tell_priority(&mut self, task: TaskId) {
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
        self.tell(Class::CORE, cpu, What::Priority { task, prio, weight });
    }

    fn full_name(&self, task: TaskId) -> String {
        match self.tasks[task].spec {
            Some(spec) => self.workload.tasks[spec as usize].name.clone(),
            None => "init".to_owned(),
        }
    }

    /// Is this moment the end of everything for the task?
    pub(crate) fn is_dead(&self, task: TaskId) -> bool {
        self.tasks[task].state == State::Dead
    }

    /// Arms the next tick of `c`, which has just got a task or ticked.
    #[inline]
    pub(crate) fn arm_tick(&mut self, c: CpuId) {
        let period = self.tick.as_ns();
        let phase = self.tick_phase_ns(c);
        let now = self.cpus.this_cpu.clock.as_ns();
        let passed = (now + period - phase) / period;
        let latency = self.interrupt_latency(c);
        self.this_cpu().tick_at = Instant::from_ns(passed * period + phase) + latency;
    }
}
