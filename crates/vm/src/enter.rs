//! Enters and leaves fibers on behalf of a host: what a fiber needs from the host is set before, and what the host is
//! owed is taken back after.
#![allow(unsafe_code)]

use crate::calls;
use crate::context::{Context, HostCall};
use crate::fiber::{self, Fiber, Signal};
use crate::known::HOST_SERVES;
use crate::memory::VmWorld;
use keel_abi::bpf::{Frequent, Host, Progress};
use std::ptr;

/// Goes on with the callback of this context, which is that of a fiber among these. If it waits for the value of a
/// call, the call is made before the fiber is entered. Returns the same as
/// [`fiber::start`].
///
/// # Safety
/// It is suspended, and nobody uses a reference to its context or its world.
#[inline(always)]
pub(crate) unsafe fn go_on<H: Host<VmWorld>>(
    context: *mut Context,
    host: &mut H,
    fibers: &mut [Fiber],
) -> (u64, *mut Context) {
    // SAFETY: as above.
    unsafe {
        let mut value = 0;
        if !(*context).makes_call {
            take_carry(context, host);
        } else {
            match calls::ask_again(context, host, &mut *(*context).world) {
                Some(answer) => value = answer,
                None => {
                    not_answered(context);
                    return (0, context);
                }
            }
        }
        connect(context, host);
        let (value, context) = fiber::resume(context, value, fibers);
        disconnect(context, host);
        (value, context)
    }
}

/// The call of a suspended callback has no value yet: the callback stays suspended, unless the context says why not.
///
/// # Safety
/// As for [`go_on`].
#[cold]
#[inline(never)]
unsafe fn not_answered(context: *mut Context) {
    // SAFETY: as above.
    let context = unsafe { &mut *context };
    if let Some(kind) = context.refused.take() {
        context.refuse(*kind);
        context.signal = Signal::Failed;
    }
}

/// Sets what a fiber needs to call `host`, before it is entered. [`take_carry`] comes before, unless the fiber goes on
/// with a call that the host has just charged.
///
/// # Safety
/// The fiber's code isn't running, and nobody uses a reference to its context. As long as it runs, nobody uses a reference
/// to the world that the context points to.
#[inline(always)]
pub(crate) unsafe fn connect<H: Host<VmWorld>>(context: *mut Context, host: &mut H) {
    // SAFETY: as above.
    unsafe {
        (*context).host = ptr::from_mut(host).cast();
        let host_call: HostCall = calls::host_call::<H>;
        if (*context).host_call.map(|known| known as usize) != Some(host_call as usize) {
            set_calls::<H>(context);
        }
    }
}

/// Takes the costs from the host that a call charges which emitted code serves.
///
/// # Safety
/// As for [`connect`].
#[inline(always)]
pub(crate) unsafe fn take_carry<H: Host<VmWorld>>(context: *mut Context, host: &mut H) {
    // SAFETY: as above.
    unsafe {
        if (*context).serves {
            (*context).carry_ps = host.take_spent_ps().unwrap_or(HOST_SERVES);
        }
    }
}

/// Sets what calls the host: the first time, or for a host of another type.
///
/// # Safety
/// As for [`connect`].
#[cold]
#[inline(never)]
unsafe fn set_calls<H: Host<VmWorld>>(context: *mut Context) {
    // SAFETY: as above.
    unsafe {
        (*context).host_call = Some(calls::host_call::<H>);
        let serves = (*context).serves;
        (*context).frequent_calls = Frequent::ALL.map(|which| {
            Some(match serves {
                true => calls::frequent::<H, true>(which),
                false => calls::frequent::<H, false>(which),
            })
        });
        (*context).host_turn = Some(calls::host_turn::<H>);
        (*context).host_clock = Some(calls::host_clock::<H>);
        (*context).host_meter = Some(calls::host_meter::<H>);
        (*context).host_clocks = Some(calls::host_clocks::<H>);
    }
}

/// Takes back what the host is owed, after the fiber was left.
///
/// # Safety
/// As for [`connect`].
#[inline(always)]
pub(crate) unsafe fn disconnect<H: Host<VmWorld>>(context: *mut Context, host: &mut H) {
    // SAFETY: as above.
    unsafe { calls::give_carry(context, host) }
}

/// What the job comes to that the fiber of this context has done.
///
/// # Safety
/// The fiber's code isn't running, and nobody has an exclusive reference to its context.
#[inline(always)]
pub(crate) unsafe fn done(context: *const Context, value: u64) -> Progress {
    // SAFETY: as above.
    let usage = unsafe { (*context).usage() };
    Progress::Done { value, usage }
}
