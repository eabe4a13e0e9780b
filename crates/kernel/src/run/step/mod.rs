//! Maps each frame to its step. Nothing else knows all paths.

pub(crate) mod cgroup;
pub(crate) mod fair;
pub(crate) mod rt;

use crate::paths::duty::Duty;
use crate::paths::sim::Sim;
use crate::state::frame::Frame;
use keel_abi::CpuId;
use keel_abi::bpf::Engine;

/// What happened to the topmost frame.
pub(crate) enum Step {
    /// Its step has been taken.
    Taken,
    /// Its step has been taken, and the CPU stays the first: since it was asked last whether it is, it has done nothing
    /// that takes time or that makes anybody due.
    First,
    /// It begins a duty, which the caller carries out.
    Begins(Duty),
    /// There is none.
    None,
}

impl Step {
    /// The step has been taken, which says whether the CPU stays first.
    #[inline(always)]
    fn after(stays_first: bool) -> Self {
        if stays_first { Self::First } else { Self::Taken }
    }
}

impl<E: Engine> Sim<E> {
    /// Takes the next step of `c`'s kernel path.
    #[inline(always)]
    pub(crate) fn step(&mut self, c: CpuId) -> Step {
        let Some(frame) = self.k.this_cpu().stack.pop() else { return Step::None };
        match *frame {
            Frame::Act => return Step::Begins(Duty::Act),
            Frame::Interrupt => return Step::Begins(Duty::Interrupt),
            Frame::Schedule => return Step::Begins(Duty::Schedule),
            Frame::Tick => return Step::Begins(Duty::Tick),

            Frame::Unlock { rq } => return Step::after(self.unlock(c, rq)),
            Frame::Wake { task, flags, waker } => return Step::after(self.wake(c, task, flags, waker)),
            Frame::WakeSleeper { task, sleep } => return Step::after(self.wake_sleeper(c, task, sleep)),
            Frame::WakeSelected { task, flags, waker } => {
                return Step::after(self.wake_selected_later(c, task, flags, waker));
            }
            Frame::WakeActivate { task, target, flags, waker } => {
                return Step::after(self.wake_activate_later(c, task, target, flags, waker));
            }
            Frame::Woken { task, target } => return Step::after(self.woken(c, task, target)),
            Frame::Deactivate => return Step::after(self.deactivate_later(c)),
            Frame::Quiesce { task } => return Step::after(self.quiesce_later(c, task)),
            Frame::Deactivated { task } => return Step::after(self.deactivated_later(c, task)),
            Frame::Pick => return Step::after(self.pick(c)),
            Frame::Dispatched { left } => return Step::after(self.dispatched_later(c, left)),
            Frame::NothingFound => return Step::after(self.nothing_found(c)),
            Frame::Switch { next } => return Step::after(self.switch(c, next)),
            Frame::Scheduled { dead } => return Step::after(self.scheduled(c, dead)),

            Frame::Resume => self.resume(c),
            Frame::QueuedWakeup { task, waker } => self.complete_wakeup(c, task, waker),
            Frame::WakeLock { task, target, flags, waker } => self.wake_lock(c, task, target, flags, waker),
            Frame::Enqueue { task, enq_flags } => self.enqueue(c, task, enq_flags),
            Frame::Enqueued { task, enq_flags } => self.enqueued(c, task, enq_flags),
            Frame::Dispatch { left } => self.dispatch(c, left),
            Frame::PutPrev { prev, next } => self.put_prev(c, prev, next),
            Frame::SetNext { prev, next } => self.set_next(c, prev, next),
            Frame::TickLocked => self.tick_locked(c),
            Frame::Ticked => self.ticked(c),

            frame => self.step_rarely(c, frame),
        }
        Step::Taken
    }

    /// The rarer steps; those that begin a duty are not handled here.
    #[inline(never)]
    fn step_rarely(&mut self, c: CpuId, frame: Frame) {
        match frame {
            Frame::Hrtick => self.hrtick(c),
            Frame::Kick { target, flags } => self.kick(c, target, flags),
            Frame::SyncWait => self.sync_wait(),
            Frame::Reenqueue { rq } => self.reenqueue(c, rq),
            Frame::ReenqueueLocal { rq, times } => self.reenqueue_local(c, rq, times),
            Frame::ReenqueueTask { task, stay } => self.reenqueue_task(c, task, stay),
            Frame::EnqueueAgain { task, reason } => self.enqueue_again(c, task, reason),
            Frame::EnqueuedAgain { task } => self.enqueued_again(task),
            Frame::Reenqueued { rq } => self.reenqueued(c, rq),
            Frame::Release { next } => self.release_cpu(c, next),
            Frame::Yield => self.yield_cpu(c),
            Frame::YieldLocked => self.yield_locked(c),
            Frame::Yielded => self.yielded(c),
            Frame::ForkInit { child, parent } => self.fork_init(c, child, parent),
            Frame::ForkInited { child, parent } => self.fork_inited(c, child, parent),
            Frame::ForkWeight { child, parent } => self.fork_weight(c, child, parent),
            Frame::ForkWake { child, parent } => self.fork_wake(child, parent),
            Frame::Reap { task } => self.reap(c, task),
            Frame::ReapExit { task } => self.reap_exit(c, task),
            Frame::Reaped { task } => self.reaped(c, task),
            Frame::SetNice { task, nice } => self.set_nice(c, task, nice),
            Frame::ChangeQuiesce { task } => self.change_quiesce(c, task),
            Frame::ChangeNice { task, nice } => self.change_nice(c, task, nice),
            Frame::SetCpus { task, step } => self.set_cpus(c, task, step),
            Frame::ChangeCpus { task, step } => self.change_cpus(c, task, step),
            Frame::Pin { task, is_pinned } => self.pin(c, task, is_pinned),
            Frame::Pinned { task, is_pinned } => self.pinned(c, task, is_pinned),
            Frame::SectionOver { task } => self.section_over(c, task),
            Frame::SetPolicy { task, step } => self.set_policy(c, task, step),
            Frame::PolicyQuiesce { task, to } => self.policy_quiesce(c, task, to),
            Frame::PolicyDisable { task, to } => self.policy_disable(c, task, to),
            Frame::ChangePolicy { task, to } => self.change_policy(c, task, to),
            Frame::ChangeWithin { task, policy } => self.change_within(c, task, policy),
            Frame::RestoreClass { task, flags } => self.restore_class(c, task, flags),
            Frame::RunClass { task } => self.run_class(c, task),
            Frame::PolicyChanged { task, before } => self.policy_changed(c, task, before),
            Frame::Restore { task } => self.restore(c, task),
            Frame::RestoreRunning { task } => self.restore_running(c, task),
            Frame::PushAway { task } => self.push_away(c, task),
            Frame::PushedAway { task } => self.pushed_away(c, task),
            Frame::PushWaiting { task } => self.push_waiting(c, task),
            Frame::MoveLock { task, target } => self.move_lock(c, task, target),
            Frame::Happen { entry, nth } => self.happen(c, entry, nth),
            Frame::OutsideLock { entry, task, rq } => self.outside_lock(c, entry, task, rq),
            Frame::OutsideChange { entry, task } => self.outside_change(c, entry, task),
            Frame::OutsideSettle { task, rq } => self.outside_settle(c, task, rq),
            Frame::TakeOff { task, flags } => self.taken_off(c, task, flags),
            Frame::PutBack { task, flags } => self.put_back(c, task, flags),
            Frame::PutBackRunning { task } => self.put_back_running(c, task),
            Frame::Widen { task } => self.widen_task(c, task),
            Frame::StopTask { task } => self.stop_task(c, task),
            Frame::Offline => self.go_offline(c),
            Frame::Requeue { task } => self.requeue(c, task),
            Frame::Hotplug { online } => self.handle_hotplug(c, online),
            Frame::Hotplugged { online } => self.hotplugged(c, online),
            Frame::Die => self.die(c),
            Frame::Relock { mutex } => self.own_relock(c, mutex),
            Frame::RunBpfTimer { timer } => self.run_bpf_timer(c, timer),
            Frame::BpfTimerDone { timer } => self.k.timers.end_callback(timer),
            Frame::RunProgram { program } => self.run_program(c, program),
            Frame::ProgramDone { program } => self.program_done(c, program),
            Frame::CompanionRan { number } => self.companion_ran(c, number),
            Frame::TraceSwitch { prev, next, nth } => self.trace_switch(c, prev, next, nth),
            Frame::TraceTick { nth } => self.trace_tick(c, nth),
            Frame::TraceReg { nth } => self.trace_reg(c, nth),
            Frame::Fair(frame) => self.fair_step(c, frame),
            Frame::Rt(frame) => self.rt_step(c, frame),
            Frame::Cgroup(frame) => self.cgroup_step(c, frame),
            Frame::Inited => self.inited(c),
            Frame::EnableTask { task } => self.enable_task(c, task),
            Frame::EnableSwitch { task } => self.enable_switch(c, task),
            Frame::EnableInited { task } => self.enable_inited(c, task),
            Frame::EnableWeight { task } => self.enable_weight(c, task),
            Frame::EnableCpus { task } => self.enable_cpus(c, task),
            Frame::EnableDone => {
                self.enable_done();
                let now = self.k.this_cpu().clock;
                self.begin_first_sleeps(now);
            }
            Frame::DisableTask { task } => self.disable_task(c, task),
            Frame::Bypass { cpu, on } => self.bypass(c, cpu, on),
            Frame::BypassTask { task } => self.bypass_task(c, task),
            Frame::Bypassed { rq } => self.bypassed(c, rq),
            Frame::SwitchSettle { task, rq } => self.switch_settle(c, task, rq),
            Frame::LeaveClass { task, policy, was_on } => self.leave_class(task, policy, was_on),
            Frame::DisableMember { task } => self.disable_member(c, task),
            Frame::DisableExit => self.disable_exit(c),
            Frame::Disabled => self.disabled(c),
            Frame::Attach => self.run_before_enabling(),
            Frame::BeginEnable => self.enable_again(c),

            hot => unreachable!("{hot:?} is taken as often as any"),
        }
    }
}
