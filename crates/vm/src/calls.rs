//! Calls out of running code: to the host, to the engine's own helpers, to faults.
//!
//! Everything that can be suspended keeps plain data on its frames, because a suspended fiber
//! may be dropped without running destructors.
#![allow(unsafe_code)]

use crate::code::op::FRAME_BYTES;
use crate::context::{Context, HostCall};
use crate::enter::take_carry;
use crate::fiber::Signal;
use crate::interp;
use crate::known::{HOST_SERVES, Known};
use crate::memory::VmWorld;
use crate::stacks::{FRAME_SCRATCH, Slot};
use keel_abi::Instant;
use keel_abi::bpf::{
    CallSite, Ea, Errno, FaultKind, Frequent, FuncId, Host, MapId, MapKey, Meter, NoValue, Reply, World,
};
use keel_abi::clocks::Clocks;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{Ordering, compiler_fence};

/// Runs a function of the object with the callback's engine.
///
/// # Safety
/// `context` is that of the fiber that this runs on.
#[inline]
pub(crate) unsafe fn invoke(context: *mut Context, function: u32, r10: u64, args: [u64; 5]) -> u64 {
    // SAFETY: the table has an entry for each of the code's functions, and `function` is one.
    unsafe {
        let table = (*context).native;
        if table.is_null() || !(*(*context).code).can_emitted_take(function, r10, args[0]) {
            return interp::run(context, function, r10, args);
        }
        let [a, b, c, d, e] = args;
        (*table.add(function as usize))(context, r10, a, b, c, d, e)
    }
}

/// Calls the host until it returns a value, for code that has not yet looked at its fuel.
///
/// # Safety
/// As for [`host_call`].
pub(crate) unsafe fn ask_host(context: *mut Context, args: [u64; 5]) -> u64 {
    // SAFETY: as above.
    unsafe {
        Context::check_fuel(context);
        let host_call = (*context).host_call.expect("set on entry");
        let [a, b, c, d, e] = args;
        host_call(context, a, b, c, d, e)
    }
}

/// Calls the host until it returns a value. Native code calls this.
///
/// # Safety
/// `context` is that of the fiber that this runs on, and was entered with a host of type `H`. There is fuel left.
pub(crate) unsafe extern "C" fn host_call<H: Host<VmWorld>>(
    context: *mut Context,
    r1: u64,
    r2: u64,
    r3: u64,
    r4: u64,
    r5: u64,
) -> u64 {
    // SAFETY: as above.
    unsafe {
        debug_assert!((*context).insns <= 0, "the caller has looked at the fuel");
        (*context).args = [r1, r2, r3, r4, r5];
        answer(
            context,
            #[inline(always)]
            || ask::<H>(context),
        )
    }
}

/// As [`host_call`], with the arguments that are in the context. A C function, so that the entries of simple functions
/// end with a jump to it: there is nothing for them to catch.
///
/// # Safety
/// As for [`host_call`].
#[inline(never)]
unsafe extern "C" fn call_as_kept<H: Host<VmWorld>>(context: *mut Context) -> u64 {
    // SAFETY: as above.
    unsafe {
        answer(
            context,
            #[inline(always)]
            || ask::<H>(context),
        )
    }
}

/// What native code calls instead of [`host_call`] for the frequent function `which`. `SERVES` is [`Context::serves`].
pub(crate) fn frequent<H: Host<VmWorld>, const SERVES: bool>(which: Frequent) -> HostCall {
    macro_rules! entry_of {
        ($($which:ident)*) => {
            match which {
                $(Frequent::$which => match Frequent::$which.is_simple() {
                    true => host_call_of::<H, { Frequent::$which as usize }, SERVES>,
                    false => host_call_in_turn::<H, { Frequent::$which as usize }, SERVES>,
                },)*
            }
        };
    }
    entry_of!(
        MapLookup SpinLock SpinUnlock SelectCpuDfl DsqInsert DsqInsertVtime DsqMoveToLocalV1 DsqMoveToLocal
        TaskSetSlice TaskSetVtime TaskCpu TaskFromPid TaskRelease KickCpu
    )
}

/// As [`host_call`], for calls of the function at index `WHICH` of [`Frequent::ALL`], which is simple.
///
/// # Safety
/// As for [`host_call`].
unsafe extern "C" fn host_call_of<H: Host<VmWorld>, const WHICH: usize, const SERVES: bool>(
    context: *mut Context,
    r1: u64,
    r2: u64,
    r3: u64,
    r4: u64,
    r5: u64,
) -> u64 {
    // SAFETY: as above, and as for `called`.
    unsafe {
        debug_assert!((*context).insns <= 0, "the caller has looked at the fuel");
        let (which, args) = (const { Frequent::ALL[WHICH] }, [r1, r2, r3, r4, r5]);
        // The host doesn't panic.
        let (host, site, _) = at_call::<H>(context);
        let answer = match SERVES && (*context).carry_ps != 0 {
            false => host.call_frequent(site, which, &args, SERVES),
            true => Err(NoValue::Rare),
        };
        match answer {
            Ok(value) => value,
            Err(NoValue::Rare) if which.is_served_in_turn() => {
                host_call_in_turn::<H, WHICH, SERVES>(context, r1, r2, r3, r4, r5)
            }
            Err(why) => {
                keep_args(context, which, &args);
                match why {
                    NoValue::Rare => call_as_kept::<H>(context),
                    NoValue::Suspend | NoValue::Stop(_) => wait(context),
                }
            }
        }
    }
}

/// As [`host_call`], for calls of the function at index `WHICH` of [`Frequent::ALL`], which is served in turn.
///
/// # Safety
/// As for [`host_call`].
unsafe extern "C" fn host_call_in_turn<H: Host<VmWorld>, const WHICH: usize, const SERVES: bool>(
    context: *mut Context,
    r1: u64,
    r2: u64,
    r3: u64,
    r4: u64,
    r5: u64,
) -> u64 {
    // SAFETY: as above, and as for `called`.
    unsafe {
        debug_assert!((*context).insns <= 0, "the caller has looked at the fuel");
        let (which, args) = (const { Frequent::ALL[WHICH] }, [r1, r2, r3, r4, r5]);
        keep_args(context, which, &args);
        answer(
            context,
            #[inline(always)]
            || {
                // What it may carry if it serves no calls is not for the host.
                let (host, site, _) = if SERVES { called::<H>(context) } else { at_call::<H>(context) };
                match host.call_in_turn(site, which, &args) {
                    Ok(value) => Some(value),
                    Err(why) => not_at_once::<H>(context, why),
                }
            },
        )
    }
}

/// Keeps the arguments of a call for when it is made again.
///
/// # Safety
/// As for [`host_call`].
#[inline(always)]
unsafe fn keep_args(context: *mut Context, which: Frequent, args: &[u64; 5]) {
    // SAFETY: as above.
    let kept = unsafe { &mut (*context).args };
    // No loop, and no call of memcpy.
    if which.args() > 0 {
        kept[0] = args[0];
    }
    if which.args() > 1 {
        kept[1] = args[1];
    }
    if which.args() > 2 {
        kept[2] = args[2];
    }
    if which.args() > 3 {
        kept[3] = args[3];
    }
    const { assert!(most_args() == 4) };
}

/// The most arguments of all frequent functions.
const fn most_args() -> usize {
    let (mut most, mut i) = (0, 0);
    while i < Frequent::ALL.len() {
        if Frequent::ALL[i].args() > most {
            most = Frequent::ALL[i].args();
        }
        i += 1;
    }
    most
}

/// The value of the call that `ask` makes, perhaps later. `ask` returns nothing if the callback must be suspended, or
/// stopped for the reason that is in the context.
///
/// # Safety
/// As for [`host_call`].
#[inline(always)]
unsafe fn answer(context: *mut Context, ask: impl FnOnce() -> Option<u64>) -> u64 {
    // No panic may unwind through native code, so it is caught here and continues in the driver.
    // The closure captures and returns little: this is the hot path.
    // SAFETY: as above.
    unsafe {
        match catch_unwind(AssertUnwindSafe(ask)) {
            Ok(Some(value)) => value,
            Ok(None) => wait(context),
            Err(payload) => panicked(context, payload),
        }
    }
}

/// Suspends the callback until the call whose arguments are in the context has been made, and returns its value. Stops
/// the callback if the context says why. A C function for the same reason as [`call_as_kept`].
///
/// # Safety
/// As for [`host_call`].
#[inline(never)]
unsafe extern "C" fn wait(context: *mut Context) -> u64 {
    // SAFETY: as above.
    unsafe {
        if (*context).refused.is_some() {
            stopped(context);
        }
        (*context).makes_call = true;
        Context::pause(context, Signal::Suspended)
    }
}

/// Makes the call again for which a callback was suspended. Returns nothing if the callback stays suspended, or must be
/// stopped for the reason that is in the context. If the callback goes on, it carries what the host has not charged.
///
/// # Safety
/// Nobody uses a reference to the context, the world or the host, except for this.
#[inline(always)]
pub(crate) unsafe fn ask_again<H: Host<VmWorld>>(
    context: *mut Context,
    host: &mut H,
    world: &mut VmWorld,
) -> Option<u64> {
    // SAFETY: as above; the callback's site is one that calls the host.
    unsafe {
        let (site, func) = call_site(context, world, true);
        match host.call_again(site, func, &(*context).args) {
            Ok(value) => Some(value),
            Err(NoValue::Rare) => ask_again_rarely(context, host, world),
            Err(NoValue::Suspend) => None,
            Err(NoValue::Stop(kind)) => refused(context, kind),
        }
    }
}

/// Like [`ask_again`], if something about the call is rare.
///
/// # Safety
/// As for [`ask_again`].
#[cold]
#[inline(never)]
unsafe fn ask_again_rarely<H: Host<VmWorld>>(
    context: *mut Context,
    host: &mut H,
    world: &mut VmWorld,
) -> Option<u64> {
    // SAFETY: as above.
    unsafe {
        let (site, func) = call_site(context, world, true);
        let reply = host.call(site, func, &(*context).args);
        let value = taken(context, reply)?;
        take_carry(context, host);
        Some(value)
    }
}

/// Asks the host once whether the callback may continue.
///
/// # Safety
/// As for [`host_call`].
pub(crate) unsafe fn host_turn<H: Host<VmWorld>>(context: *mut Context, again: bool) -> Option<Instant> {
    // SAFETY: the context was entered with a host of this type, which nothing else uses during a callback.
    unsafe { (*(*context).host.cast::<H>()).turn((*context).place.cpu, (*context).usage(), again) }
}

/// A clock as the host would read it; `known` says which, for its price. Emitted code calls this.
///
/// # Safety
/// As for [`host_call`]; the host doesn't serve all calls, and `known` is one's number.
pub(crate) unsafe extern "C" fn host_clock<H: Host<VmWorld>>(context: *mut Context, known: u64) -> u64 {
    // SAFETY: as for `called`; there is a price for each number.
    unsafe {
        let now = (*(*context).host.cast::<H>()).clock((*context).usage());
        let carry_ps = std::mem::take(&mut (*context).carry_ps);
        debug_assert!(known < Known::ALL.len() as u64);
        let price_ps = *(&raw const (*context).known_ps).cast::<u64>().add(known as usize);
        (*context).stall_ps += carry_ps + price_ps;
        now.as_ns()
    }
}

/// Asks the host for the callback's charges.
///
/// # Safety
/// As for [`host_call`].
pub(crate) unsafe fn host_meter<H: Host<VmWorld>>(context: &Context) -> Meter {
    // SAFETY: the context was entered with a host of this type, which nothing else uses during a callback.
    unsafe { (*context.host.cast::<H>()).meter() }
}

/// Asks the host for the happens-before order.
///
/// # Safety
/// As for [`host_call`].
pub(crate) unsafe fn host_clocks<H: Host<VmWorld>>(context: *mut Context) -> Option<*mut Clocks> {
    // SAFETY: the context was entered with a host of this type, which nothing else uses during a callback.
    unsafe { (*(*context).host.cast::<H>()).clocks().map(std::ptr::from_mut) }
}

/// The value in an answer. Without one, the callback must be suspended, or stopped for the reason that is then in the
/// context.
///
/// # Safety
/// As for [`host_call`].
#[inline(always)]
unsafe fn taken(context: *mut Context, reply: Reply) -> Option<u64> {
    match reply {
        Reply::Value(value) => Some(value),
        Reply::Suspend => None,
        // SAFETY: as above.
        Reply::Stop(kind) => unsafe { refused(context, kind) },
    }
}

/// The callback must be stopped for this reason: there is no value.
///
/// # Safety
/// As for [`host_call`].
#[cold]
#[inline(never)]
unsafe fn refused(context: *mut Context, kind: Box<FaultKind>) -> Option<u64> {
    // SAFETY: as above.
    unsafe { (*context).refused = Some(kind) };
    None
}

/// The value of a call that the host hasn't given at once.
///
/// # Safety
/// As for [`host_call`].
#[inline(always)]
unsafe fn not_at_once<H: Host<VmWorld>>(context: *mut Context, why: NoValue) -> Option<u64> {
    // SAFETY: as above.
    unsafe {
        match why {
            NoValue::Rare => call::<H>(context),
            NoValue::Suspend => None,
            NoValue::Stop(kind) => refused(context, kind),
        }
    }
}

/// Stops the callback for the reason that is in the context.
///
/// # Safety
/// As for [`host_call`].
#[cold]
unsafe fn stopped(context: *mut Context) -> ! {
    // SAFETY: as above.
    unsafe {
        let kind = (*context).refused.take().expect("the host has said why");
        Context::stop(context, *kind)
    }
}

/// The host has panicked.
///
/// # Safety
/// As for [`host_call`].
#[cold]
#[inline(never)]
unsafe fn panicked(context: *mut Context, payload: Box<dyn Any + Send>) -> ! {
    // SAFETY: as above.
    unsafe {
        (*context).panic = Some(payload);
        Context::leave(context, Signal::Panicked)
    }
}

/// Calls the host with the arguments that are in the context.
///
/// # Safety
/// As for [`host_call`].
#[inline(always)]
unsafe fn ask<H: Host<VmWorld>>(context: *mut Context) -> Option<u64> {
    // SAFETY: as for `called`.
    unsafe {
        let (host, site, func) = called::<H>(context);
        match host.call_at_once(site, func, &(*context).args) {
            Ok(value) => Some(value),
            Err(why) => not_at_once::<H>(context, why),
        }
    }
}

/// Like [`ask`], if something about the call is rare.
///
/// # Safety
/// As for [`host_call`].
#[cold]
#[inline(never)]
unsafe fn call<H: Host<VmWorld>>(context: *mut Context) -> Option<u64> {
    // SAFETY: as for `called`.
    unsafe {
        let (host, site, func) = called::<H>(context);
        let reply = host.call(site, func, &(*context).args);
        taken(context, reply)
    }
}

/// The host, and what it needs to know of a call.
///
/// # Safety
/// As for [`host_call`], and nobody else uses the host and the world as long as these references live.
#[inline(always)]
unsafe fn called<'a, H: Host<VmWorld>>(context: *mut Context) -> (&'a mut H, CallSite<'a, VmWorld>, FuncId) {
    // SAFETY: as above.
    unsafe {
        let (host, site, func) = at_call::<H>(context);
        give_carry(context, host);
        (host, site, func)
    }
}

/// Like [`called`], if nothing is carried that the host charges.
///
/// # Safety
/// As for [`called`].
#[inline(always)]
unsafe fn at_call<'a, H: Host<VmWorld>>(context: *mut Context) -> (&'a mut H, CallSite<'a, VmWorld>, FuncId) {
    // SAFETY: `host` and `world` were set from exclusive references. The code that entered the fiber holds them and
    // does not use them before the fiber is left; the site is one that calls the host.
    unsafe {
        let (host, world) = (&mut *(*context).host.cast::<H>(), &mut *(*context).world);
        let (site, func) = call_site(context, world, false);
        (host, site, func)
    }
}

/// What the host needs to know of a call.
///
/// # Safety
/// Nobody changes the context meanwhile; its site is one that calls the host.
#[inline(always)]
unsafe fn call_site(
    context: *const Context,
    world: &mut VmWorld,
    again: bool,
) -> (CallSite<'_, VmWorld>, FuncId) {
    // SAFETY: as above; there is a callee for each site.
    unsafe {
        let number = (*context).site;
        let func = *(*context).callees.add(number as usize);
        (CallSite { world, cpu: (*context).place.cpu, usage: (*context).usage(), again, number }, func)
    }
}

/// Gives the host the costs that it charges with its first call; nothing is carried from then on.
///
/// # Safety
/// Nobody uses a reference to the context.
#[inline(always)]
pub(crate) unsafe fn give_carry<H: Host<VmWorld>>(context: *mut Context, host: &mut H) {
    // SAFETY: as above.
    unsafe {
        if (*context).carry_ps == 0 {
            return;
        }
        // Behind this it is read again, so that it is compared in memory.
        compiler_fence(Ordering::SeqCst);
        std::hint::cold_path();
        if (*context).carry_ps != HOST_SERVES {
            host.give_spent_ps((*context).carry_ps);
        }
        if (*context).serves {
            (*context).carry_ps = 0;
        }
    }
}

/// The callback passed its limit of instructions.
///
/// # Safety
/// As for [`invoke`].
pub(crate) unsafe extern "C" fn never_ends(context: *mut Context) {
    // SAFETY: as above.
    unsafe { Context::stop(context, FaultKind::NeverEnds) }
}

/// The callback would use one frame too many.
///
/// # Safety
/// As for [`invoke`].
pub(crate) unsafe extern "C" fn too_deep(context: *mut Context) {
    // SAFETY: as above.
    unsafe { Context::stop(context, FaultKind::TooDeep) }
}

/// The callback reached a poisoned instruction.
///
/// # Safety
/// As for [`invoke`].
pub(crate) unsafe extern "C" fn poisoned(context: *mut Context) {
    // SAFETY: as above; the Vm keeps the code alive.
    unsafe {
        let code = &*(*context).code;
        Context::stop(context, FaultKind::Poisoned(code.missing(code.sites[(*context).site as usize])))
    }
}

/// Moves a line here: what native code calls when it doesn't hold the line. `denied` returns whether it was refused.
///
/// # Safety
/// As for [`invoke`]; `off` is below the high-water mark.
pub(crate) unsafe extern "C" fn touch(context: *mut Context, off: u64, write: u64) {
    // SAFETY: as above.
    unsafe { (*context).denied = u64::from(!(*context).touch(off, write != 0)) }
}

/// Like [`touch`], for a line by its number from simulated address 0. The emitter's code calls this.
///
/// # Safety
/// As for [`touch`].
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe extern "C" fn touch_line(context: *mut Context, line: u64, write: u64) {
    // SAFETY: as above, and as for `Context::touch`.
    unsafe {
        let line = line - (*context).first_line;
        let region = (*(*context).world).region_mut();
        match region.take_numbered_line_ps(line, (*context).place.cpu, write != 0) {
            Some(price_ps) => (*context).stall_ps += price_ps,
            None => touch(context, line << (*context).line_log2, write),
        }
    }
}

/// Moves a line here for an atomic instruction; otherwise like [`touch`].
///
/// # Safety
/// As for [`touch`]; the context's count of instructions is up to date.
pub(crate) unsafe extern "C" fn touch_atomically(context: *mut Context, off: u64) {
    // SAFETY: as above.
    unsafe {
        let is_there = Context::touch_atomically(context, off);
        (*context).denied = u64::from(!is_there);
    }
}

/// Grants the next `may_goto`s, for native code.
///
/// # Safety
/// As for [`invoke`]; the context's count of instructions is up to date.
pub(crate) unsafe extern "C" fn refill_loops(context: *mut Context) {
    // SAFETY: as above.
    unsafe { Context::refill_loops(context) }
}

/// Counts an access out of bounds, for native code.
///
/// # Safety
/// As for [`invoke`].
pub(crate) unsafe extern "C" fn out_of_bounds(context: *mut Context) {
    // SAFETY: as above.
    unsafe { (*context).bad_accesses += 1 }
}

/// A function that the object passed as a pointer, or a fault.
///
/// # Safety
/// As for [`invoke`].
pub(crate) unsafe fn callback(context: *mut Context, address: u64, helper: &str) -> u32 {
    // SAFETY: as above; the Vm keeps the code alive.
    unsafe {
        match (*(*context).code).function_at(address) {
            Some(function) => function,
            None => {
                let why = format!("{helper} was given {address:#x}, which is not a function");
                Context::stop(context, FaultKind::BadCall(why))
            }
        }
    }
}

/// A map that a helper was given as a pointer, or a fault at `site`.
///
/// # Safety
/// As for [`invoke`].
pub(crate) unsafe fn map_of(context: *mut Context, site: u32, map: u64, helper: &str) -> MapId {
    // SAFETY: as above.
    unsafe {
        match (*(*context).world).map_at(Ea(map)) {
            Some(id) => id,
            None => {
                (*context).site = site;
                let why = format!("{helper} was given {map:#x}, which is not a map");
                Context::stop(context, FaultKind::BadCall(why))
            }
        }
    }
}

/// Memory in the region for the arguments of callbacks of the frame's function.
///
/// # Safety
/// As for [`invoke`].
pub(crate) unsafe fn scratch(context: *mut Context, frame: u64) -> Ea {
    // SAFETY: as above.
    unsafe {
        let depth = (frame - (*context).stack_floor()) / FRAME_BYTES;
        Slot::with_floor((*context).stack_floor()).scratch().offset(FRAME_SCRATCH * depth)
    }
}

/// One round of a callback, one frame down.
///
/// # Safety
/// As for [`invoke`].
pub(crate) unsafe fn round(
    context: *mut Context,
    function: u32,
    site: u32,
    frame: u64,
    args: [u64; 5],
) -> u64 {
    // SAFETY: as above.
    unsafe {
        (*context).site = site;
        Context::check_fuel(context);
        if frame == (*context).stack_floor() {
            Context::stop(context, FaultKind::TooDeep);
        }
        if !(*(*context).code).is_passed(function) {
            return interp::run(context, function, frame - FRAME_BYTES, args);
        }
        invoke(context, function, frame - FRAME_BYTES, args)
    }
}

/// `bpf_loop(nr_loops, callback, context, flags)`: the host charges for it, the rounds run here.
///
/// # Safety
/// As for [`invoke`].
pub(crate) unsafe extern "C" fn bpf_loop(
    context: *mut Context,
    nr_loops: u64,
    function: u64,
    data: u64,
    flags: u64,
    r5: u64,
) -> u64 {
    /// `BPF_MAX_LOOPS`.
    const MAX_LOOPS: u64 = 8 << 20;
    // SAFETY: as above.
    unsafe {
        let (site, frame) = ((*context).site, (*context).frame);
        ask_host(context, [nr_loops, function, data, flags, r5]);
        let function = callback(context, function, "bpf_loop");
        if flags != 0 {
            return Errno::EINVAL.as_r0();
        }
        if nr_loops > MAX_LOOPS {
            // The verifier replaces the call by a loop (`inline_bpf_loop()`), whose error has 32 bits.
            return Errno::E2BIG.as_r0() & 0xffff_ffff;
        }
        for i in 0..nr_loops {
            if round(context, function, site, frame, [i, data, 0, 0, 0]) != 0 {
                return i + 1;
            }
        }
        nr_loops
    }
}

/// `bpf_for_each_map_elem(map, callback, context, flags)`.
///
/// # Safety
/// As for [`invoke`].
pub(crate) unsafe extern "C" fn for_each(
    context: *mut Context,
    map: u64,
    function: u64,
    data: u64,
    flags: u64,
    r5: u64,
) -> u64 {
    // SAFETY: as above; the world is used between calls only.
    unsafe {
        let (site, frame) = ((*context).site, (*context).frame);
        ask_host(context, [map, function, data, flags, r5]);
        let function = callback(context, function, "bpf_for_each_map_elem");
        if flags != 0 {
            return Errno::EINVAL.as_r0();
        }
        let id = map_of(context, site, map, "bpf_for_each_map_elem");
        if !(*(*context).world).maps().is_walkable(id) {
            return Errno::EINVAL.as_r0();
        }
        let scratch = scratch(context, frame);
        let (mut seen, mut from) = (0, 0);
        while let Some(entry) = (*(*context).world).maps().walk(id, from, (*context).place.cpu) {
            let key = match entry.key {
                MapKey::At(key) => key,
                MapKey::Index(index) => {
                    (*(*context).world).put(scratch, &index.to_le_bytes());
                    scratch
                }
            };
            seen += 1;
            from = entry.next;
            if round(context, function, site, frame, [map, key.0, entry.value.0, data, 0]) != 0 {
                break;
            }
        }
        seen
    }
}
