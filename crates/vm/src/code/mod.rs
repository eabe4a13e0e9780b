//! An object's code, checked once and shared by every `Vm` that runs it.
//!
//! Nothing here depends on one simulation: addresses that may differ between simulations come from a table in the `Vm`;
//! imports are numbered here and resolved there.

mod decode;
mod depth;
pub(crate) mod op;
mod tables;

use crate::context::Tables;
#[cfg(target_arch = "x86_64")]
use crate::emit::{self, Emitted, Numbers};
use crate::error::LoadError;
use crate::maps::{is_one_array, user_half};
use crate::memory::LineForm;
use crate::native::Native;
use keel_abi::bpf::{CallPlace, Fault, FaultKind};
use keel_abi::lines::{LEAST_LINE_BYTES, LINE_SIZES};
use keel_object::model::{LineInfo, MapDef, Object, Poison};
use op::{Callee, Op};
use std::sync::{Arc, OnceLock};
pub(crate) use tables::NO_IMPORT;

/// `bpf_for_each_map_elem`, which the engine executes.
pub(crate) const HELPER_FOR_EACH: i32 = 164;
/// `bpf_loop`, which the engine executes.
pub(crate) const HELPER_LOOP: i32 = 181;
/// `bpf_user_ringbuf_drain`, which the engine executes.
pub(crate) const HELPER_DRAIN: i32 = 209;
/// `bpf_rbtree_add`, which the engine executes.
pub(crate) const KFUNC_RBTREE_ADD: &str = "bpf_rbtree_add_impl";
/// `bpf_iter_num_next`, which the engine executes if it knows the price.
pub(crate) const KFUNC_NUM_NEXT: &str = "bpf_iter_num_next";
/// The most instructions that an object may have, over all functions (the kernel's limit for a program).
pub const MAX_INSNS: usize = 1_000_000;

/// The apparent address of functions: outside the region, where the kernel has its modules.
const FUNCTIONS_AT: u64 = 0xffff_ffff_a000_0000;
const FUNCTION_STRIDE: u64 = 16;
/// The apparent address of kernel functions whose address is taken; the program can't use it for anything.
const KERNEL_FUNCTIONS_AT: u64 = 0xffff_ffff_8100_0000;

/// The number of the function that has an address, if there is one.
fn function_number(address: u64) -> Option<u32> {
    let off = address.checked_sub(FUNCTIONS_AT)?;
    let number = u32::try_from(off / FUNCTION_STRIDE).ok()?;
    (off % FUNCTION_STRIDE == 0).then_some(number)
}

/// The address of function number `index`, as programs see it.
pub(crate) const fn function_address(index: u32) -> u64 {
    FUNCTIONS_AT + FUNCTION_STRIDE * index as u64
}

/// The address of the kernel function with number `index` in the object's list, as programs see it.
pub(crate) const fn kernel_function_address(index: u32) -> u64 {
    KERNEL_FUNCTIONS_AT + FUNCTION_STRIDE * index as u64
}

/// A helper or kfunc that the code calls.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Needed {
    Helper(i32),
    Kfunc(String),
}

/// An address that the code takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Address {
    Map(u32),
    MapValue(u32, u32),
    Ksym(u32),
}

/// A place that may call out or fault.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) function: u32,
    pub(crate) insn: u32,
    pub(crate) import: u32,
}

/// One function.
pub(crate) struct Func {
    pub(crate) name: String,
    pub(crate) ops: Vec<Op>,
    /// The number of operations in earlier functions: its part of the coverage begins there.
    pub(crate) first_op: u32,
    lines: Arc<[LineInfo]>,
    poison: Vec<Poison>,
}

impl Func {
    /// Its source lines, by ascending instruction.
    pub(crate) fn lines(&self) -> &[LineInfo] {
        &self.lines
    }
}

/// An object's code, checked, and translated to native code on first use.
pub struct Code {
    pub(crate) functions: Vec<Func>,
    /// Per program, its function.
    pub(crate) entries: Vec<u32>,
    /// For each function, whether emitted code expects that it only begins as a callback, with R1 the address of the
    /// callback's context, which is R10. If something else is in R1, it is interpreted.
    pub(crate) takes_context: Vec<bool>,
    /// For each function, whether it may run in the deepest frame.
    pub(crate) is_deepest: Vec<bool>,
    /// For each function, whether code has its address. Emitted code expects that helpers call no other.
    is_passed: Vec<bool>,
    pub(crate) imports: Vec<(Needed, u32)>,
    pub(crate) addresses: Vec<(Address, u32)>,
    pub(crate) sites: Vec<Site>,
    /// The high half of user addresses, which `addr_space_cast` sets, if there is an arena.
    pub(crate) user_half: Option<u64>,
    /// Maps and kernel symbols of the object, which the addresses refer to.
    pub(crate) shape: (usize, usize),
    /// The size of each map's global data, if it has any: the code may depend on it.
    pub(crate) data_bytes: Vec<Option<u64>>,
    /// Whether programs only read each map's data: the code may depend on it.
    pub(crate) read_only: Vec<bool>,
    /// The map that holds tasks' structures.
    pub(crate) tasks: Option<u32>,
    /// By the machine's form of cache lines.
    native: PerLines<Native>,
    #[cfg(target_arch = "x86_64")]
    emitted: [PerLines<Emitted>; 3],
    /// What a loop's next number costs the first simulation that knows it. Most have the same price, so its code has
    /// that as a constant.
    #[cfg(target_arch = "x86_64")]
    usual_num_next_ps: OnceLock<u64>,
}

/// Native code, by whether lines are grouped and whether they are crowded, and by their size.
type PerLines<T> = [[OnceLock<Result<T, LoadError>>; LINE_SIZES]; 4];

/// The size of a map of global data that begins at a line; `None` for other maps.
fn data_bytes(map: &MapDef) -> Option<u64> {
    is_one_array(map).then(|| u64::from(map.value_size))
}

/// The section of an array with an element for each task, like a kernel's task structures.
const TASKS_SECTION: &str = ".bss.tasks";

/// The map of that section, if an object contains it.
pub(crate) fn tasks_map(object: &Object) -> Option<u32> {
    object.maps.iter().position(|map| map.name == TASKS_SECTION).map(|map| map as u32)
}

/// The functions of callbacks that no other function calls.
fn takes_context(object: &Object, functions: &[Func]) -> Vec<bool> {
    let mut takes = vec![false; functions.len()];
    for program in object.programs.iter().filter(|program| program.section.starts_with("struct_ops")) {
        takes[program.function as usize] = true;
    }
    for op in functions.iter().flat_map(|function| &function.ops) {
        if let Op::Call { callee: Callee::Function(function), .. } = *op {
            takes[function as usize] = false;
        }
    }
    takes
}

/// No code yet.
fn untranslated<T>() -> PerLines<T> {
    std::array::from_fn(|_| std::array::from_fn(|_| OnceLock::new()))
}

impl Code {
    /// Checks the object's code; several simulations of one object can share the result.
    ///
    /// # Errors
    /// Fails at the first malformed or unsupported instruction.
    pub fn compile(object: &Object) -> Result<Arc<Self>, LoadError> {
        let insns: usize = object.functions.iter().map(|f| f.insns.len()).sum();
        if insns > MAX_INSNS {
            let why = format!("the object has {insns} instructions; {MAX_INSNS} is the limit");
            return Err(LoadError::BadObject(why));
        }
        let mut tables = tables::Tables::default();
        let mut functions = Vec::with_capacity(object.functions.len());
        let mut first_op = 0;
        for (index, f) in object.functions.iter().enumerate() {
            let ops = decode::function(object, index as u32, &mut tables)?;
            let (name, lines, poison) = (f.name.clone(), f.lines.clone(), f.poison.clone());
            let count = ops.len() as u32;
            functions.push(Func { name, ops, first_op, lines, poison });
            first_op += count;
        }
        let mut entries = Vec::with_capacity(object.programs.len());
        for p in &object.programs {
            if p.function as usize >= functions.len() {
                return Err(LoadError::BadObject(format!("program `{}` has no function", p.name)));
            }
            entries.push(p.function);
        }
        let tables::Tables { imports, addresses, sites, .. } = tables;
        let shape = (object.maps.len(), object.ksyms.len());
        let user_half = object.maps.iter().find_map(user_half);
        let depths = depth::Depths::of(&functions);
        Ok(Arc::new(Self {
            is_deepest: depths.is_deepest,
            is_passed: depths.is_passed,
            takes_context: takes_context(object, &functions),
            functions,
            entries,
            imports,
            addresses,
            sites,
            user_half,
            shape,
            data_bytes: object.maps.iter().map(data_bytes).collect(),
            read_only: object.maps.iter().map(|map| map.read_only).collect(),
            tasks: tasks_map(object),
            native: untranslated(),
            #[cfg(target_arch = "x86_64")]
            emitted: [untranslated(), untranslated(), untranslated()],
            #[cfg(target_arch = "x86_64")]
            usual_num_next_ps: OnceLock::new(),
        }))
    }

    /// Returns whether emitted code can run a function with these in R10 and R1.
    pub(crate) fn can_emitted_take(&self, function: u32, r10: u64, r1: u64) -> bool {
        r1 == r10 || !self.takes_context[function as usize]
    }

    /// Returns whether it has such an operation.
    pub(crate) fn has(&self, is_such: impl Fn(&Op) -> bool) -> bool {
        self.functions.iter().any(|function| function.ops.iter().any(&is_such))
    }

    /// How many operations its functions have.
    pub(crate) fn ops(&self) -> usize {
        self.functions.last().map_or(0, |f| f.first_op as usize + f.ops.len())
    }

    /// Returns whether it begins with everything that `other` has, with the same numbers.
    pub(crate) fn goes_on_from(&self, other: &Self) -> bool {
        let same_functions = self.functions.iter().zip(&other.functions).all(|(own, other)| {
            (&own.name, own.first_op, own.ops.len()) == (&other.name, other.first_op, other.ops.len())
        });
        let is_larger = self.functions.len() >= other.functions.len()
            && self.sites.len() >= other.sites.len()
            && self.shape.0 >= other.shape.0;
        is_larger
            && same_functions
            && self.user_half == other.user_half
            && self.tasks == other.tasks
            && self.entries.starts_with(&other.entries)
            && self.imports.starts_with(&other.imports)
            && self.addresses.starts_with(&other.addresses)
            && self.data_bytes.starts_with(&other.data_bytes)
            && self.read_only.starts_with(&other.read_only)
    }

    /// Returns whether an object has as much global data as the one that this was compiled from, its tasks' structures
    /// in the same map, and the same maps read-only.
    pub(crate) fn fits(&self, object: &Object) -> bool {
        let is_there = |(bytes, map): (&Option<u64>, &MapDef)| *bytes <= data_bytes(map);
        let is_alike = |(read_only, map): (&bool, &MapDef)| *read_only == map.read_only;
        self.tasks == tasks_map(object)
            && self.data_bytes.iter().zip(&object.maps).all(is_there)
            && self.read_only.iter().zip(&object.maps).all(is_alike)
    }

    /// Each function's native code for a machine with these lines, translated on the first call: by Cranelift if
    /// `by_cranelift` is set, or if there is nothing better for this host. `num_next_ps` is the price of a loop's next number
    /// if the engine has the prices of all functions that emitted code handles.
    pub(crate) fn native(
        &self,
        lines: LineForm,
        by_cranelift: bool,
        num_next_ps: Option<u64>,
    ) -> Result<Tables, LoadError> {
        let size = (lines.log2 - LEAST_LINE_BYTES.trailing_zeros()) as usize;
        let grouped = usize::from(lines.grouped) + 2 * usize::from(lines.crowded);
        #[cfg(target_arch = "x86_64")]
        if !by_cranelift && emit::is_possible() {
            let numbers = self.numbers(num_next_ps);
            let cached = &self.emitted[numbers.index()][grouped][size];
            let emitted = cached.get_or_init(|| Emitted::translate(self, lines, numbers));
            return emitted.as_ref().map(Emitted::tables).map_err(Clone::clone);
        }
        let _ = (by_cranelift, num_next_ps);
        let native = self.native[grouped][size].get_or_init(|| Native::translate(self, lines));
        native.as_ref().map(Native::tables).map_err(Clone::clone)
    }

    /// How emitted code charges for a loop's next number at this price.
    #[cfg(target_arch = "x86_64")]
    fn numbers(&self, num_next_ps: Option<u64>) -> Numbers {
        let Some(price_ps) = num_next_ps else { return Numbers::ByHost };
        let usual_ps = *self.usual_num_next_ps.get_or_init(|| price_ps);
        match i32::try_from(price_ps) {
            Ok(fixed_ps) if price_ps == usual_ps => Numbers::At(fixed_ps),
            _ => Numbers::Priced,
        }
    }

    /// The address of a program's function as programs see it, for [`Engine::start_function`].
    ///
    /// [`Engine::start_function`]: keel_abi::bpf::Engine::start_function
    pub fn entry_address(&self, entry: keel_abi::bpf::Entry) -> u64 {
        function_address(self.entries[entry.0 as usize])
    }

    /// The function that a program sees at `address`.
    pub(crate) fn function_at(&self, address: u64) -> Option<u32> {
        function_number(address).filter(|&number| (number as usize) < self.functions.len())
    }

    /// Returns whether emitted code expects that a helper may call a function.
    pub(crate) fn is_passed(&self, function: u32) -> bool {
        self.is_passed[function as usize]
    }

    /// Where a site is.
    pub(crate) fn place(&self, site: u32) -> Option<CallPlace> {
        let &Site { function, insn, .. } = self.sites.get(site as usize)?;
        Some(self.place_of(function, insn))
    }

    /// Where an instruction is.
    pub(crate) fn place_of(&self, function: u32, insn: u32) -> CallPlace {
        let program = self.functions[function as usize].name.clone();
        CallPlace { program, insn, source: self.source(function, insn) }
    }

    /// A fault at an instruction, reported with its source line.
    pub(crate) fn fault(&self, kind: FaultKind, function: u32, insn: u32) -> Fault {
        let CallPlace { program, insn, source } = self.place_of(function, insn);
        Fault { kind, program, insn, source }
    }

    /// `file:line: text` of an instruction, if the object contains it.
    fn source(&self, function: u32, insn: u32) -> Option<String> {
        let f = &self.functions[function as usize];
        match f.lines.partition_point(|l| l.insn <= insn) {
            0 => None,
            n => {
                let l = &f.lines[n - 1];
                Some(format!("{}:{}: {}", l.file, l.line, l.text.trim()))
            }
        }
    }

    /// What is missing for the poisoned instruction at a site.
    pub(crate) fn missing(&self, site: Site) -> String {
        let poison = &self.functions[site.function as usize].poison;
        match poison.iter().find(|p| p.insn == site.insn) {
            Some(p) => p.missing.clone(),
            None => "a relocation that the kernel's types cannot satisfy".into(),
        }
    }
}
