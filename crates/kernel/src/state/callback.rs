//! A CPU's callback in progress: who was called for which task, what it holds, and what it has asked for.

use crate::state::bpf::spin::SpinPlace;
use crate::state::cpu::{Cpu, after_ps};
use keel_abi::bpf::{Ea, Origin, Usage};
use keel_abi::scx::Op;
use keel_abi::{DsqId, Instant, Span, TaskId};

/// Whether there is a callback, and how it differs from a plain one: the kernel called it, nobody watches its CPU
/// ([`Pauses::is_watched`](crate::state::pauses::Pauses::is_watched)), it holds no BPF lock, and is nested in no other
/// callback. In one word, so that each call of it asks one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Marks(u8);

impl Marks {
    /// A plain callback may begin.
    const NONE: Self = Self(0);
    /// There is one. Without this mark, what a callback rarely has is as in [`Callback::NONE`]; the others are kept up
    /// even then.
    const IN_PROGRESS: Self = Self(1);
    /// The kernel didn't call it, or its CPU is watched.
    const UNUSUAL: Self = Self(2);
    /// It holds resilient locks, or is nested.
    const ENCUMBERED: Self = Self(4);
    /// It is suspended for another reason than that a CPU was due before the moment that it had reached.
    const WAITS_OTHERWISE: Self = Self(8);
    /// It holds a `bpf_spin_lock`, as [`Callback::spin`] says.
    const HOLDS_SPIN: Self = Self(16);
    /// There is one that would be plain if it held no `bpf_spin_lock`.
    const ONLY_HOLDS_SPIN: Self = Self(Self::IN_PROGRESS.0 | Self::HOLDS_SPIN.0);

    fn has(self, mark: Self) -> bool {
        self.0 & mark.0 != 0
    }

    fn set(&mut self, mark: Self, is_set: bool) {
        self.0 = self.0 & !mark.0 | if is_set { mark.0 } else { 0 };
    }
}

/// A callback in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callback {
    marks: Marks,
    /// What called the program, and its current or last call; any number before the first one.
    pub(crate) caller: Caller,
    /// The task that it is called for, or [`TaskId::IDLE`].
    pub(crate) subject: TaskId,
    /// When it began.
    pub(crate) began: Instant,
    /// The cost of its calls beyond the instructions, in picoseconds.
    pub(crate) charged_ps: u64,
    /// It has dispatched a task directly, or tried to.
    pub(crate) has_dispatched: bool,
    /// The reply to give when a suspended call is made again.
    pub(crate) reply: Option<u64>,
    /// The `bpf_spin_lock` it holds, and where the kernel keeps that; anything if it holds none.
    spin: (Ea, SpinPlace),
    /// How many `bpf_res_spin_lock` it holds.
    pub(crate) res_spins: u32,
    /// The moment that it had reached when it was last suspended because a CPU was due before.
    pub(crate) asked_at: Instant,
}

impl Callback {
    /// No callback.
    pub(crate) const NONE: Self = Self {
        marks: Marks::NONE,
        caller: Caller { op: Op::Exit, place: Place::Op, call: 0 },
        subject: TaskId::IDLE,
        began: Instant::ZERO,
        charged_ps: 0,
        has_dispatched: false,
        reply: None,
        spin: (Ea(0), SpinPlace::NONE),
        res_spins: 0,
        asked_at: Instant::ZERO,
    };

    /// Returns whether there is none, and none has left anything.
    fn is_at_rest(&self) -> bool {
        let Self { caller, reply, res_spins, .. } = *self;
        let holds_nothing = reply.is_none() && !self.holds_spin() && res_spins == 0;
        !self.is_in_progress() && holds_nothing && caller.place == Place::Op
    }

    /// Returns whether there is one.
    #[inline]
    pub(crate) fn is_in_progress(&self) -> bool {
        self.marks.has(Marks::IN_PROGRESS)
    }

    /// Returns whether the kernel called it, and nobody watches its CPU.
    #[inline]
    pub(crate) fn is_usual(&self) -> bool {
        !self.marks.has(Marks::UNUSUAL)
    }

    /// Returns whether there is one that is a plain one.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.marks == Marks::IN_PROGRESS
    }

    /// Returns whether there is one that is plain, apart from the `bpf_spin_lock` that it holds.
    #[inline]
    pub(crate) fn only_holds_spin(&self) -> bool {
        self.marks == Marks::ONLY_HOLDS_SPIN
    }

    /// Returns whether it holds a `bpf_spin_lock`.
    #[inline]
    pub(crate) fn holds_spin(&self) -> bool {
        self.marks.has(Marks::HOLDS_SPIN)
    }

    /// The `bpf_spin_lock` that it holds.
    #[inline]
    pub(crate) fn spin(&self) -> Option<(Ea, SpinPlace)> {
        self.holds_spin().then_some(self.spin)
    }

    /// Like `spin` for one that certainly holds a lock.
    #[inline]
    pub(crate) fn held_spin(&self) -> (Ea, SpinPlace) {
        debug_assert!(self.holds_spin());
        self.spin
    }

    /// It is suspended, or goes on, for another reason than that a CPU was due before the moment that it had reached.
    #[inline]
    pub(crate) fn set_waits_otherwise(&mut self, waits: bool) {
        self.marks.set(Marks::WAITS_OTHERWISE, waits);
    }

    /// Returns whether there is none, and the next one that the kernel calls is a plain one.
    #[inline]
    pub(crate) fn may_begin_plainly(&self) -> bool {
        self.marks == Marks::NONE
    }

    /// Under a BPF lock no other CPU runs first.
    #[inline]
    pub(crate) fn lets_others_past(&self) -> bool {
        !self.holds_spin() && self.res_spins == 0
    }

    /// The task that it may dispatch directly. The first insert takes it.
    #[inline]
    pub(crate) fn take_direct_subject(&mut self) -> DirectSubject {
        let is_spent = std::mem::replace(&mut self.has_dispatched, true);
        match self.caller.op {
            _ if is_spent => DirectSubject::Spent,
            Op::SelectCpu | Op::Enqueue => DirectSubject::Task(self.subject),
            _ => DirectSubject::None,
        }
    }
}

/// Who called the kernel: a callback, and where in the object's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) op: Op,
    pub(crate) place: Place,
    pub(crate) call: u32,
}

/// What calls a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The kernel, for a callback of the scheduler.
    Op,
    /// BPF's own timer.
    Timer,
    /// The scheduler's user-space half, for a `SEC("syscall")` program.
    Syscall,
    /// The kernel, for a tracing program.
    Trace,
}

impl Caller {
    /// What called the program.
    pub(crate) fn origin(self) -> Origin {
        match self.place {
            Place::Op => Origin::Op(self.op),
            Place::Timer => Origin::Timer,
            Place::Syscall => Origin::Program,
            Place::Trace => Origin::Trace,
        }
    }

    /// The callback's name in messages: `ops.enqueue()`.
    pub(crate) fn words(self) -> String {
        match self.place {
            Place::Op => format!("ops.{}()", self.op.name()),
            Place::Timer => "a timer".to_owned(),
            Place::Syscall => "a syscall program".to_owned(),
            Place::Trace => "a tracing program".to_owned(),
        }
    }
}

/// The task that may be dispatched directly from this callback (`direct_dispatch_task`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DirectSubject {
    /// None: the callback can't dispatch directly.
    None,
    /// This task.
    Task(TaskId),
    /// None any more: it has been dispatched already.
    Spent,
}

/// An insert that `ops.dispatch` has buffered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffered {
    pub(crate) task: TaskId,
    /// Identifies the task's stay with the scheduler; `None` if the scheduler didn't have the task.
    pub(crate) qseq: Option<u64>,
    pub(crate) dsq: DsqId,
    pub(crate) enq_flags: u64,
    /// The caller that asked for it.
    pub(crate) by: Caller,
}

/// The state of one `ops.dispatch` call (`struct scx_dsp_ctx`).
#[derive(Debug, Default)]
pub(crate) struct DispatchBuffer {
    pub(crate) inserts: Vec<Buffered>,
    /// Tasks dispatched by this call.
    pub(crate) dispatched: u32,
}

impl Cpu {
    /// A callback begins, which is charged this much for its entry.
    pub(crate) fn begin_callback(&mut self, op: Op, subject: TaskId, entry_ps: u64) {
        let mut marks = self.callback.marks;
        marks.set(Marks::IN_PROGRESS, true);
        self.begin_marked(marks, op, subject, entry_ps);
    }

    /// Like `begin_callback` for a plain one.
    #[inline(always)]
    pub(crate) fn begin_plain(&mut self, op: Op, subject: TaskId, entry_ps: u64) {
        debug_assert!(self.callback.may_begin_plainly());
        self.begin_marked(Marks::IN_PROGRESS, op, subject, entry_ps);
    }

    /// What is not set here is as in [`Callback::NONE`].
    #[inline(always)]
    fn begin_marked(&mut self, marks: Marks, op: Op, subject: TaskId, entry_ps: u64) {
        debug_assert!(self.has_right_marks());
        let began = self.clock;
        let callback = &mut self.callback;
        debug_assert!(callback.is_at_rest(), "a callback leaves nothing behind");
        callback.marks = marks;
        callback.caller.op = op;
        callback.subject = subject;
        callback.began = began;
        callback.charged_ps = entry_ps;
        callback.has_dispatched = false;
    }

    /// Like `begin_callback` within the one in progress.
    #[cold]
    #[inline(never)]
    pub(crate) fn nest_callback(&mut self, op: Op, subject: TaskId, entry_ps: u64) {
        self.outer.push(std::mem::replace(&mut self.callback, Callback::NONE));
        self.note_plain();
        self.begin_callback(op, subject, entry_ps);
    }

    /// The callback that has just begun was not called by the kernel as one of the scheduler's.
    #[inline]
    pub(crate) fn begins_from(&mut self, place: Place) {
        self.callback.caller.place = place;
        self.note_plain();
    }

    /// The callback takes a `bpf_spin_lock`.
    #[inline]
    pub(crate) fn takes_spin(&mut self, lock: Ea, place: SpinPlace) {
        self.callback.spin = (lock, place);
        self.callback.marks.set(Marks::HOLDS_SPIN, true);
    }

    /// The callback releases its `bpf_spin_lock`.
    #[inline]
    pub(crate) fn releases_spin(&mut self) {
        self.callback.marks.set(Marks::HOLDS_SPIN, false);
        debug_assert!(self.has_right_marks());
    }

    /// The callback holds this many `bpf_res_spin_lock`s now.
    pub(crate) fn set_res_spins(&mut self, count: u32) {
        self.callback.res_spins = count;
        self.note_plain();
    }

    /// From now on each call of its callbacks is looked at, or no longer.
    pub(crate) fn watch(&mut self, is_watched: bool) {
        self.pauses.watch(is_watched);
        self.note_plain();
    }

    /// The innermost callback is over.
    #[inline]
    pub(crate) fn leave_callback(&mut self) {
        self.callback = self.outer.pop().unwrap_or(Callback::NONE);
        self.note_plain();
    }

    #[inline]
    fn note_plain(&mut self) {
        self.callback.marks = self.right_marks();
    }

    /// What the callback's marks should be, apart from whether there is one.
    #[inline]
    fn right_marks(&self) -> Marks {
        let mut marks = self.callback.marks;
        marks.set(Marks::UNUSUAL, self.callback.caller.place != Place::Op || self.pauses.is_watched());
        marks.set(Marks::ENCUMBERED, self.callback.res_spins > 0 || !self.outer.is_empty());
        marks
    }

    /// For assertions: returns whether the callback's marks are as they should be.
    pub(crate) fn has_right_marks(&self) -> bool {
        self.callback.marks == self.right_marks()
    }

    /// The callback is over, and was a plain one.
    #[inline(always)]
    pub(crate) fn rest(&mut self) {
        self.callback.marks = Marks::NONE;
    }

    /// When the current callback ends with this usage. It takes all costs that are not yet on the clock.
    #[inline(always)]
    pub(crate) fn callback_ends_at(&mut self, usage: Usage, insn_ps: u64) -> Instant {
        let Callback { began, charged_ps, .. } = self.callback;
        let spent_ps = std::mem::take(&mut self.spent_ps);
        after_ps(began, usage.insns * insn_ps + usage.stall_ps + charged_ps + spent_ps)
    }

    /// How long the current callback took, which ends now.
    #[inline(always)]
    pub(crate) fn callback_took(&self) -> Span {
        // A callback can't end before it began.
        Span::from_ns(self.clock.as_ns() - self.callback.began.as_ns())
    }
}
