//! State that a running callback shares with the engine: native code reads and writes it by offset.
//!
//! A [`Context`] belongs to a fiber and is accessed only through raw pointers, because native code, the trampolines and
//! the engine use it in turn. All of them run on one thread, one at a time: control passes between them by calls and by
//! fiber switches.
#![allow(unsafe_code)]

use crate::code::{Code, op::Size};
use crate::fiber::{self, Link, Signal};
use crate::known::Known;
use crate::memory::{BASE, Limits, RawCrowd, RawMoves, VmWorld};
use crate::profile::{Profile, Tally};
use crate::seat::Place;
use keel_abi::Instant;
use keel_abi::bpf::{Ea, Fault, FaultKind, Frequent, FuncId, Meter, Usage};
use keel_abi::clocks::Clocks;
use std::any::Any;

/// A translated function: takes the context, R10, R1 to R5; returns R0.
pub(crate) type NativeFn = unsafe extern "C" fn(*mut Context, u64, u64, u64, u64, u64, u64) -> u64;
/// Calls the host until it returns a value. The callback has not exceeded its limit of instructions.
pub(crate) type HostCall = unsafe extern "C" fn(*mut Context, u64, u64, u64, u64, u64) -> u64;
/// Where emitted code begins as a callback: not a C function, see [`crate::fiber::Fiber::start`].
pub(crate) type StartFn = unsafe extern "C" fn();

/// An object's native code.
#[derive(Clone, Copy)]
pub(crate) struct Tables {
    /// Each function's; null if callbacks are interpreted.
    pub(crate) native: *const NativeFn,
    /// The same, where a callback begins; null unless the code is emitted.
    pub(crate) starts: *const StartFn,
}

// SAFETY: the tables belong to the code, which lives as long as the Vm that has their addresses, and nobody changes
// them.
unsafe impl Send for Tables {}

/// Asks the host once whether the callback may continue; the flag says that it was suspended before.
pub(crate) type HostTurn = unsafe fn(*mut Context, bool) -> Option<Instant>;

/// Asks the host for the callback's charges.
pub(crate) type HostMeter = unsafe fn(&Context) -> Meter;

/// Asks the host for the happens-before order.
pub(crate) type HostClocks = unsafe fn(*mut Context) -> Option<*mut Clocks>;

/// What the clock of the [`Known`] function with this number shows.
pub(crate) type HostClock = unsafe extern "C" fn(*mut Context, u64) -> u64;

/// `BPF_MAX_LOOPS`: how many `may_goto`s a callback may pass.
pub(crate) const MAX_LOOPS: u64 = 8 << 20;
/// After this many of them the callback checks whether other CPUs have something earlier to do: a loop may wait for
/// another CPU's write. This takes about as long as moving a line from one cache to another.
pub(crate) const LOOPS_BETWEEN_TURNS: u64 = 64;

/// Instead of a price of `bpf_iter_num_next`: the host handles it.
pub(crate) const HOST_COUNTS: u64 = u64::MAX;

/// How many addresses of the table are in the context itself.
pub(crate) const FIRST_ADDRESSES: usize = 192;

/// The state of one callback.
#[repr(C)]
pub(crate) struct Context {
    // Native code uses these; the order keeps what it uses most within two lines.
    /// Executed instructions minus the limit: above 0 the callback counts as endless, and the addition that makes it so
    /// sets the processor's flags. Native code updates this only at calls and exits.
    pub(crate) insns: i64,
    /// That of a callback that has executed none: minus the limit.
    pub(crate) no_insns: i64,
    pub(crate) stall_ps: u64,
    /// The region keeps them up to date.
    pub(crate) limits: Limits,
    pub(crate) base: *mut u8,
    pub(crate) sharers: *mut u64,
    /// The place where the word of the line at simulated address 0 would be.
    pub(crate) words: *mut u64,
    /// The log2 size of the machine's cache lines.
    pub(crate) line_log2: u32,
    /// The rounds that a loop of emitted code has been charged for and has not made yet.
    pub(crate) rounds_left: u32,
    /// Minus the simulated address of the region.
    pub(crate) minus_base: u64,
    /// From a simulated address to the process's.
    pub(crate) delta: u64,
    /// Where the job runs.
    pub(crate) place: Place,
    pub(crate) addresses: *const u64,
    /// Not 0 if the last requested line is in an unbacked page of the arena.
    pub(crate) denied: u64,
    /// `may_goto`s left until the callback asks for its turn.
    pub(crate) loops_left: u64,
    pub(crate) host_call: Option<HostCall>,
    /// Picoseconds that `bpf_iter_num_next` is charged, or [`HOST_COUNTS`].
    pub(crate) num_next_ps: u64,
    /// The charge for the next call in addition to its price, in picoseconds, or
    /// [`HOST_SERVES`](crate::known::HOST_SERVES). 0 if the code has no such calls.
    pub(crate) carry_ps: u64,
    /// The charge for a call of each [`Known`] function, in picoseconds.
    pub(crate) known_ps: [u64; Known::ALL.len()],
    /// R10 of the function that calls `bpf_loop` or a similar function.
    pub(crate) frame: u64,
    /// The simulated address of the arena's first page: [`kernel_address`](crate::maps::kernel_address) of 0.
    pub(crate) arena: u64,
    /// The site from which the code calls out.
    pub(crate) site: u32,

    // Emitted code uses these when it moves a line.
    /// The number of the region's first line: emitted code numbers lines from simulated address 0.
    pub(crate) first_line: u64,
    // These begin where their entry for the line at simulated address 0 would be.
    pub(crate) writers: *mut u16,
    pub(crate) moves: RawMoves,
    /// The lines that crowd each other.
    pub(crate) crowded: RawCrowd,

    // Every callback and call uses these.
    pub(crate) host: *mut (),
    pub(crate) world: *mut VmWorld,
    /// Why the fiber was left.
    pub(crate) signal: Signal,
    /// The switch between the fiber and its caller.
    pub(crate) link: Link,
    /// For each site, the host's number of the function called there.
    pub(crate) callees: *const FuncId,
    /// The number of the fiber.
    pub(crate) number: u32,
    /// If it is suspended: it waits for the value of its call, which is to be made again.
    pub(crate) makes_call: bool,
    /// Whether the code has calls that emitted code handles itself, and their prices are known.
    pub(crate) serves: bool,

    /// Of the current call, as many as its function takes.
    pub(crate) args: [u64; 5],

    /// The first entries of the table of addresses, where emitted code finds them at once.
    pub(crate) first_addresses: [u64; FIRST_ADDRESSES],
    /// Where the words of the lines at these addresses would be, if they are in the region.
    pub(crate) first_words: [*const u64; FIRST_ADDRESSES],

    /// As `host_call`, for calls of the functions in [`Frequent::ALL`].
    pub(crate) frequent_calls: [Option<HostCall>; Frequent::ALL.len()],

    // Only the engine uses the rest.
    pub(crate) checked: bool,
    /// Where the interpreter records the directions of conditional jumps: two bytes per operation. Null if not wanted.
    pub(crate) branches: *mut u8,
    pub(crate) bad_accesses: u64,
    pub(crate) host_turn: Option<HostTurn>,
    pub(crate) host_clock: Option<HostClock>,
    pub(crate) host_meter: Option<HostMeter>,
    pub(crate) host_clocks: Option<HostClocks>,
    /// The interpreter detects races.
    pub(crate) races: bool,
    /// Null unless the interpreter keeps a profile.
    pub(crate) profile: *mut Profile,
    pub(crate) tally: Tally,
    /// Further `may_goto`s after those.
    pub(crate) more_loops: u64,
    pub(crate) code: *const Code,
    /// Each function's native code; null if the callback is interpreted.
    pub(crate) native: *const NativeFn,
    pub(crate) job: Job,
    /// Why the host wants the callback stopped.
    pub(crate) refused: Option<Box<FaultKind>>,
    pub(crate) fault: Option<Box<Fault>>,
    pub(crate) panic: Option<Box<dyn Any + Send>>,
}

/// The job of a fiber, unless it is a callback that begins in emitted code.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Job {
    pub(crate) function: u32,
    pub(crate) r10: u64,
    pub(crate) args: [u64; 5],
}

impl Context {
    /// The callback's usage so far.
    #[inline]
    pub(crate) fn usage(&self) -> Usage {
        Usage { insns: (self.insns - self.no_insns) as u64, stall_ps: self.stall_ps }
    }

    /// Whether the fiber was left because its job is done, and the host is owed nothing: one test.
    #[inline(always)]
    pub(crate) fn ends_plainly(&self) -> bool {
        self.carry_ps | self.signal as u64 == 0
    }

    /// R10 of the deepest frame.
    #[inline]
    pub(crate) fn stack_floor(&self) -> u64 {
        self.place.floor_at.wrapping_sub(self.delta)
    }

    /// Sets the table of addresses.
    pub(crate) fn set_addresses(&mut self, addresses: &[u64]) {
        self.addresses = addresses.as_ptr();
        let first = addresses.len().min(FIRST_ADDRESSES);
        self.first_addresses[..first].copy_from_slice(&addresses[..first]);
        for (word, address) in self.first_words.iter_mut().zip(&addresses[..first]) {
            *word = self.words.wrapping_add((address >> self.line_log2) as usize);
        }
    }

    /// The offset into the region of an access that is in bounds; charges for the line. An access out of bounds is
    /// counted and has no offset.
    #[inline]
    pub(crate) fn access(&mut self, at: u64, size: Size, write: bool) -> Option<u64> {
        let off = at.wrapping_sub(BASE);
        if off > self.limits[usize::from(size.0)] {
            self.bad_accesses += 1;
            return None;
        }
        // SAFETY: `off` is below the high-water mark, and the sharers table has a word for every
        // line up to there.
        let sharers = unsafe { *self.sharers.add((off >> self.line_log2) as usize) };
        let held = if write { sharers == self.place.alone } else { sharers & self.place.shared != 0 };
        if !held && !self.touch(off, write) {
            self.bad_accesses += 1;
            return None;
        }
        Some(off)
    }

    /// Moves the line at `off` here and adds the cost; false if it is in an unbacked page of the arena.
    #[cold]
    #[inline(never)]
    pub(crate) fn touch(&mut self, off: u64, write: bool) -> bool {
        // SAFETY: `world` was set from the Vm's own world when the fiber was last entered, and
        // nothing else uses it while the fiber runs code rather than the host.
        let region = unsafe { &mut *self.world }.region_mut();
        if !region.is_backed(off, 1) {
            return false;
        }
        self.stall_ps += region.take_line_ps(off, self.place.cpu, write);
        true
    }

    /// Like [`Context::access`], for an atomic instruction: first, other CPUs do everything that is due earlier.
    ///
    /// # Safety
    /// Called on the context's own fiber.
    pub(crate) unsafe fn access_atomically(this: *mut Self, at: u64, size: Size) -> Option<u64> {
        // SAFETY: no reference to the context is held while the fiber may be left.
        unsafe {
            let off = at.wrapping_sub(BASE);
            if off > (*this).limits[usize::from(size.0)] || !Self::touch_atomically(this, off) {
                (*this).bad_accesses += 1;
                return None;
            }
            Some(off)
        }
    }

    /// Moves the line at `off` here for an atomic instruction, when it is this callback's turn; otherwise like
    /// [`Context::touch`].
    ///
    /// # Safety
    /// Called on the context's own fiber.
    pub(crate) unsafe fn touch_atomically(this: *mut Self, off: u64) -> bool {
        // SAFETY: as above; `world` is used as `touch` does.
        unsafe {
            let now = Self::wait_for_turn(this);
            let region = (*(*this).world).region_mut();
            if !region.is_backed(off, 1) {
                return false;
            }
            (*this).stall_ps += region.touch_atomically_ps(Ea(BASE + off), (*this).place.cpu, now);
            true
        }
    }

    /// Leaves the fiber until nothing else is due earlier, and returns the moment that the callback has reached.
    ///
    /// # Safety
    /// Called on the context's own fiber, with its count of instructions up to date.
    pub(crate) unsafe fn wait_for_turn(this: *mut Self) -> Instant {
        let mut again = false;
        loop {
            // SAFETY: as above. The CPU that resumes may bring a host of another type, so the call goes through the
            // context.
            unsafe {
                let host_turn = (*this).host_turn.expect("set on entry");
                if let Some(now) = host_turn(this, again) {
                    return now;
                }
                (*this).makes_call = false;
                Self::pause(this, Signal::Suspended);
            }
            again = true;
        }
    }

    /// Gives the callback its full number of `may_goto`s.
    #[inline]
    pub(crate) fn reset_loops(&mut self) {
        self.more_loops = MAX_LOOPS;
        self.next_loops();
    }

    #[inline]
    fn next_loops(&mut self) {
        self.loops_left = self.more_loops.min(LOOPS_BETWEEN_TURNS);
        self.more_loops -= self.loops_left;
    }

    /// `loops_left` is used up: waits for the callback's turn, and grants it the next `may_goto`s, if there are any.
    ///
    /// # Safety
    /// As for [`Context::wait_for_turn`].
    pub(crate) unsafe fn refill_loops(this: *mut Self) {
        // SAFETY: as above.
        unsafe {
            Self::wait_for_turn(this);
            (*this).next_loops();
        }
    }

    /// Stops the callback at the current site; its fiber never continues.
    ///
    /// These take a pointer, since the engine uses the context while the fiber is left.
    ///
    /// # Safety
    /// Called on the context's own fiber, as all of the following.
    #[cold]
    pub(crate) unsafe fn stop(this: *mut Self, kind: FaultKind) -> ! {
        // SAFETY: the Vm keeps the code alive as long as its fibers.
        unsafe {
            let site = (&(*(*this).code).sites)[(*this).site as usize];
            Self::stop_at(this, kind, site.function, site.insn)
        }
    }

    /// Stops the callback at an instruction; its fiber never continues.
    ///
    /// # Safety
    /// See [`Context::stop`].
    #[cold]
    pub(crate) unsafe fn stop_at(this: *mut Self, kind: FaultKind, function: u32, insn: u32) -> ! {
        // SAFETY: as above.
        unsafe {
            let fault = (*(*this).code).fault(kind, function, insn);
            (*this).fault = Some(Box::new(fault));
            Self::leave(this, Signal::Failed)
        }
    }

    /// Sets why the callback is stopped at the current site, from outside the fiber: the host wants it.
    #[cold]
    pub(crate) fn refuse(&mut self, kind: FaultKind) {
        // SAFETY: the Vm keeps the code alive as long as its fibers.
        let code = unsafe { &*self.code };
        let site = &code.sites[self.site as usize];
        self.fault = Some(Box::new(code.fault(kind, site.function, site.insn)));
    }

    /// Leaves the fiber for good.
    ///
    /// # Safety
    /// See [`Context::stop`].
    pub(crate) unsafe fn leave(this: *mut Self, signal: Signal) -> ! {
        loop {
            // SAFETY: as above.
            unsafe { Self::pause(this, signal) };
        }
    }

    /// Leaves the fiber until it is entered again, and returns what it is entered with.
    ///
    /// # Safety
    /// See [`Context::stop`].
    #[inline(always)]
    pub(crate) unsafe fn pause(this: *mut Self, signal: Signal) -> u64 {
        // SAFETY: as above.
        unsafe { fiber::pause(this, signal) }
    }

    /// Stops the callback if it has exceeded the limit of instructions.
    ///
    /// # Safety
    /// See [`Context::stop`].
    #[inline]
    pub(crate) unsafe fn check_fuel(this: *mut Self) {
        // SAFETY: as above.
        unsafe {
            if (*this).insns > 0 {
                Self::stop(this, FaultKind::NeverEnds);
            }
        }
    }
}
