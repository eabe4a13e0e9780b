//! How a loaded object is executed, and on what machine.

use crate::code::Code;
use crate::context::Tables;
use crate::error::LoadError;
use crate::known::Known;
use crate::memory::LineForm;
use keel_abi::lines::Transfers;
use std::ptr;

/// How code is executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Native code: by the emitter if it supports this host, otherwise by Cranelift.
    #[default]
    Native,
    /// Native code by Cranelift.
    Cranelift,
    /// The interpreter.
    Interpreted,
}

impl Mode {
    /// The native code for a machine with these lines, with the price that [`Code::native`] wants; none for the
    /// interpreter.
    pub(crate) fn tables(
        self,
        code: &Code,
        lines: LineForm,
        num_next_ps: Option<u64>,
    ) -> Result<Tables, LoadError> {
        match self {
            Self::Native => code.native(lines, false, num_next_ps),
            Self::Cranelift => code.native(lines, true, num_next_ps),
            Self::Interpreted => Ok(Tables { native: ptr::null(), starts: ptr::null() }),
        }
    }
}

/// How a [`Vm`] runs.
#[derive(Clone, Debug)]
pub struct VmConfig {
    /// Native code, or the interpreter.
    pub mode: Mode,
    /// Keep a profile; interpreter only.
    pub profiled: bool,
    /// Stop at accesses outside live objects instead of reading 0; interpreter only.
    pub checked: bool,
    /// Record the directions of conditional jumps ([`Vm::branches`]); interpreter only.
    pub covered: bool,
    /// Detect data races ([`Vm::races`]); interpreter only, and not with a profile.
    pub races: bool,
    /// The most instructions that one callback may execute.
    pub max_insns: u64,
    /// The costs of moving cache lines between CPUs.
    pub transfers: Transfers,
    /// CPUs of the machine.
    pub cpus: u32,
    /// How many maps may be added later ([`Vm::extend`], [`Vm::replace`]).
    pub spare_maps: u32,
    /// The charge for a call of `bpf_iter_num_next` in picoseconds, as a stall; without it the host handles the call
    /// like any other.
    pub num_next_ps: Option<u64>,
    /// The same for each function that emitted code may handle, in the order of [`Known::ALL`]; without it the host
    /// handles them all.
    pub known_ps: Option<[u64; Known::ALL.len()]>,
}

impl VmConfig {
    /// Native code on a machine with this many CPUs, with the usual limit of instructions.
    pub fn new(cpus: u32, transfers: Transfers) -> Self {
        Self {
            mode: Mode::Native,
            profiled: false,
            checked: false,
            covered: false,
            races: false,
            max_insns: 1 << 26,
            transfers,
            cpus,
            spare_maps: 0,
            num_next_ps: None,
            known_ps: None,
        }
    }
}
