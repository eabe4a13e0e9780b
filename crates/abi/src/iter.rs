//! `bpf_iter_num`. Its two numbers are in the program's own memory, so they are untrusted.
//!
//! It is in this crate because an engine may do the counting itself, while the kernel charges for it.

use crate::bpf::{Ea, Errno, World};

/// `bpf_iter_num_next(it)`: returns the address of the next number, or 0 at the end. As in the kernel, the number that
/// is stored is the one before the next.
#[inline]
pub fn num_next<W: World>(w: &mut W, at: Ea) -> u64 {
    let Some(words) = w.bytes::<8>(at) else { return Errno::EINVAL.as_r0() };
    let pair = u64::from_le_bytes(words);
    let (current, end) = ((pair as i32).wrapping_add(1), (pair >> 32) as i32);
    if current >= end {
        put_pair(w, at, 0, 0);
        return 0;
    }
    put_pair(w, at, current, end);
    at.0
}

/// Writes an iterator's current number and its end.
#[inline]
pub fn put_pair<W: World>(w: &mut W, at: Ea, current: i32, end: i32) {
    let pair = u64::from(current as u32) | u64::from(end as u32) << 32;
    w.put(at, &pair.to_le_bytes());
}
