//! Operations: instructions once they are known to be valid, with their references resolved.

use crate::known::Known;

/// How many bytes a memory access touches, as a power of two: 0 to 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u8);

impl Size {
    /// Bytes: 1, 2, 4 or 8.
    pub(crate) const fn bytes(self) -> u64 {
        1 << self.0
    }
}

/// The second operand of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    /// A register.
    Reg(u8),
    /// An immediate, sign-extended.
    Imm(i64),
}

/// Arithmetic and logic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alu {
    Add,
    Sub,
    Mul,
    Div,
    SignedDiv,
    Mod,
    SignedMod,
    Or,
    And,
    Xor,
    Lsh,
    Rsh,
    Arsh,
    Mov,
    /// A move that sign-extends the low 8, 16 or 32 bits.
    MovSigned(u8),
    /// Negates the destination.
    Neg,
    /// Keeps the low 16, 32 or 64 bits.
    Truncate(u8),
    /// Reverses the low 16, 32 or 64 bits' bytes and drops the rest.
    Swap(u8),
}

/// Conditions of jumps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cond {
    Eq,
    Ne,
    /// Any common bit.
    Set,
    Gt,
    Ge,
    Lt,
    Le,
    SignedGt,
    SignedGe,
    SignedLt,
    SignedLe,
}

/// How an instruction uses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Load,
    Store,
    Atomic,
}

/// What an atomic operation does with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Atomic {
    Add,
    Or,
    And,
    Xor,
    /// Stores the source and returns the old value.
    Exchange,
    /// Stores the source if memory equals R0, and returns the old value in R0.
    CompareExchange,
}

/// The function that a call calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    /// A function of the object.
    Function(u32),
    /// A helper or kfunc.
    Host,
    /// A function that emitted code handles itself.
    Known(Known),
    /// `bpf_loop`.
    Loop,
    /// `bpf_for_each_map_elem`.
    ForEach,
    /// `bpf_user_ringbuf_drain`.
    Drain,
    /// `bpf_rbtree_add`.
    RbtreeAdd,
    /// `bpf_iter_num_next`.
    NumNext,
    /// None: an instruction whose relocation failed.
    Poison,
}

/// One instruction. Targets index the same function's operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Alu {
        wide: bool,
        op: Alu,
        dst: u8,
        src: Operand,
    },
    /// A constant.
    Const {
        dst: u8,
        value: u64,
    },
    /// `addr_space_cast` to the address for loads and stores.
    CastToKernel {
        dst: u8,
        src: u8,
    },
    /// `addr_space_cast` to the user-space address, with this high half.
    CastToUser {
        dst: u8,
        src: u8,
        high: u64,
    },
    /// An address that differs from one `Vm` to the next, from the table of addresses.
    Address {
        dst: u8,
        slot: u32,
    },
    Load {
        dst: u8,
        base: u8,
        off: i32,
        size: Size,
        signed: bool,
    },
    Store {
        base: u8,
        off: i32,
        size: Size,
        src: Operand,
    },
    Atomic {
        base: u8,
        off: i32,
        size: Size,
        op: Atomic,
        src: u8,
        fetch: bool,
    },
    Jump {
        target: u32,
        site: u32,
    },
    Branch {
        wide: bool,
        cond: Cond,
        a: u8,
        b: Operand,
        target: u32,
        site: u32,
    },
    /// Jumps when the callback has used up its loops.
    MayGoto {
        target: u32,
        site: u32,
    },
    Call {
        callee: Callee,
        site: u32,
    },
    Exit,
    /// The second slot of `ld_imm64`; it is never executed.
    Hole,
}

impl Op {
    /// Returns whether control never continues to the next operation.
    pub(crate) const fn ends(self) -> bool {
        matches!(self, Self::Jump { .. } | Self::Exit)
    }

    /// Where it may jump to.
    pub(crate) const fn target(self) -> Option<u32> {
        match self {
            Self::Jump { target, .. } | Self::Branch { target, .. } | Self::MayGoto { target, .. } => {
                Some(target)
            }
            _ => None,
        }
    }
}

/// The site of forward jumps, which need none.
pub(crate) const NO_SITE: u32 = u32::MAX;
/// Bytes of a BPF function's stack frame.
pub(crate) const FRAME_BYTES: u64 = 512;
/// How many frames a callback may nest.
pub(crate) const MAX_FRAMES: u64 = 8;

/// For each operation, whether a jump leads to it.
pub(crate) fn jump_targets(ops: &[Op]) -> Vec<bool> {
    let mut is_target = vec![false; ops.len()];
    ops.iter().filter_map(|op| op.target()).for_each(|target| is_target[target as usize] = true);
    is_target
}

/// Returns whether this is an access to the function's own frame, which needs no check and costs no transfer.
pub(crate) fn in_frame(base: u8, off: i32, size: Size) -> bool {
    base == 10 && off >= -(FRAME_BYTES as i32) && off + size.bytes() as i32 <= 0
}
