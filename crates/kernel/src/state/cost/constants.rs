//! A machine's constants, by their names in machine files.

use keel_abi::Span;
use std::ops::RangeInclusive;

/// The range of a span: up to a second.
const NS: RangeInclusive<u64> = 0..=1_000_000_000;

/// The range of a count of bytes, lines or pages that one process has.
const COUNT: RangeInclusive<u64> = 0..=1 << 20;

/// A cache's size in KiB: up to 4 GiB.
const KB: RangeInclusive<u64> = 0..=4 << 20;

macro_rules! constants {
    ($($(#[doc = $doc:literal])+ $name:ident: $range:expr,)+) => {
        /// A machine's constants. Times are for the path itself: waiting for locks and cache lines comes on top.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Costs {
            $($(#[doc = $doc])+ pub $name: u64,)+
        }

        impl Costs {
            /// Every constant's name.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),+];

            /// The constant with this name, and its range.
            pub fn slot(&mut self, name: &str) -> Option<(&mut u64, RangeInclusive<u64>)> {
                match name {
                    $(stringify!($name) => Some((&mut self.$name, $range)),)+
                    _ => None,
                }
            }
        }
    };
}

constants! {
    /// One BPF instruction, translated to native code, in picoseconds.
    insn_ps: 1..=1_000_000,
    /// A system call that does nothing: entry and exit.
    syscall_ns: NS,
    /// The charge for each system call of a scheduler's own program, including the user code before it.
    program_call_ns: NS,
    /// `__schedule()` up to the choice of the next task.
    schedule_ns: NS,
    /// The same when the CPU leaves idle; 0 for `schedule_ns`.
    schedule_from_idle_ns: NS,
    /// The same when the CPU goes idle; 0 for `schedule_ns`.
    schedule_to_idle_ns: NS,
    /// `context_switch()`: registers, address space, accounting.
    context_switch_ns: NS,
    /// `try_to_wake_up()` without the choice of a CPU.
    wakeup_ns: NS,
    /// The tick's handler.
    tick_ns: NS,
    /// Entry and exit of an interrupt.
    irq_ns: NS,
    /// From a timer's expiry to its handler.
    timer_ns: NS,
    /// How much later than requested an ordinary task's sleep may end; it ends that late if nothing else interrupts the
    /// CPU.
    timer_slack_ns: NS,
    /// From sending an interrupt to another CPU until it arrives there.
    ipi_ns: NS,
    /// Sending it, for the sender.
    ipi_send_ns: NS,
    /// Leaving the idle state.
    idle_exit_ns: NS,
    /// `clone()` of a thread, without its wakeup.
    fork_ns: NS,
    /// The end of a task.
    exit_ns: NS,
    /// Moving a task from one runqueue to another.
    migration_ns: NS,
    /// Entry and exit of a callback: the struct_ops trampoline.
    callback_ns: NS,
    /// Taking a free lock whose cache line is in the CPU's cache.
    lock_acquire_ns: NS,
    /// Handing a lock over to a waiter.
    lock_handover_ns: NS,
    /// Added to a hand-over for each waiter, including the one that gets the lock, if the machine's locks are
    /// test-and-set; 0 for queued locks.
    lock_per_waiter_ns: NS,
    /// The speed of a CPU whose SMT sibling is busy too, in thousandths of its speed when alone.
    smt_shared_per_mille: 1..=1000,
    /// How long an emulated CPU executes before the next busy one, on the single thread that executes them all; 0 if
    /// CPUs execute at the same time.
    turn_ns: NS,
    /// Busy CPUs of a node that its memory serves at full speed.
    bus_free_cpus: 0..=4096,
    /// How much speed transfers from memory lose for each busy CPU beyond those, in thousandths.
    bus_loss_per_mille: 0..=1000,
    /// `fork()` of a process, without its pages and its wakeup.
    fork_process_ns: NS,
    /// Sharing one page with a child at `fork()`: its page table entry and its count.
    page_share_ns: NS,
    /// Releasing one page at exit or exec.
    page_release_ns: NS,
    /// Clearing a page that is in no near cache.
    page_clear_ns: NS,
    /// Pages that a small process's page tables take.
    table_pages: COUNT,
    /// The most cleared pages for page tables that a CPU keeps for itself; when there are more, it releases half of
    /// them.
    table_stock: COUNT,
    /// Bytes of the objects that describe an address space and open files: `fork()` writes them, and exit goes over
    /// them.
    process_bytes: COUNT,
    /// Bytes of the signal handlers, which `fork()` writes, and exit only frees.
    signal_bytes: COUNT,
    /// Bytes of `task_struct` that a child's start and exit write, and later its reaping.
    task_bytes: COUNT,
    /// Cache lines of locks, lists and counts that all processes share; each `fork()` and exit writes them.
    shared_lines: COUNT,
    /// A fault on a page that is not there, until it is.
    page_fault_ns: NS,
    /// A write fault on a read-only page, without the copy.
    write_fault_ns: NS,
    /// Copying a page that is in the CPU's own cache.
    page_copy_ns: NS,
    /// `execve()`, without the pages that the old program releases and the new one faults in.
    exec_ns: NS,
    /// `waitpid()`: reaping a child.
    wait_ns: NS,
    /// A pipe's part of sending or receiving, besides the system call and the copy.
    pipe_ns: NS,
    /// A local socket's part of that.
    unix_ns: NS,
    /// TCP's part of that over the loopback device.
    tcp_ns: NS,
    /// Copying a KiB between a task and the kernel.
    copy_kb_ns: NS,
    /// A CPU's first-level data cache in KiB.
    l1_kb: KB,
    /// Its second-level cache in KiB; 0 for none.
    l2_kb: KB,
    /// The last-level cache that the CPUs of an LLC domain share in KiB; 0 for none.
    llc_kb: KB,
    /// Reading a KiB that has to come from the second-level cache.
    l2_kb_ns: NS,
    /// Reading a KiB that has to come from the shared cache.
    llc_kb_ns: NS,
    /// Reading a KiB that has to come from memory.
    memory_kb_ns: NS,
}

impl Costs {
    /// `__schedule()` of a CPU that is idle.
    #[inline]
    pub const fn schedule_from_idle(&self) -> u64 {
        match self.schedule_from_idle_ns {
            0 => self.schedule_ns,
            ns => ns,
        }
    }

    /// Returns whether `__schedule()` costs something else when the CPU goes idle.
    #[inline]
    pub const fn distinguishes_switches_to_idle(&self) -> bool {
        self.schedule_to_idle() != self.schedule_ns
    }

    /// `__schedule()` of a CPU that goes idle.
    #[inline]
    pub const fn schedule_to_idle(&self) -> u64 {
        match self.schedule_to_idle_ns {
            0 => self.schedule_ns,
            ns => ns,
        }
    }

    /// What is certain of `__schedule()` on a busy CPU before the next task is known, and all of it on an idle CPU.
    pub const fn schedule_first_ns(&self) -> [u64; 2] {
        let (some, to_idle) = (self.schedule_ns, self.schedule_to_idle());
        [if to_idle < some { to_idle } else { some }, self.schedule_from_idle()]
    }

    /// Handing a lock over while `others` wait for it besides the one that gets it; the lock's line is counted
    /// separately. Test-and-set: every spinner has a copy of the line. The release must invalidate the copies, the
    /// winner's too, and the winner must own the line that it has fetched before it can set it (Anderson, IEEE TPDS
    /// 1(1), 1990).
    #[inline]
    pub fn handover(&self, others: u64) -> Span {
        Span::from_ns(self.lock_handover_ns + self.lock_per_waiter_ns * (others + 1))
    }
}
