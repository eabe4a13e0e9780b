//! Events about what a task did itself.

use crate::state::kernel::Kernel;
use crate::state::out::Out;
use crate::state::task::Own;
use keel_abi::cgroup::CgroupStep;
use keel_abi::scx::wake;
use keel_abi::task::TaskSpec;
use keel_abi::{CpuId, Span, TaskId};
use keel_trace::{Act, CgroupChange, Class, Meta, Request, What};

impl Kernel {
    /// Emits that a task acts, after the work it has done until then.
    pub(crate) fn emit_act(&mut self, c: CpuId, task: TaskId, act: Act) {
        if self.out.wants(Class::ACTS) {
            self.emit_worked(c, task);
            self.tell(Class::ACTS, c, What::Acts { task, act });
        }
    }

    /// Emits that a task wakes another; a timer or interrupt doesn't count as a task.
    #[inline(always)]
    pub(crate) fn emit_wakes(&mut self, c: CpuId, waker: TaskId, wakee: TaskId, flags: u64) {
        if self.out.wants(Class::ACTS) && !waker.is_idle() && flags & wake::FORK == 0 {
            self.emit_wakes_of_task(c, waker, wakee, flags);
        }
    }

    /// Wakeups without work between them belong to one step: the task leaves the kernel only after the last of them. So
    /// the first wakeup of a step always follows work, even if that took no time.
    #[inline(never)]
    fn emit_wakes_of_task(&mut self, c: CpuId, waker: TaskId, wakee: TaskId, flags: u64) {
        let Own { user, kernel_ps, has_stepped, .. } = self.tasks[waker].own;
        if has_stepped && user == Span::ZERO && kernel_ps == 0 {
            self.tell(Class::ACTS, c, What::Worked { task: waker, user, kernel_ps });
        }
        self.emit_act(c, waker, Act::Wakes { wakee, sync: flags & wake::SYNC != 0 });
    }

    /// Emits that a task asks for a change to itself. The task has done no more since its last work than what the
    /// change costs, even if that is nothing: so it always follows work, even if that took no time.
    pub(crate) fn emit_asks(&mut self, c: CpuId, task: TaskId, request: Request) {
        let Own { user, kernel_ps, .. } = self.tasks[task].own;
        if user == Span::ZERO && kernel_ps == 0 {
            self.tell(Class::ACTS, c, What::Worked { task, user, kernel_ps });
        }
        self.emit_worked(c, task);
        self.emit_request(task, false, request);
    }

    /// Emits what a task has asked for from the beginning.
    pub(crate) fn emit_first_requests(&mut self, task: TaskId) {
        let Some(spec) = self.tasks[task].spec else { return };
        let TaskSpec { slice, hint, .. } = self.workload.tasks[spec as usize];
        let requests = [slice.map(Request::Slice), hint.map(Request::Hint)];
        requests.into_iter().flatten().for_each(|request| self.emit_request(task, false, request));
    }

    pub(crate) fn emit_request(&mut self, task: TaskId, outside: bool, request: Request) {
        if self.out.wants(Class::ACTS) {
            self.out.emit_meta(self.now, Meta::Asks { task, outside, request: Box::new(request) });
        }
    }

    /// A change to a cgroup as a request, which names the cgroup by its path.
    pub(crate) fn cgroup_request(&self, step: CgroupStep) -> Request {
        let change = match step {
            CgroupStep::Join(_) => CgroupChange::Join,
            CgroupStep::JoinProcess(_) => CgroupChange::JoinProcess,
            CgroupStep::Make(_) => CgroupChange::Make,
            CgroupStep::Remove(_) => CgroupChange::Remove,
            CgroupStep::Weight(_, weight) => CgroupChange::Weight(weight),
            CgroupStep::Idle(_, idle) => CgroupChange::Idle(idle),
            CgroupStep::Bandwidth(_, bandwidth) => CgroupChange::Bandwidth(bandwidth),
        };
        let path = step.id().place().map_or("/", |place| &self.workload.cgroups[place].path);
        Request::Cgroup { path: path.to_owned(), change }
    }

    pub(crate) fn emit_worked(&mut self, c: CpuId, task: TaskId) {
        let Own { user, kernel_ps, .. } = std::mem::take(&mut self.task(task).own);
        let is_wanted = self.tasks[task].spec.is_some();
        if is_wanted && (user > Span::ZERO || kernel_ps > 0) {
            self.tell(Class::ACTS, c, What::Worked { task, user, kernel_ps });
        }
    }

    /// Emits the work that tasks have done since their last act, at the end of a run.
    pub(crate) fn emit_open_work(&mut self) {
        for task in self.tasks.ids() {
            let c = self.tasks[task].cpu;
            self.emit_worked(c, task);
        }
    }

    /// Emits the throughput of `task` since it was last emitted.
    #[inline(never)]
    pub(crate) fn emit_counts(&mut self, c: CpuId, task: TaskId) {
        if task.is_idle() {
            return;
        }
        let units = std::mem::take(&mut self.task(task).counted);
        if units > 0 {
            self.tell(Class::UNITS, c, What::Count { task, units });
        }
    }

    /// Emits the throughput that no event has yet, at the end of a run. Nearly every task may have some, so `flush` is
    /// called whenever there are enough events.
    pub(crate) fn emit_open_counts(&mut self, mut flush: impl FnMut(&mut Out)) {
        for task in self.tasks.ids() {
            let c = self.tasks[task].cpu;
            self.emit_counts(c, task);
            if self.out.is_full() {
                flush(&mut self.out);
            }
        }
    }
}
