//! `bpf_iter_num_next`: a loop's next number, which the engine computes itself if it knows the price. A loop calls it
//! once per round, and nothing else can observe when.
#![allow(unsafe_code)]

use crate::calls;
use crate::context::{Context, HOST_COUNTS};
use keel_abi::bpf::Ea;
use keel_abi::iter;

/// `bpf_iter_num_next(it)`.
///
/// # Safety
/// As for [`crate::calls::invoke`].
pub(crate) unsafe extern "C" fn num_next(
    context: *mut Context,
    at: u64,
    r2: u64,
    r3: u64,
    r4: u64,
    r5: u64,
) -> u64 {
    // SAFETY: as above; the world is used between calls only.
    unsafe {
        let price_ps = (*context).num_next_ps;
        if price_ps == HOST_COUNTS {
            return calls::ask_host(context, [at, r2, r3, r4, r5]);
        }
        Context::check_fuel(context);
        (*context).stall_ps += price_ps;
        iter::num_next(&mut *(*context).world, Ea(at))
    }
}
