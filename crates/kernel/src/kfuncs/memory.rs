//! The helpers on memory: probing reads, comparison, pointers kept in maps.

use crate::kfuncs::Served;
use crate::state::bpf::functions::F;
use crate::state::kernel::Kernel;
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, Errno, World};

/// The longest string or block that one call copies.
const MOST_BYTES: u64 = 1 << 16;

impl Kernel {
    pub(super) fn serve_memory<W: World>(&mut self, w: &mut W, c: CpuId, f: F, a: &[u64; 5]) -> Served {
        match f {
            F::ProbeRead | F::ProbeReadAny => probe_read(w, Ea(a[0]), a[1], Ea(a[2])).into(),
            F::ProbeReadStr | F::ProbeReadAnyStr => probe_read_str(w, Ea(a[0]), a[1], Ea(a[2])).into(),
            F::Strncmp => strncmp(w, Ea(a[0]), a[1], Ea(a[2])).into(),
            _ => {
                let (stall, old) = (w.touch_ps(Ea(a[0]), 8, c, true), exchange(w, Ea(a[0]), a[1]));
                self.charge_ps(c, stall);
                old.into()
            }
        }
    }
}

/// The error of a read from an invalid address. `copy_from_kernel_nofault_allowed()` refuses addresses at which the
/// kernel never has memory without trying them: the lower half of the address space, and the gap between the halves.
fn unreadable(at: Ea) -> u64 {
    /// Bits of an address, without the sign.
    const ADDRESS_BITS: u32 = 47;
    let is_kernels = (at.0 as i64) >> ADDRESS_BITS == -1;
    if is_kernels { Errno::EFAULT.as_r0() } else { Errno::ERANGE.as_r0() }
}

/// Zeroes the destination if the source is bad.
fn probe_read<W: World>(w: &mut W, to: Ea, len: u64, from: Ea) -> u64 {
    let len = len & 0xffff_ffff;
    match len {
        // Nearly all reads are of one field.
        8 => probe_read_field::<W, 8>(w, to, from),
        4 => probe_read_field::<W, 4>(w, to, from),
        _ if len > MOST_BYTES => Errno::E2BIG.as_r0(),
        _ => {
            let bytes = w.slice(from, len).map(<[u8]>::to_vec);
            finish_probe_read(w, to, len, bytes.as_deref(), from)
        }
    }
}

/// Like `probe_read` for a field of `LEN` bytes, which needs no allocation.
fn probe_read_field<W: World, const LEN: usize>(w: &mut W, to: Ea, from: Ea) -> u64 {
    let field = w.slice(from, LEN as u64).and_then(|bytes| <[u8; LEN]>::try_from(bytes).ok());
    finish_probe_read(w, to, LEN as u64, field.as_ref().map(<[u8; LEN]>::as_slice), from)
}

/// Writes what was read, if the source is good.
#[inline(always)]
fn finish_probe_read<W: World>(w: &mut W, to: Ea, len: u64, bytes: Option<&[u8]>, from: Ea) -> u64 {
    let Some(target) = w.slice_mut(to, len) else { return Errno::EFAULT.as_r0() };
    match bytes {
        Some(bytes) => {
            target.copy_from_slice(bytes);
            0
        }
        None => {
            target.fill(0);
            unreadable(from)
        }
    }
}

/// Copies up to and including the NUL, or truncates and appends one; returns the number of bytes written.
fn probe_read_str<W: World>(w: &mut W, to: Ea, len: u64, from: Ea) -> u64 {
    let len = (len & 0xffff_ffff).min(MOST_BYTES);
    if len == 0 {
        return 0;
    }
    let mut text = Vec::new();
    while (text.len() as u64) < len - 1 {
        match w.slice(from.offset(text.len() as u64), 1) {
            Some([0]) => break,
            Some(byte) => text.push(byte[0]),
            None => {
                if let Some(room) = w.slice_mut(to, len) {
                    room.fill(0);
                }
                return unreadable(from);
            }
        }
    }
    text.push(0);
    match w.slice_mut(to, text.len() as u64) {
        Some(room) => {
            room.copy_from_slice(&text);
            text.len() as u64
        }
        None => Errno::EFAULT.as_r0(),
    }
}

fn strncmp<W: World>(w: &W, left: Ea, len: u64, right: Ea) -> u64 {
    let byte = |at: Ea, i| w.slice(at.offset(i), 1).map_or(0, |b| b[0]);
    for i in 0..len.min(MOST_BYTES) {
        let (l, r) = (byte(left, i), byte(right, i));
        if l != r || l == 0 {
            return (i32::from(l) - i32::from(r)) as i64 as u64;
        }
    }
    0
}

fn exchange<W: World>(w: &mut W, at: Ea, new: u64) -> u64 {
    let Some(old) = w.bytes::<8>(at) else { return 0 };
    w.put(at, &new.to_le_bytes());
    u64::from_le_bytes(old)
}
