//! Runs tracing programs at the points that they are attached to.
//!
//! A program gets the arguments of the traced event, runs on the CPU where the event happens, and takes time as a
//! callback does.

use crate::paths::callback::Begun;
use crate::paths::sim::Sim;
use crate::state::callback::Place;
use crate::state::cgroup::Number;
use crate::state::cpus::BOOT_CPU;
use crate::state::frame::Frame;
use crate::state::frame::cgroup::CgroupFrame;
use crate::state::hooks::{NAMES, Point};
use crate::state::task::State;
use keel_abi::bpf::{Ea, Engine, Entry, World};
use keel_abi::{CpuId, TaskId};

/// `TASK_INTERRUPTIBLE` and `TASK_DEAD` of `task_struct.__state`.
const INTERRUPTIBLE: u64 = 1;

const DEAD: u64 = 0x80;

/// `PATH_MAX`.
const PATH_BYTES: u64 = 4096;

impl<E: Engine> Sim<E> {
    /// Attaches a tracing program of the object to a point, whose name is as in libbpf's sections
    /// (`tp_btf/sched_switch`). Returns false if there is no such point.
    pub fn trace(&mut self, place: &str, program: Entry) -> bool {
        let Some(&(_, point)) = NAMES.iter().find(|(name, _)| *name == place) else { return false };
        self.k.hooks.by_point[point as usize].push(program);
        self.k.scx.needs_slow_path |= point == Point::SchedSwitch;
        true
    }

    /// Detaches a tracing program.
    pub fn untrace(&mut self, place: &str, program: Entry) {
        let Some(&(_, point)) = NAMES.iter().find(|(name, _)| *name == place) else { return };
        self.k.hooks.by_point[point as usize].retain(|&other| other != program);
    }

    /// Runs the programs that trace the enabling of a scheduler, before anything else happens.
    pub(crate) fn trace_enabling(&mut self) {
        let mut nth = 0;
        while let Some(program) = self.k.hooks.nth(Point::ScxReg, nth) {
            let begun = self.begin_traced(BOOT_CPU, program, &[0, 0]);
            self.finish_alone(begun);
            nth += 1;
        }
    }

    /// Runs [`Frame::TraceSwitch`].
    pub(crate) fn trace_switch(&mut self, c: CpuId, prev: TaskId, next: TaskId, nth: u32) {
        let Some(program) = self.k.hooks.nth(Point::SchedSwitch, nth) else { return };
        self.k.this_cpu().stack.push(Frame::TraceSwitch { prev, next, nth: nth + 1 });
        let [prev_at, next_at] = [prev, next].map(|task| match task {
            TaskId::IDLE => self.k.idle_task_ea(c).0,
            task => self.k.tasks[task].ea.0,
        });
        let (is_preempted, state) = match prev {
            TaskId::IDLE => (0, 0),
            prev => match self.k.tasks[prev].state {
                State::Runnable => (1, 0),
                State::Dead | State::Exiting => (0, DEAD),
                _ => (0, INTERRUPTIBLE),
            },
        };
        self.start_traced(c, program, &[is_preempted, prev_at, next_at, state]);
    }

    /// Runs [`Frame::TraceTick`].
    pub(crate) fn trace_tick(&mut self, c: CpuId, nth: u32) {
        let Some(program) = self.k.hooks.nth(Point::ScxTick, nth) else { return };
        self.k.this_cpu().stack.push(Frame::TraceTick { nth: nth + 1 });
        let rq = self.k.runqueue_at(self.vm.world(), c).0;
        self.start_traced(c, program, &[rq]);
    }

    /// Runs [`Frame::TraceReg`].
    pub(crate) fn trace_reg(&mut self, c: CpuId, nth: u32) {
        let Some(program) = self.k.hooks.nth(Point::ScxReg, nth) else { return };
        self.k.this_cpu().stack.push(Frame::TraceReg { nth: nth + 1 });
        self.start_traced(c, program, &[0, 0]);
    }

    /// Lets the programs that trace this event of a cgroup run next.
    pub(crate) fn queue_tracers(&mut self, point: Point, number: Number, (task, whole): (TaskId, bool)) {
        if self.k.hooks.traces(point) {
            let trace = CgroupFrame::Trace { point, number, task, whole, nth: 0 };
            self.k.this_cpu().stack.push(Frame::Cgroup(trace));
        }
    }

    /// Runs [`CgroupFrame::Trace`].
    pub(crate) fn trace_cgroup(
        &mut self,
        c: CpuId,
        point: Point,
        number: Number,
        (task, whole): (TaskId, bool),
        nth: u32,
    ) {
        let Some(program) = self.k.hooks.nth(point, nth) else { return };
        let next = CgroupFrame::Trace { point, number, task, whole, nth: nth + 1 };
        self.k.this_cpu().stack.push(Frame::Cgroup(next));
        let (group, path) = (self.k.cgroups[number].ea.0, self.show_path(number).0);
        match point {
            Point::CgroupAttachTask => {
                let task = self.k.tasks[task].ea.0;
                self.start_traced(c, program, &[group, path, task, u64::from(whole)]);
            }
            _ => self.start_traced(c, program, &[group, path]),
        }
    }

    /// Writes a cgroup's path to where programs read it, and returns the address.
    fn show_path(&mut self, number: Number) -> Ea {
        let world = self.vm.world();
        let Some(at) = self.k.hooks.path_at.or_else(|| world.reserve(PATH_BYTES)) else { return Ea::NULL };
        self.k.hooks.path_at = Some(at);
        let path = self.k.cgroup_path(number);
        let shown = if path.is_empty() { "/" } else { &path };
        if let Some(bytes) = world.slice_mut(at, PATH_BYTES) {
            let len = shown.len().min(bytes.len() - 1);
            bytes[..len].copy_from_slice(&shown.as_bytes()[..len]);
            bytes[len..].fill(0);
        }
        at
    }

    fn start_traced(&mut self, c: CpuId, program: Entry, args: &[u64]) {
        let begun = self.begin_traced(c, program, args);
        self.leave_if_suspended(begun);
    }

    fn begin_traced(&mut self, c: CpuId, program: Entry, args: &[u64]) -> Begun {
        self.k.begin_program(Place::Trace);
        let progress = self.vm.start(&mut self.k, c, program, args);
        self.progressed(progress)
    }
}
