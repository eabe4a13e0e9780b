//! Dynptrs: pointers to memory whose length is only known at run time. They are on the program's stack.

use keel_abi::bpf::{Dynptr, Ea, Errno, World};

fn at<W: World>(w: &W, dynptr: u64) -> Option<Dynptr> {
    w.bytes::<16>(Ea(dynptr)).and_then(Dynptr::from_bytes)
}

/// `bpf_dynptr_from_mem(data, size, flags, ptr)`: makes a null dynptr if it fails.
pub(super) fn from_mem<W: World>(w: &mut W, a: &[u64; 5]) -> u64 {
    let len = a[1] as u32;
    let wrong = if len > Dynptr::MAX_LEN {
        Some(Errno::E2BIG)
    } else if a[2] != 0 {
        Some(Errno::EINVAL)
    } else {
        None
    };
    let bytes = if wrong.is_none() { Dynptr::new(Ea(a[0]), len).to_bytes() } else { [0; 16] };
    if let Some(room) = w.slice_mut(Ea(a[3]), Dynptr::BYTES) {
        room.copy_from_slice(&bytes);
    }
    wrong.map_or(0, Errno::as_r0)
}

/// `bpf_dynptr_read(dst, len, src, offset, flags)`.
pub(super) fn read<W: World>(w: &mut W, a: &[u64; 5]) -> u64 {
    let Some(dynptr) = at(w, a[2]).filter(|_| a[4] == 0) else { return Errno::EINVAL.as_r0() };
    let Some(from) = dynptr.part(a[3], a[1]) else { return Errno::E2BIG.as_r0() };
    copy(w, from, Ea(a[0]), a[1])
}

/// `bpf_dynptr_write(dst, offset, src, len, flags)`.
pub(super) fn write<W: World>(w: &mut W, a: &[u64; 5]) -> u64 {
    let Some(dynptr) = at(w, a[0]).filter(|_| a[4] == 0) else { return Errno::EINVAL.as_r0() };
    let Some(to) = dynptr.part(a[1], a[3]) else { return Errno::E2BIG.as_r0() };
    copy(w, Ea(a[2]), to, a[3])
}

fn copy<W: World>(w: &mut W, from: Ea, to: Ea, len: u64) -> u64 {
    let bytes = w.slice(from, len).map(<[u8]>::to_vec);
    let (Some(bytes), Some(room)) = (bytes, w.slice_mut(to, len)) else { return Errno::EFAULT.as_r0() };
    room.copy_from_slice(&bytes);
    0
}

/// `bpf_dynptr_data(ptr, offset, len)`: the address, or null.
pub(super) fn data<W: World>(w: &mut W, a: &[u64; 5]) -> u64 {
    at(w, a[0]).and_then(|dynptr| dynptr.part(a[1], a[2])).unwrap_or_default().0
}
