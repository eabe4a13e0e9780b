//! `select_cpu_dfl`: which CPU the kernel itself chooses for a waking task, and what else its idle tracking decides
//! (`kernel/sched/ext/idle.c`).
//!
//! This prepares the search and charges its cost. The order of the search (the waker's CPU, a whole core, a single CPU,
//! near ones first) is in [`crate::state::idle::select`], beside the masks. The masks as BPF sees them are written here.

use crate::state::cpu::{Cpu, after_ps};
use crate::state::idle::{IdleMask, IdleMasks, SelectCpu, Touched, has};
use crate::state::kernel::Kernel;
use crate::state::mask::write_mask;
use crate::state::task::{State, Task};
use keel_abi::bpf::{Ea, World};
use keel_abi::lines::LINE_BYTES;
use keel_abi::scx::wake;
use keel_abi::{CpuId, TaskId};

/// What [`Kernel::choose_at_once`] knows without a search.
pub(crate) enum AtOnce {
    /// The task's last CPU was idle, and is claimed.
    ClaimedPrev,
    /// No CPU is idle.
    NoneIdle,
    /// It takes a search to know. Nothing was done.
    Unclear,
}

impl Kernel {
    /// Marks `c` idle or busy, if the kernel keeps track (`update_builtin_idle()`).
    #[inline]
    pub(crate) fn set_idle<W: World>(&mut self, world: &mut W, c: CpuId, idle: bool) {
        if !self.scx.tracks_idle {
            return;
        }
        if self.idle.is_plain() {
            self.idle.set_plainly(c, idle);
            return self.charge_plain_write();
        }
        self.set_idle_otherwise(world, c, idle);
    }

    #[inline(never)]
    fn set_idle_otherwise<W: World>(&mut self, world: &mut W, c: CpuId, idle: bool) {
        if self.idle.is_long() {
            self.idle.set_plainly(c, idle);
            return self.charge_long_write(c);
        }
        self.idle.set_idle(c, idle);
        self.charge_idle(world, c);
        self.mirror_idle(world);
    }

    /// Charges `c` for the lines of the idle masks that it has just read and written.
    #[inline]
    pub(crate) fn charge_idle<W: World>(&mut self, world: &mut W, c: CpuId) {
        // On most machines each mask has one line.
        match self.idle.take_first_line() {
            Some((false, false)) => {}
            Some((true, true)) if self.scx.idle_masks.is_none() && !self.idle.per_node() => {
                self.charge_read_and_write();
            }
            Some((read, written)) => {
                if read {
                    self.charge_idle_read(c, IdleMask::Cpus, 0);
                }
                if written {
                    self.charge_idle_write(world, c, IdleMask::Cpus, 0);
                }
            }
            None => self.charge_all_idle(world, c),
        }
    }

    #[inline(never)]
    fn charge_all_idle<W: World>(&mut self, world: &mut W, c: CpuId) {
        let touched = self.idle.take_touched();
        for mask in IdleMask::ALL {
            match touched.of(mask) {
                (0, 0) => {}
                (read @ 0..=1, written @ 0..=1) => {
                    if read != 0 {
                        self.charge_idle_read(c, mask, 0);
                    }
                    if written != 0 {
                        self.charge_idle_write(world, c, mask, 0);
                    }
                }
                _ => self.charge_idle_lines(world, c, mask, touched),
            }
        }
    }

    #[inline(never)]
    fn charge_idle_lines<W: World>(&mut self, world: &mut W, c: CpuId, mask: IdleMask, touched: Touched) {
        for line in touched.read(mask) {
            self.charge_idle_read(c, mask, line);
        }
        for line in touched.written(mask) {
            self.charge_idle_write(world, c, mask, line);
        }
    }

    #[inline]
    fn charge_idle_read(&mut self, c: CpuId, mask: IdleMask, line: u32) {
        let now = self.moment();
        let ps = self.lines.read_idle_ps(mask, line, self.cpus.holder(), now);
        self.charge_ps(c, ps);
    }

    #[inline]
    fn charge_idle_write<W: World>(&mut self, world: &mut W, c: CpuId, mask: IdleMask, line: u32) {
        let now = self.moment();
        let mut ps = self.lines.write_idle_ps(mask, line, self.cpus.holder(), now);
        if self.scx.idle_masks.is_some() || self.idle.per_node() {
            ps = ps.max(self.write_shown_ps(world, c, mask, line));
        }
        self.charge_ps(c, ps);
    }

    /// The cost of taking a mask's line from its readers, kernel or BPF code: both read the same line.
    #[inline(never)]
    fn write_shown_ps<W: World>(&self, world: &mut W, c: CpuId, mask: IdleMask, line: u32) -> u64 {
        let (shown, bytes) = match self.idle.per_node() {
            true => {
                let of_node = self.scx.node_idle_masks.iter().find(|(node, ..)| node.0 == line);
                (of_node.map(|&(_, cpus, cores)| (cpus, cores)), 0)
            }
            false => (self.scx.idle_masks, u64::from(line) * LINE_BYTES),
        };
        let Some((cpus, cores)) = shown else { return 0 };
        let mut write_ps = |at: Ea| world.touch_ps(at.offset(bytes), 8, c, true);
        match mask {
            IdleMask::Cpus if self.idle.has_smt() => write_ps(cpus),
            IdleMask::Cpus => write_ps(cpus).max(write_ps(cores)),
            IdleMask::Cores => write_ps(cores),
        }
    }

    /// Writes the masks to where BPF reads them, if it does.
    #[inline(always)]
    pub(crate) fn mirror_idle<W: World>(&self, world: &mut W) {
        if self.scx.idle_masks.is_some() || !self.scx.node_idle_masks.is_empty() {
            self.write_idle(world);
        }
    }

    #[inline(never)]
    fn write_idle<W: World>(&self, world: &mut W) {
        if let Some((cpus, cores)) = self.scx.idle_masks {
            write_mask(world, cpus, self.idle.cpu_words());
            write_mask(world, cores, self.idle.smt_words());
        }
        for &(node, cpus, cores) in &self.scx.node_idle_masks {
            let own = self.idle.node_words(node);
            write_cut(world, cpus, self.idle.cpu_words(), own);
            write_cut(world, cores, self.idle.smt_words(), own);
        }
    }

    /// Chooses a CPU for `task` if that takes no search, and charges for it: `prev`, if it is idle, or none, if no CPU
    /// is. `is_asked` is false if the caller's own set is without `prev`.
    #[inline(always)]
    pub(crate) fn choose_at_once(
        &mut self,
        task: TaskId,
        (prev, is_asked): (CpuId, bool),
        wake_flags: u64,
    ) -> AtOnce {
        if !self.idle.is_plain() {
            return self.choose_otherwise(task, (prev, is_asked), wake_flags);
        }
        if wake_flags & wake::SYNC != 0 {
            return AtOnce::Unclear;
        }
        let t = &self.tasks[task];
        if !t.has_choice() {
            return AtOnce::Unclear;
        }
        let may_stay = is_asked && t.allows(prev);
        if !self.idle.any_idle() {
            // The attempt to claim the last CPU, and the search.
            match may_stay {
                true => self.charge_read_and_write(),
                false => self.charge_idle_read(self.cpus.this_id(), IdleMask::Cpus, 0),
            }
            return AtOnce::NoneIdle;
        }
        if may_stay && self.idle.claims_plainly(prev) {
            self.charge_plain_write();
            return AtOnce::ClaimedPrev;
        }
        AtOnce::Unclear
    }

    /// Like `choose_at_once` where masks are not plain, or take several lines.
    #[inline(never)]
    fn choose_otherwise(&mut self, task: TaskId, (prev, is_asked): (CpuId, bool), wake_flags: u64) -> AtOnce {
        let t = &self.tasks[task];
        let is_common = wake_flags & wake::SYNC == 0 && t.has_choice();
        if !self.idle.is_long() || !is_common {
            return AtOnce::Unclear;
        }
        let may_stay = is_asked && t.allows(prev);
        if !self.idle.any_idle() {
            // The search reads all lines.
            for line in self.idle.long_lines() {
                self.charge_idle_read(self.cpus.this_id(), IdleMask::Cpus, line);
            }
            if may_stay {
                self.charge_long_write(prev);
            }
            return AtOnce::NoneIdle;
        }
        if may_stay && self.idle.claims_plainly(prev) {
            self.charge_long_write(prev);
            return AtOnce::ClaimedPrev;
        }
        AtOnce::Unclear
    }

    /// Charges for changing the bit of `cpu` in plain masks that take several lines.
    #[inline]
    fn charge_long_write(&mut self, cpu: CpuId) {
        let this = &mut *self.cpus.this_cpu;
        let line = IdleMasks::long_line(cpu);
        this.spent_ps += self.lines.write_idle_ps(IdleMask::Cpus, line, &this.holder, this.moment());
    }

    /// Claims and returns the kernel's default choice for `task`; `c` is the waker's CPU.
    #[inline]
    pub(crate) fn select_cpu_dfl<W: World>(
        &mut self,
        world: &mut W,
        c: CpuId,
        task: TaskId,
        prev: CpuId,
        flags: u64,
    ) -> Option<CpuId> {
        self.select_cpu(world, c, task, prev, flags, (None, 0))
    }

    /// Like `select_cpu_dfl`, restricted to `allowed`, with `SCX_PICK_IDLE_*` in `pick`.
    pub(crate) fn select_cpu<W: World>(
        &mut self,
        world: &mut W,
        c: CpuId,
        task: TaskId,
        prev: CpuId,
        wake_flags: u64,
        (allowed, pick): (Option<&[u64]>, u64),
    ) -> Option<CpuId> {
        if !self.scx.tracks_idle {
            return None;
        }
        let is_asked = allowed.is_none_or(|allowed| has(allowed, prev));
        match self.choose_at_once(task, (prev, is_asked), wake_flags) {
            AtOnce::ClaimedPrev => Some(prev),
            AtOnce::NoneIdle => None,
            AtOnce::Unclear => self.select_among_idle(world, c, task, prev, wake_flags, (allowed, pick)),
        }
    }

    /// Charges for reading the first line of the idle CPUs' mask and then changing a bit of it.
    #[inline(never)]
    fn charge_read_and_write(&mut self) {
        let cpu = &mut *self.cpus.this_cpu;
        match self.lines.read_and_write_idle_at_once_ps(&cpu.holder, (cpu.clock, cpu.spent_ps)) {
            Some(ps) => cpu.spent_ps += ps,
            None => self.charge_read_and_write_rarely(),
        }
    }

    #[inline(never)]
    fn charge_read_and_write_rarely(&mut self) {
        let cpu = &mut *self.cpus.this_cpu;
        let (clock, spent_ps) = (cpu.clock, cpu.spent_ps);
        let moment = |more_ps: u64| after_ps(clock, spent_ps + more_ps);
        cpu.spent_ps += self.lines.read_and_write_idle_ps(&cpu.holder, moment);
    }

    /// Charges for changing a bit of plain masks.
    #[inline(always)]
    fn charge_plain_write(&mut self) {
        if !self.lines.rewrites_idle(&self.cpus.this_cpu.holder) {
            self.charge_moved_write();
        }
    }

    #[inline(never)]
    fn charge_moved_write(&mut self) {
        let cpu = &mut *self.cpus.this_cpu;
        cpu.spent_ps += self.lines.write_idle_ps(IdleMask::Cpus, 0, &cpu.holder, cpu.moment());
    }

    /// The choice among idle CPUs, by a search.
    #[inline(never)]
    pub(crate) fn select_among_idle<W: World>(
        &mut self,
        world: &mut W,
        c: CpuId,
        task: TaskId,
        prev: CpuId,
        wake_flags: u64,
        (allowed, pick): (Option<&[u64]>, u64),
    ) -> Option<CpuId> {
        // Only a waker that is about to sleep matters.
        let (waker_queue_empty, waker_exits) = match wake_flags & wake::SYNC {
            0 => (false, false),
            _ => self.waker_state(c),
        };
        let t = &self.tasks[task];
        let asks = SelectCpu {
            on: c,
            prev,
            wake_flags,
            waker_queue_empty,
            waker_exits,
            cpus: t.cpus.words(),
            allowed,
            flags: pick,
        };
        let chosen = match t.nr_allowed {
            _ if t.migration_disabled > 0 => match t.is_pinned && t.cpu != prev {
                true => None,
                false => self.idle.select_pinned(&asks),
            },
            1 => self.idle.select_pinned(&asks),
            _ => self.idle.select_cpu_dfl(&asks),
        };
        self.charge_idle(world, c);
        chosen
    }

    /// Returns whether the local queue of `c`, a waker's CPU, is empty, and whether the waker is exiting.
    fn waker_state(&self, c: CpuId) -> (bool, bool) {
        let curr = self.cpus.this_cpu.curr;
        let exits = !curr.is_idle() && self.tasks[curr].state == State::Exiting;
        (self.queues.table.queue(self.queues.local(c)).is_empty(), exits)
    }

    /// Returns whether `task` may use `cpu` now (`is_cpu_allowed()`). A migration-disabled section lasts until its end,
    /// even if the CPU is about to go offline.
    #[inline(always)]
    pub(crate) fn may_use(&self, task: TaskId, cpu: CpuId) -> bool {
        self.tasks[task].may_use(cpu, &self.cpus[cpu])
    }

    /// Returns whether `cpu` has gone offline since it was chosen for `task`. It hasn't if `c` already has the runqueue's
    /// lock.
    #[inline(always)]
    pub(crate) fn is_leaving(&self, c: CpuId, task: TaskId, cpu: CpuId) -> bool {
        !self.cpus[cpu].online && self.left_early(c, task, cpu)
    }

    #[inline(never)]
    fn left_early(&self, c: CpuId, task: TaskId, cpu: CpuId) -> bool {
        self.cpus[cpu].lock.holder != Some(c) && !self.may_use(task, cpu)
    }

    /// A CPU for a task that may not go where it was sent: one on its node, or else any (`select_fallback_rq()`).
    pub(crate) fn fallback_cpu(&self, task: TaskId) -> CpuId {
        let t = &self.tasks[task];
        let node = self.machine.topology.place(t.cpu).node;
        let usable = || t.cpus.iter().filter(|&c| self.cpus[c].online);
        usable()
            .find(|&c| self.machine.topology.place(c).node == node)
            .or_else(|| usable().next())
            .unwrap_or(t.cpu)
    }
}

impl Task {
    /// [`Kernel::may_use`] for a CPU with this number and state.
    #[inline(always)]
    pub(crate) fn may_use(&self, number: CpuId, cpu: &Cpu) -> bool {
        match self.migration_disabled > 0 {
            true => cpu.alive && if self.is_pinned { self.cpu == number } else { self.allows(number) },
            false => self.may_use_freely(number, cpu),
        }
    }

    /// Like `may_use` outside migration-disabled sections.
    #[inline(always)]
    pub(crate) fn may_use_freely(&self, number: CpuId, cpu: &Cpu) -> bool {
        self.allows(number) && cpu.online
    }
}

/// Writes the bits of a set that are also in `own`; a word with none stays unchanged.
fn write_cut<W: World>(world: &mut W, at: keel_abi::bpf::Ea, words: &[u64], own: &[u64]) {
    for (i, (word, own)) in words.iter().zip(own).enumerate().filter(|(_, (_, own))| **own != 0) {
        world.put(at.offset(i as u64 * 8), &(word & own).to_le_bytes());
    }
}
