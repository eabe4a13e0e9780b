//! How the interpreter counts: what a fiber knows between two instructions.
//!
//! The kernel's charges and the waits for lines only ever grow within a callback. So what an instruction has cost is
//! what they have grown by since the last look, and nothing is counted twice or lost.
//!
//! A callback counts when it is over, as the kernel counts it: what it does until then is in a [`Journal`]. One that a
//! run's end cuts short counts for nothing.
#![allow(unsafe_code)]

use super::Profile;
use crate::context::Context;
use crate::memory::NOBODY;
use keel_abi::bpf::Meter;

/// So much of a callback is kept at most until it is over; the rest counts at once.
const MOST_RUNS: usize = 1 << 20;

/// What a callback has done so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Journal {
    /// Functions that were entered, and what that was charged.
    pub(super) entered: Vec<(u32, u64)>,
    /// Instructions that were executed one after the other.
    pub(super) runs: Vec<Run>,
    /// What instructions were charged.
    pub(super) costs: Vec<Cost>,
}

/// From one instruction of a node to another one, both of them executed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) node: u32,
    pub(super) from: u32,
    pub(super) to: u32,
    /// Whether the last one jumped.
    pub(super) jumps: bool,
}

/// What an instruction of a node was charged, in picoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    pub(super) node: u32,
    pub(super) insn: u32,
    pub(super) lines_ps: u64,
    pub(super) calls_ps: u64,
}

/// Where a fiber's profile stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// The node and the instruction that made the last call.
    caller: (u32, u32),
    seen_lines_ps: u64,
    seen_charged_ps: u64,
    journal: Journal,
}

/// A function that is entered: its node, and what is to be put back when it is left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entered {
    pub(crate) node: u32,
    caller: (u32, u32),
    origin: u32,
    is_outermost: bool,
}

impl Context {
    fn meter(&self) -> Meter {
        let ask = self.host_meter.expect("set on entry");
        // SAFETY: the host belongs to the code that entered the fiber.
        unsafe { ask(self) }
    }

    fn profile(&mut self) -> &mut Profile {
        // SAFETY: the Vm's profile lives as long as its fibers, and one of them runs at a time; no other reference to
        // it is held while a fiber runs.
        unsafe { &mut *self.profile }
    }

    /// Sets the instruction to which the CPU's next costs are charged. Returns the previous one.
    fn blame(&mut self, number: u32) -> u32 {
        let cpu = self.place.cpu;
        // SAFETY: the world is used between calls only, as in `Context::touch`.
        let watch = unsafe { &mut *self.world }.region_mut().watch();
        watch.map_or(NOBODY, |watch| watch.blame(cpu, number))
    }

    /// A function begins. `is_outermost` where the kernel called it.
    pub(crate) fn profile_enter(&mut self, function: u32, is_outermost: bool) -> Entered {
        let Meter { origin, charged_ps } = self.meter();
        let caller = if is_outermost {
            self.tally.seen_lines_ps = self.stall_ps;
            self.tally.seen_charged_ps = charged_ps;
            None
        } else {
            self.settle_call(false);
            Some(self.tally.caller)
        };
        let node = self.profile().enter(origin, caller, function);
        self.tally.journal.entered.push((node, if is_outermost { charged_ps } else { 0 }));
        Entered { node, caller: self.tally.caller, origin: self.blame(NOBODY), is_outermost }
    }

    /// A function ends.
    pub(crate) fn profile_leave(&mut self, entered: Entered) {
        self.tally.caller = entered.caller;
        self.blame(entered.origin);
        if entered.is_outermost {
            self.profile_end();
        }
    }

    /// The callback is over: what it has done counts.
    pub(crate) fn profile_end(&mut self) {
        let mut journal = std::mem::take(&mut self.tally.journal);
        self.profile().add_journal(&journal);
        journal.entered.clear();
        journal.runs.clear();
        journal.costs.clear();
        self.tally.journal = journal;
    }

    /// The callback was stopped, and none of its functions ends.
    pub(crate) fn profile_stop(&mut self) {
        self.blame(NOBODY);
        self.profile_end();
    }

    /// These instructions were executed, one after the other.
    pub(crate) fn profile_ran(&mut self, node: u32, from: u32, to: u32, jumps: bool) {
        self.tally.journal.runs.push(Run { node, from, to, jumps });
        if self.tally.journal.runs.len() >= MOST_RUNS {
            self.profile_end();
        }
    }

    fn cost(&mut self, (node, insn): (u32, u32), lines_ps: u64, calls_ps: u64) {
        if lines_ps != 0 || calls_ps != 0 {
            self.tally.journal.costs.push(Cost { node, insn, lines_ps, calls_ps });
        }
    }

    /// An access begins.
    pub(crate) fn profile_access(&mut self, node: u32, insn: u32) {
        let number = self.profile().number(node, insn);
        self.blame(number);
    }

    /// The access is over; `wrote` has the offset into the region of one that writes.
    pub(crate) fn profile_accessed(&mut self, node: u32, insn: u32, wrote: Option<u64>) {
        self.blame(NOBODY);
        if let Some(off) = wrote {
            let number = self.profile().number(node, insn);
            // SAFETY: as in `blame`.
            if let Some(watch) = unsafe { &mut *self.world }.region_mut().watch() {
                watch.wrote(off, number);
            }
        }
        let lines_ps = self.new_lines_ps();
        self.cost((node, insn), lines_ps, 0);
    }

    /// A call begins.
    pub(crate) fn profile_call(&mut self, node: u32, insn: u32) {
        self.tally.caller = (node, insn);
        self.profile_access(node, insn);
    }

    /// The call is over. `charges_stalls` where what it costs is put with the waits for lines.
    pub(crate) fn profile_called(&mut self, node: u32, insn: u32, charges_stalls: bool) {
        self.blame(NOBODY);
        self.tally.caller = (node, insn);
        self.settle_call(charges_stalls);
    }

    /// What has been charged since the last look belongs to the last call.
    fn settle_call(&mut self, charges_stalls: bool) {
        let (node, insn) = self.tally.caller;
        let charged_ps = self.meter().charged_ps;
        // A wait that ends early is charged less than it was to be.
        let calls_ps = charged_ps.wrapping_sub(self.tally.seen_charged_ps);
        self.tally.seen_charged_ps = charged_ps;
        let lines_ps = self.new_lines_ps();
        match charges_stalls {
            true => self.cost((node, insn), 0, calls_ps.wrapping_add(lines_ps)),
            false => self.cost((node, insn), lines_ps, calls_ps),
        }
    }

    fn new_lines_ps(&mut self) -> u64 {
        let new = self.stall_ps - self.tally.seen_lines_ps;
        self.tally.seen_lines_ps = self.stall_ps;
        new
    }
}
