//! Arithmetic and conditions as the instruction set defines them, on plain numbers.

use crate::code::op::{Alu, Cond};
use crate::maps::kernel_address;

/// The low `bits` of a value, sign-extended.
pub(crate) fn sign_extend(value: u64, bits: u32) -> u64 {
    let unused = 64 - bits;
    ((value << unused) as i64 >> unused) as u64
}

/// An operation on 64 bits, or on the low 32 with the high ones zero.
pub(crate) fn alu(op: Alu, wide: bool, a: u64, b: u64) -> u64 {
    if wide { alu64(op, a, b) } else { u64::from(alu32(op, a as u32, b as u32)) }
}

fn alu64(op: Alu, a: u64, b: u64) -> u64 {
    match op {
        Alu::Add => a.wrapping_add(b),
        Alu::Sub => a.wrapping_sub(b),
        Alu::Mul => a.wrapping_mul(b),
        Alu::Div => a.checked_div(b).unwrap_or(0),
        Alu::SignedDiv if b == 0 => 0,
        Alu::SignedDiv => (a as i64).wrapping_div(b as i64) as u64,
        Alu::Mod => a.checked_rem(b).unwrap_or(a),
        Alu::SignedMod if b == 0 => a,
        Alu::SignedMod => (a as i64).wrapping_rem(b as i64) as u64,
        Alu::Or => a | b,
        Alu::And => a & b,
        Alu::Xor => a ^ b,
        Alu::Lsh => a.wrapping_shl(b as u32),
        Alu::Rsh => a.wrapping_shr(b as u32),
        Alu::Arsh => (a as i64).wrapping_shr(b as u32) as u64,
        Alu::Mov => b,
        Alu::MovSigned(bits) => sign_extend(b, u32::from(bits)),
        Alu::Neg => a.wrapping_neg(),
        Alu::Truncate(bits) => a << (64 - bits) >> (64 - bits),
        Alu::Swap(bits) => a.swap_bytes() >> (64 - bits),
    }
}

fn alu32(op: Alu, a: u32, b: u32) -> u32 {
    match op {
        Alu::Div => a.checked_div(b).unwrap_or(0),
        Alu::SignedDiv if b == 0 => 0,
        Alu::SignedDiv => (a as i32).wrapping_div(b as i32) as u32,
        Alu::Mod => a.checked_rem(b).unwrap_or(a),
        Alu::SignedMod if b == 0 => a,
        Alu::SignedMod => (a as i32).wrapping_rem(b as i32) as u32,
        Alu::Lsh => a.wrapping_shl(b),
        Alu::Rsh => a.wrapping_shr(b),
        Alu::Arsh => (a as i32).wrapping_shr(b) as u32,
        // The low half of these depends on the low halves only.
        _ => alu64(op, u64::from(a), u64::from(b)) as u32,
    }
}

/// Returns whether the condition holds, on 64 bits or on the low 32.
pub(crate) fn holds(cond: Cond, wide: bool, a: u64, b: u64) -> bool {
    let (sa, sb) = if wide { (a as i64, b as i64) } else { (i64::from(a as i32), i64::from(b as i32)) };
    let (a, b) = if wide { (a, b) } else { (a & 0xffff_ffff, b & 0xffff_ffff) };
    match cond {
        Cond::Eq => a == b,
        Cond::Ne => a != b,
        Cond::Set => a & b != 0,
        Cond::Gt => a > b,
        Cond::Ge => a >= b,
        Cond::Lt => a < b,
        Cond::Le => a <= b,
        Cond::SignedGt => sa > sb,
        Cond::SignedGe => sa >= sb,
        Cond::SignedLt => sa < sb,
        Cond::SignedLe => sa <= sb,
    }
}

/// `addr_space_cast` to the address at which loads and stores find the arena. The kernel keeps only the low half and
/// adds the arena's base at each access; here a null pointer stays null, and never leads to the arena's first page.
pub(crate) fn to_kernel(user: u64) -> u64 {
    if user == 0 { 0 } else { kernel_address(user) }
}

/// `addr_space_cast` to the user-space address: the low half combined with `high`; null if the low half is 0.
pub(crate) fn to_user(kernel: u64, high: u64) -> u64 {
    match kernel & 0xffff_ffff {
        0 => 0,
        low => high | low,
    }
}
