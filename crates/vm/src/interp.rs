//! The interpreter: one operation after the other, with every access checked. It is the oracle for native code, and in
//! the checked mode it also refuses accesses outside live objects.
#![allow(unsafe_code)]

use crate::calls;
use crate::code::op::{Access, Atomic, Callee, FRAME_BYTES, Op, Operand, Size, in_frame};
use crate::context::Context;
use crate::drain;
use crate::interp_alu::{alu, holds, sign_extend, to_kernel, to_user};
use crate::memory::BASE;
use crate::numbers;
use crate::races::How;
use crate::stacks::SLOT_BYTES;
use crate::trees;
use keel_abi::bpf::{Ea, FaultKind, InvalidPlace};

/// Runs a function to its exit.
///
/// # Safety
/// `context` is that of the fiber that this runs on, and `function` is one of its code.
pub(crate) unsafe fn run(context: *mut Context, function: u32, r10: u64, args: [u64; 5]) -> u64 {
    let mut regs = [0; 11];
    regs[1..6].copy_from_slice(&args);
    regs[10] = r10;
    // SAFETY: as above.
    unsafe {
        if (*context).races {
            return Frame::<false, true> { context, function, regs, at: 0, node: 0, since: 0 }.run();
        }
        if (*context).profile.is_null() {
            return Frame::<false, false> { context, function, regs, at: 0, node: 0, since: 0 }.run();
        }
        profiled(Frame { context, function, regs, at: 0, node: 0, since: 0 }, r10 == (*context).job.r10)
    }
}

/// Runs the rest of a function, from the operation `at`, with these values of R0 to R9. Emitted code calls this.
///
/// # Safety
/// As for [`run`]; the function has that operation, and nobody detects races or keeps a profile.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe extern "C" fn go_on(
    context: *mut Context,
    function: u32,
    at: u32,
    first: *const [u64; 10],
    r10: u64,
) -> u64 {
    let mut regs = [r10; 11];
    // SAFETY: as above.
    unsafe {
        regs[..10].copy_from_slice(&*first);
        Frame::<false, false> { context, function, regs, at, node: 0, since: 0 }.run()
    }
}

/// Like [`run`], but counts costs.
///
/// # Safety
/// As for [`run`].
unsafe fn profiled(mut frame: Frame<true, false>, is_outermost: bool) -> u64 {
    let context = frame.context;
    // SAFETY: as above; only plain data is kept here, since the fiber may be dropped while it is suspended.
    unsafe {
        let entered = (*context).profile_enter(frame.function, is_outermost);
        frame.node = entered.node;
        let value = frame.run();
        (*context).profile_leave(entered);
        value
    }
}

/// A function that is being executed. Plain data: it may be dropped with its fiber.
struct Frame<const PROFILED: bool, const RACES: bool> {
    context: *mut Context,
    function: u32,
    regs: [u64; 11],
    at: u32,
    /// The profile's node, if there is a profile, and the first instruction that it has not counted yet.
    node: u32,
    since: u32,
}

impl<const PROFILED: bool, const RACES: bool> Frame<PROFILED, RACES> {
    /// # Safety
    /// As for [`run`], and for all of the following.
    unsafe fn run(&mut self) -> u64 {
        // SAFETY: the Vm keeps the code alive as long as its fibers.
        let function = unsafe { &(&(*(*self.context).code).functions)[self.function as usize] };
        let ops = &function.ops[..];
        loop {
            let op = ops[self.at as usize];
            // SAFETY: the context is this fiber's own.
            unsafe { (*self.context).insns += 1 };
            let mut next = self.at + 1;
            match op {
                Op::Alu { wide, op, dst, src } => {
                    let b = self.operand(src);
                    let dst = &mut self.regs[usize::from(dst)];
                    *dst = alu(op, wide, *dst, b);
                }
                Op::Const { dst, value } => {
                    self.regs[usize::from(dst)] = value;
                    next += 1;
                }
                Op::CastToKernel { dst, src } => {
                    self.regs[usize::from(dst)] = to_kernel(self.regs[usize::from(src)]);
                }
                Op::CastToUser { dst, src, high } => {
                    self.regs[usize::from(dst)] = to_user(self.regs[usize::from(src)], high);
                }
                Op::Address { dst, slot } => {
                    // SAFETY: the Vm's table has an entry for every slot of its code.
                    self.regs[usize::from(dst)] = unsafe { *(*self.context).addresses.add(slot as usize) };
                    next += 1;
                }
                // SAFETY: as for this function.
                Op::Load { dst, base, off, size, signed } => {
                    let value = unsafe { self.load(base, off, size) };
                    self.regs[usize::from(dst)] =
                        if signed { sign_extend(value, 8 << size.0) } else { value };
                }
                // SAFETY: as for this function.
                Op::Store { base, off, size, src } => {
                    let value = self.operand(src);
                    if let Some(at) = unsafe { self.place(base, off, size, Access::Store) } {
                        unsafe { write(at, size, value) };
                    }
                }
                Op::Atomic { .. } => unsafe { self.atomic(op) },
                Op::Jump { target, .. } => next = unsafe { self.jump(op, target) },
                Op::Branch { wide, cond, a, b, target, .. } => {
                    let is_taken = holds(cond, wide, self.regs[usize::from(a)], self.operand(b));
                    // SAFETY: there are two bytes for each operation of the code, if any.
                    unsafe {
                        let branches = (*self.context).branches;
                        if !branches.is_null() {
                            let at = 2 * (function.first_op + self.at) as usize + usize::from(is_taken);
                            *branches.add(at) = 1;
                        }
                    }
                    if is_taken {
                        next = unsafe { self.jump(op, target) };
                    }
                }
                Op::MayGoto { target, .. } => unsafe {
                    if (*self.context).loops_left == 0 {
                        Context::refill_loops(self.context);
                    }
                    match (*self.context).loops_left {
                        0 => next = self.jump(op, target),
                        n => (*self.context).loops_left = n - 1,
                    }
                },
                // SAFETY: as for this function.
                Op::Call { callee, site } => unsafe { self.call(callee, site) },
                Op::Exit => {
                    self.ran(false);
                    return self.regs[0];
                }
                Op::Hole => unreachable!("nothing jumps into ld_imm64"),
            }
            self.at = next;
        }
    }

    /// Reports to the profile what was executed since the last report, including the current instruction.
    #[inline(always)]
    fn ran(&mut self, jumps: bool) {
        if PROFILED {
            // SAFETY: the context is this fiber's own.
            unsafe { (*self.context).profile_ran(self.node, self.since, self.at, jumps) };
            self.since = self.at + 1;
        }
    }

    fn operand(&self, operand: Operand) -> u64 {
        match operand {
            Operand::Reg(r) => self.regs[usize::from(r)],
            Operand::Imm(i) => i as u64,
        }
    }

    /// Backward jumps check that the callback may continue.
    unsafe fn jump(&mut self, op: Op, target: u32) -> u32 {
        self.ran(true);
        self.since = target;
        if let Op::Jump { site, .. } | Op::Branch { site, .. } | Op::MayGoto { site, .. } = op
            && target <= self.at
        {
            // SAFETY: as for `run`.
            unsafe {
                (*self.context).site = site;
                Context::check_fuel(self.context);
            }
        }
        target
    }

    /// The process's address of an access; `None` if it is out of bounds.
    unsafe fn place(&mut self, base: u8, off: i32, size: Size, access: Access) -> Option<*mut u8> {
        let write = access != Access::Load;
        let at = self.regs[usize::from(base)].wrapping_add(i64::from(off) as u64);
        // SAFETY: offsets within the frame are in the region, since r10 is a frame of the stack;
        // others were checked.
        unsafe {
            let c = self.context;
            if in_frame(base, off, size) {
                return Some((*c).base.add((at - BASE) as usize));
            }
            if PROFILED {
                (*c).profile_access(self.node, self.at);
            }
            let off = match access {
                Access::Atomic => Context::access_atomically(c, at, size),
                Access::Load | Access::Store => (*c).access(at, size, write),
            };
            if PROFILED {
                (*c).profile_accessed(self.node, self.at, off.filter(|_| write));
            }
            if (*c).checked
                && let Some(place) = self.invalid_place(at, size.bytes(), write)
            {
                let at = if place == InvalidPlace::Arena { user_address(&*c, at) } else { at };
                let kind = FaultKind::OutOfBounds { at: Ea(at), len: size.bytes(), write, place };
                self.ran(false);
                Context::stop_at(c, kind, self.function, self.at);
            }
            if RACES
                && access != Access::Atomic
                && let Some(off) = off
            {
                let how = How { writes: write, atomic: false };
                Context::note_access(c, (self.function, self.at), (off, size), how, false);
            }
            off.map(|off| (*c).base.add(off as usize))
        }
    }

    /// For the checked mode: what is at the address, if the access is invalid.
    #[cold]
    unsafe fn invalid_place(&self, at: u64, len: u64, write: bool) -> Option<InvalidPlace> {
        // SAFETY: as for `place`; the world is used between calls only.
        let (context, world) = unsafe { (&*self.context, &*(*self.context).world) };
        let slot = context.stack_floor() - FRAME_BYTES;
        let frame = self.regs[10] - FRAME_BYTES;
        match () {
            () if (slot..frame).contains(&at) => Some(InvalidPlace::Stack),
            () if at >= frame && at - slot <= SLOT_BYTES - len => None,
            () if !world.region().is_live(Ea(at), len, write) => {
                Some(world.region().invalid_place(Ea(at), len))
            }
            () if world.maps().is_stale(Ea(at), len) => Some(InvalidPlace::Element),
            () => None,
        }
    }

    unsafe fn load(&mut self, base: u8, off: i32, size: Size) -> u64 {
        // SAFETY: `place` gives room for `size` bytes.
        unsafe { self.place(base, off, size, Access::Load).map_or(0, |at| read(at, size)) }
    }

    unsafe fn atomic(&mut self, op: Op) {
        let Op::Atomic { base, off, size, op, src, fetch } = op else { return };
        // SAFETY: `place` gives room for `size` bytes.
        let place = unsafe { self.place(base, off, size, Access::Atomic) };
        let old = place.map_or(0, |at| unsafe { read(at, size) });
        let operand = self.regs[usize::from(src)];
        let new = match op {
            Atomic::Add => old.wrapping_add(operand),
            Atomic::Or => old | operand,
            Atomic::And => old & operand,
            Atomic::Xor => old ^ operand,
            Atomic::Exchange => operand,
            Atomic::CompareExchange => {
                if self.exchanges(old, size) {
                    operand
                } else {
                    old
                }
            }
        };
        if let Some(at) = place {
            // SAFETY: as above.
            unsafe { write(at, size, new) };
            if RACES {
                let writes = op != Atomic::CompareExchange || self.exchanges(old, size);
                let orders = writes && (fetch || matches!(op, Atomic::Exchange | Atomic::CompareExchange));
                // SAFETY: as above; the place is in the region.
                unsafe {
                    let off = at.offset_from((*self.context).base) as u64;
                    let how = How { writes, atomic: true };
                    Context::note_access(self.context, (self.function, self.at), (off, size), how, orders);
                }
            }
        }
        match op {
            Atomic::CompareExchange => self.regs[0] = old,
            _ if fetch => self.regs[usize::from(src)] = old,
            _ => {}
        }
    }

    /// Returns whether a compare-and-exchange that finds this value writes.
    fn exchanges(&self, old: u64, size: Size) -> bool {
        let expected = if size.0 == 2 { self.regs[0] & 0xffff_ffff } else { self.regs[0] };
        old == expected
    }

    unsafe fn call(&mut self, callee: Callee, site: u32) {
        let [r10, args] = [&self.regs[10..11], &self.regs[1..6]];
        let (r10, [a, b, c, d, e]) = (r10[0], <[u64; 5]>::try_from(args).expect("five registers"));
        let context = self.context;
        // SAFETY: as for `run`; the trampolines find the call by its site.
        self.regs[0] = unsafe {
            (*context).site = site;
            (*context).frame = r10;
            self.ran(false);
            if PROFILED {
                (*context).profile_call(self.node, self.at);
            }
            match callee {
                Callee::Host | Callee::Known(_) => calls::ask_host(context, [a, b, c, d, e]),
                Callee::Loop => calls::bpf_loop(context, a, b, c, d, e),
                Callee::ForEach => calls::for_each(context, a, b, c, d, e),
                Callee::Drain => drain::drain(context, a, b, c, d, e),
                Callee::RbtreeAdd => trees::rbtree_add(context, a, b, c, d, e),
                Callee::NumNext => numbers::num_next(context, a, b, c, d, e),
                Callee::Poison => {
                    calls::poisoned(context);
                    0
                }
                Callee::Function(function) => {
                    Context::check_fuel(context);
                    if r10 == (*context).stack_floor() {
                        Context::stop(context, FaultKind::TooDeep);
                    }
                    run(context, function, r10 - FRAME_BYTES, [a, b, c, d, e])
                }
            }
        };
        if PROFILED {
            // SAFETY: as for `run`.
            unsafe { (*context).profile_called(self.node, self.at, callee == Callee::NumNext) };
        }
        self.regs[1..6].fill(0);
    }
}

/// The user-space address of an address in the arena.
fn user_address(context: &Context, at: u64) -> u64 {
    // SAFETY: the Vm keeps the code alive as long as its fibers.
    to_user(at, unsafe { (*context.code).user_half }.unwrap_or(0))
}

/// # Safety
/// `at` points to as many bytes as the size says.
unsafe fn read(at: *const u8, size: Size) -> u64 {
    // SAFETY: as above.
    unsafe {
        match size.0 {
            0 => u64::from(at.read()),
            1 => u64::from(at.cast::<u16>().read_unaligned()),
            2 => u64::from(at.cast::<u32>().read_unaligned()),
            _ => at.cast::<u64>().read_unaligned(),
        }
    }
}

/// # Safety
/// `at` points to as many bytes as the size says.
unsafe fn write(at: *mut u8, size: Size, value: u64) {
    // SAFETY: as above.
    unsafe {
        match size.0 {
            0 => at.write(value as u8),
            1 => at.cast::<u16>().write_unaligned(value as u16),
            2 => at.cast::<u32>().write_unaligned(value as u32),
            _ => at.cast::<u64>().write_unaligned(value),
        }
    }
}
