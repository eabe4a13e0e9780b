//! How the interpreter counts: what a fiber knows between two instructions.
//!
//! The kernel's charges and the waits for lines only ever grow within a callback. So what an instruction has cost is what
//! they have grown by since the last look, and nothing is counted twice or lost.
#![allow(unsafe_code)]

use super::Profile;
use crate::context::Context;
use crate::memory::NOBODY;
use keel_abi::bpf::Meter;

/// Where a fiber's profile stands.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// The node and the instruction that made the last call.
    caller: (u32, u32),
    seen_lines_ps: u64,
    seen_charged_ps: u64,
}

/// A function that is entered: its node, and what is to be put back when it is left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entered {
    pub(crate) node: u32,
    caller: (u32, u32),
    origin: u32,
}

impl Context {
    fn meter(&self) -> Meter {
        let ask = self.host_meter.expect("set on entry");
        // SAFETY: the host is that of whoever entered the fiber.
        unsafe { ask(self) }
    }

    fn profile(&mut self) -> &mut Profile {
        // SAFETY: the Vm's profile lives as long as its fibers, and one of them runs at a time; no other reference to it
        // is held while a fiber runs.
        unsafe { &mut *self.profile }
    }

    /// The instruction that what this CPU does next counts for; gives the one before.
    fn blame(&mut self, number: u32) -> u32 {
        let cpu = self.cpu;
        // SAFETY: the world is used between calls only, as in `Context::touch`.
        let watch = unsafe { &mut *self.world }.region_mut().watch();
        watch.map_or(NOBODY, |watch| watch.blame(cpu, number))
    }

    /// A function begins. `is_outermost` where the kernel called it.
    pub(crate) fn profile_enter(&mut self, function: u32, is_outermost: bool) -> Entered {
        let Meter { origin, charged_ps } = self.meter();
        let caller = if is_outermost {
            self.tally =
                Tally { seen_lines_ps: self.stall_ps, seen_charged_ps: charged_ps, ..Tally::default() };
            None
        } else {
            self.settle_call(false);
            Some(self.tally.caller)
        };
        let node = self.profile().enter(origin, caller, function);
        if is_outermost {
            self.profile().nodes[node as usize].entry_ps += charged_ps;
        }
        Entered { node, caller: self.tally.caller, origin: self.blame(NOBODY) }
    }

    /// A function ends.
    pub(crate) fn profile_leave(&mut self, entered: Entered) {
        self.tally.caller = entered.caller;
        self.blame(entered.origin);
    }

    /// An instruction is executed.
    pub(crate) fn profile_insn(&mut self, node: u32, insn: u32) {
        self.profile().count(node, insn).executed += 1;
    }

    /// A conditional jump jumps.
    pub(crate) fn profile_jump(&mut self, node: u32, insn: u32) {
        self.profile().count(node, insn).taken += 1;
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
        self.profile().count(node, insn).lines_ps += lines_ps;
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
        let count = self.profile().count(node, insn);
        count.calls_ps = count.calls_ps.wrapping_add(calls_ps);
        match charges_stalls {
            true => count.calls_ps += lines_ps,
            false => count.lines_ps += lines_ps,
        }
    }

    fn new_lines_ps(&mut self) -> u64 {
        let new = self.stall_ps - self.tally.seen_lines_ps;
        self.tally.seen_lines_ps = self.stall_ps;
        new
    }
}
