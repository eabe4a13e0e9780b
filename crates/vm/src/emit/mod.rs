//! Native code for x86-64 from our own emitter. Each BPF register is one processor register, as in the kernel's JIT, so
//! nothing is spilled and most instructions become one.
//!
//! It does what the interpreter does, operation for operation. Hosts with another processor, or without BMI1 and BMI2,
//! use Cranelift ([`crate::native`]), which this code is also tested against.
//!
//! - [`asm`]: instructions and labels; [`encode`]: the bytes of an instruction, by its form in [`forms`]; debug builds
//!   compare them with those of another encoder
//! - [`registers`]: which value is in which register
//! - [`live`]: which registers are read later
//! - [`values`], [`held`] and [`early`]: which checks can be omitted, or made before a loop
//! - [`function`]: a function, operation by operation; [`alu`], [`divide`], [`branch`], [`access`], [`atomic`],
//!   [`calls`], [`known`] (with [`carried`]) and [`iterators`] are the operations, and [`pairs`] pairs of them,
//!   and [`elements`] addresses that several of them compute
//! - [`order`]: the order of the code; [`repeats`]: which branches need none; [`count`]: counting instructions
//! - [`rounds`]: registers that a loop's rounds hand over; [`together`]: charging for rounds together; [`zeros`]:
//!   registers that calls clobber
//! - [`moves`]: moving a cache line
//! - [`exits`]: leaving the rest of a function to the interpreter
//! - [`entry`]: the entries from Rust
//! - [`stubs`]: calls to Rust that preserve all registers
//! - [`buffer`]: executable memory
//!
//! As in [`crate::native`], faults never return. The context counts instructions, once per block.
#![allow(unsafe_code)]

mod access;
mod alu;
mod asm;
mod atomic;
mod branch;
mod buffer;
mod calls;
mod carried;
mod count;
mod divide;
mod early;
mod elements;
mod encode;
mod entry;
mod exits;
mod forms;
mod function;
mod held;
mod iterators;
mod known;
mod live;
mod moves;
#[cfg(debug_assertions)]
mod oracle;
mod order;
mod pairs;
mod registers;
mod repeats;
mod rounds;
mod stubs;
#[cfg(test)]
mod tests;
mod together;
mod values;
mod zeros;

use crate::code::op::{Callee, NO_SITE, Op};
use crate::code::{Address, Code, Needed};
use crate::context::{FIRST_ADDRESSES, NativeFn, StartFn, Tables};
use crate::error::LoadError;
use crate::memory::LineForm;
use asm::{Asm, Label};
use buffer::Buffer;
use function::{Emitter, Target};
use keel_abi::bpf::{Frequent, arguments};
use live::Set;
use moves::Movers;

/// An object's native code.
pub(crate) struct Emitted {
    table: Box<[NativeFn]>,
    starts: Box<[StartFn]>,
    _buffer: Buffer,
}

/// Who charges for a loop's next number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// The host, which handles all calls.
    ByHost,
    /// Emitted code, at the price in the context.
    Priced,
    /// Emitted code, at this price.
    At(i32),
}

impl Numbers {
    /// Its place in [`Code`]'s table.
    pub(crate) const fn index(self) -> usize {
        match self {
            Self::ByHost => 0,
            Self::Priced => 1,
            Self::At(_) => 2,
        }
    }
}

/// Returns whether the host supports all emitted instructions.
pub(crate) fn is_possible() -> bool {
    std::arch::is_x86_feature_detected!("bmi1") && std::arch::is_x86_feature_detected!("bmi2")
}

impl Emitted {
    /// Translates every function, for a machine with these lines.
    ///
    /// # Errors
    /// Fails if the host provides no memory for code.
    pub(crate) fn translate(code: &Code, lines: LineForm, numbers: Numbers) -> Result<Self, LoadError> {
        let (asm, entries, starts) = assembled(code, lines, numbers);
        let buffer = Buffer::new(asm.len(), &stubs::addresses()).map_err(LoadError::NoNative)?;
        let bytes = asm.encode(buffer.code_at(), buffer.table_at());
        let address = |&label: &Label| buffer.address(bytes.offset(label));
        let (table, starts) = (entries.iter().map(address), starts.iter().map(address));
        // SAFETY: each entry is code with just this signature and calling convention, and its memory lives as long as
        // `self`.
        let table = table.map(|at| unsafe { std::mem::transmute::<*const u8, NativeFn>(at) }).collect();
        // SAFETY: an address of code; nobody calls it as a C function.
        let starts = starts.map(|at| unsafe { std::mem::transmute::<*const u8, StartFn>(at) }).collect();
        Ok(Self { table, starts, _buffer: buffer.filled(bytes.code()).map_err(LoadError::NoNative)? })
    }

    /// The code of each function.
    pub(crate) fn tables(&self) -> Tables {
        Tables { native: self.table.as_ptr(), starts: self.starts.as_ptr() }
    }
}

/// All functions, with the entry from Rust of each, and where each begins as a callback.
fn assembled(code: &Code, lines: LineForm, numbers: Numbers) -> (Asm, Vec<Label>, Vec<Label>) {
    let mut asm = Asm::for_ops(code.ops());
    let inner: Vec<Label> = code.functions.iter().map(|_| asm.label()).collect();
    let has_arena = code.user_half.is_some();
    let of_all = code.functions.iter().zip(&code.takes_context);
    let mut globals = Globals {
        code,
        numbers,
        taken: vec![live::ARGUMENTS; code.functions.len()],
        imports: code.imports.iter().map(|(import, _)| read_by(import)).collect(),
        first_slots: first_slots(code),
        leaves: of_all.map(|(function, is_callback)| !is_callback && is_leaf(&function.ops)).collect(),
    };
    // Compilers mostly place a function behind those that call it. No function calls a callback.
    for (number, function) in code.functions.iter().enumerate().rev().filter(|&(n, _)| !code.takes_context[n])
    {
        globals.taken[number] &=
            live::before(&function.ops, &live::reads(&function.ops, &globals)).first().copied().unwrap_or(0);
    }
    let movers = Movers::emit(&mut asm, lines, has_arena);
    let has_may_goto = code.has(|op| matches!(op, Op::MayGoto { .. }));
    let mut starts = Vec::with_capacity(inner.len());
    for (number, (function, &label)) in code.functions.iter().zip(&inner).enumerate() {
        let is_callback = code.takes_context[number];
        let carried_at = carried::at_targets(&function.ops);
        let served = carried::served(&function.ops, numbers != Numbers::ByHost, &carried_at);
        let target = Target {
            lines,
            has_arena,
            has_may_goto,
            movers,
            data: &globals,
            served: &served,
            is_callback,
            is_leaf: globals.leaves[number],
            is_deepest: code.is_deepest[number],
        };
        starts.push(Emitter::new(&mut asm, &inner, &function.ops, target, carried_at).function(label));
    }
    let of_all = inner.iter().zip(&code.takes_context);
    let entries = of_all.map(|(&label, &is_callback)| entry::emit(&mut asm, label, is_callback)).collect();
    (asm, entries, starts)
}

/// An object's global data.
struct Globals<'a> {
    code: &'a Code,
    numbers: Numbers,
    /// For each function, the arguments that it reads.
    taken: Vec<Set>,
    /// The same for each function of the kernel.
    imports: Vec<Set>,
    /// As [`values::Data::is_leaf`].
    leaves: Vec<bool>,
    /// For each map, as [`values::Data::slot_in`].
    first_slots: Vec<Option<(u32, u64)>>,
}

/// For each map, the first slot with an address in it, and the offset, among those that the context has.
fn first_slots(code: &Code) -> Vec<Option<(u32, u64)>> {
    let mut slots = vec![None; code.data_bytes.len()];
    for (slot, (address, _)) in (0..).zip(code.addresses.iter().take(FIRST_ADDRESSES)) {
        if let Address::MapValue(map, offset) = *address
            && let Some(first) = slots.get_mut(map as usize)
        {
            first.get_or_insert((slot, offset.into()));
        }
    }
    slots
}

/// Returns whether a function neither calls anything nor looks at its fuel, nor has a frame.
fn is_leaf(ops: &[Op]) -> bool {
    let uses_frame = |op: Op| {
        let (read, written) = live::uses(op);
        live::has(read | written, 10)
    };
    let is_plain = |op: Op| match op {
        Op::Call { .. } | Op::MayGoto { .. } | Op::Atomic { .. } => false,
        Op::Jump { site, .. } | Op::Branch { site, .. } => site == NO_SITE,
        _ => true,
    };
    ops.iter().all(|&op| is_plain(op) && !uses_frame(op))
}

/// The arguments that a function of the kernel reads, or all.
fn read_by(import: &Needed) -> Set {
    let count = match import {
        Needed::Helper(number) => {
            let frequent = Frequent::helper(*number).map(Frequent::args);
            frequent.or_else(|| arguments::of_helper(*number))
        }
        Needed::Kfunc(name) => {
            Frequent::kfunc(name).map(Frequent::args).or_else(|| arguments::of_kfunc(name))
        }
    };
    count.map_or(live::ARGUMENTS, live::arguments)
}

impl values::Data for Globals<'_> {
    fn bytes(&self, map: u32) -> Option<u64> {
        *self.code.data_bytes.get(map as usize)?
    }

    fn is_leaf(&self, function: u32) -> bool {
        self.leaves.get(function as usize).copied().unwrap_or(false)
    }

    fn is_read_only(&self, map: u32) -> bool {
        self.code.read_only.get(map as usize).copied().unwrap_or(false)
    }

    fn address(&self, slot: u32) -> Option<(u32, u64)> {
        match self.code.addresses.get(slot as usize)?.0 {
            Address::MapValue(map, offset) => Some((map, offset.into())),
            Address::Map(_) | Address::Ksym(_) => None,
        }
    }

    fn slot_in(&self, map: u32) -> Option<(u32, u64)> {
        self.first_slots.get(map as usize).copied().flatten()
    }

    fn counts(&self) -> bool {
        self.numbers != Numbers::ByHost
    }

    fn frequent(&self, site: u32) -> Option<Frequent> {
        let import = self.code.sites.get(site as usize)?.import;
        match &self.code.imports.get(import as usize)?.0 {
            Needed::Helper(number) => Frequent::helper(*number),
            Needed::Kfunc(name) => Frequent::kfunc(name),
        }
    }

    fn arguments(&self, callee: Callee, site: u32) -> Set {
        match callee {
            Callee::Known(known) => live::arguments(known.args()),
            Callee::Function(function) => self.taken[function as usize],
            Callee::Host => self.code.sites.get(site as usize).map_or(live::ARGUMENTS, |site| {
                self.imports.get(site.import as usize).copied().unwrap_or(live::ARGUMENTS)
            }),
            _ => live::ARGUMENTS,
        }
    }

    fn number_ps(&self) -> Option<i32> {
        match self.numbers {
            Numbers::At(price_ps) => Some(price_ps),
            Numbers::ByHost | Numbers::Priced => None,
        }
    }

    fn tasks(&self) -> Option<u32> {
        self.code.tasks
    }
}
