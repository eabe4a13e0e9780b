//! A loaded object: functions with relocated instructions, maps, struct_ops, variables.
//!
//! All references between parts are indices into the vectors of [`Object`]. In instructions they replace file
//! descriptors and BTF ids:
//!
//! | instruction | `src` | `imm` | second `imm` |
//! |---|---|---|---|
//! | `ld_imm64` | 0 | low half of a value | high half |
//! | `ld_imm64` | [`PSEUDO_MAP`] | index into `maps` | 0 |
//! | `ld_imm64` | [`PSEUDO_MAP_VALUE`] | index into `maps` | offset into its value, or into an arena's variables |
//! | `ld_imm64` | [`PSEUDO_KSYM`] | index into `ksyms` | 0 |
//! | `ld_imm64` | [`PSEUDO_FUNC`] | index into `functions` | 0 |
//! | `call` | 0 | helper number | |
//! | `call` | [`PSEUDO_CALL`] | index into `functions` | |
//! | `call` | [`PSEUDO_KFUNC`] | index into `kfuncs` | |
//!
//! A weak ksym or kfunc that the kernel lacks is a plain 0 in `ld_imm64` (so that `bpf_ksym_exists()` returns false),
//! and a call of it is poisoned.

use std::sync::Arc;

/// `ld_imm64` of a map.
pub const PSEUDO_MAP: u8 = 1;
/// `ld_imm64` of an address within a map's value.
pub const PSEUDO_MAP_VALUE: u8 = 2;
/// `ld_imm64` of a kernel variable or function.
pub const PSEUDO_KSYM: u8 = 3;
/// `ld_imm64` of a function of this object, for use as a callback.
pub const PSEUDO_FUNC: u8 = 4;
/// A call of a function of this object.
pub const PSEUDO_CALL: u8 = 1;
/// A call of a kfunc.
pub const PSEUDO_KFUNC: u8 = 2;
/// The helper number of a poisoned instruction (libbpf's own marker).
pub const POISON_HELPER: i32 = 0x0bad_2310;

/// One instruction slot, as the instruction set defines it; `ld_imm64` takes two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Insn {
    /// The opcode byte.
    pub code: u8,
    /// Destination register.
    pub dst: u8,
    /// Source register, or one of the `PSEUDO_` marks.
    pub src: u8,
    /// Signed offset.
    pub off: i16,
    /// Immediate.
    pub imm: i32,
}

/// The source line of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineInfo {
    /// The first instruction slot of the line.
    pub insn: u32,
    /// The file as the compiler saw it.
    pub file: Arc<str>,
    /// Line number, from 1.
    pub line: u32,
    /// The line's text, if the object contains it.
    pub text: Arc<str>,
}

/// An instruction whose relocation the kernel's types cannot satisfy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Poison {
    /// The instruction slot, which contains a call of [`POISON_HELPER`].
    pub insn: u32,
    /// What is missing: `struct task_struct has no field core_cookie`.
    pub missing: String,
}

/// A function: a program's entry or a subprogram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its instructions. Jumps stay within the function.
    pub insns: Vec<Insn>,
    /// Source lines, in ascending order of instructions.
    pub lines: Arc<[LineInfo]>,
    /// Poisoned instructions, in ascending order.
    pub poison: Vec<Poison>,
}

/// A program that can be attached. Its section says where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Its ELF section, such as `struct_ops/simple_enqueue` or `syscall`.
    pub section: String,
    /// Its function.
    pub function: u32,
    /// Whether it may sleep (`struct_ops.s/`).
    pub sleepable: bool,
}

/// A map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapDef {
    /// Its name; for global data, the section's name, such as `.rodata`.
    pub name: String,
    /// `BPF_MAP_TYPE_*`.
    pub kind: u32,
    /// The size of a key, in bytes.
    pub key_size: u32,
    /// The size of a value, in bytes.
    pub value_size: u32,
    /// The maximum number of entries.
    pub max_entries: u32,
    /// `BPF_F_*`.
    pub flags: u32,
    /// `map_extra`: for an arena, the user-space address of its first page, or 0.
    pub extra: u64,
    /// The template of the inner maps: an index into `maps`.
    pub inner: Option<u32>,
    /// The maps that a map of maps initially contains: the entry, and an index into `maps`.
    pub values: Vec<(u32, u32)>,
    /// The initial bytes: for global data the first value, for an arena its global variables. Otherwise empty.
    pub initial: Vec<u8>,
    /// Whether these are known to be zero (`.bss`), so that they needn't be checked.
    pub is_zero: bool,
    /// Whether programs must not write to it (`.rodata`, `.kconfig`).
    pub read_only: bool,
    /// Whether its value contains a `struct bpf_spin_lock`. Not determined for global data, which is never updated by
    /// key.
    pub has_lock: bool,
    /// The offsets in its value of pointers to kernel objects, which an update sets to null.
    pub kptrs: Vec<u32>,
    /// Whether a user-space program maps its pages, which then must contain nothing else.
    pub is_shared: bool,
}

/// A kfunc that the object calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kfunc {
    /// Its name in the kernel, without any `___suffix`.
    pub name: String,
    /// The symbol in the object.
    pub symbol: String,
}

/// A kernel variable or function whose address the object takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ksym {
    /// Its name in the kernel.
    pub name: String,
    /// Whether it is a function, of which only the existence matters; otherwise it is a variable.
    pub is_function: bool,
}

/// The types of schedulers. The second identifies CPUs by cid.
pub const SCHEDULERS: [&str; 2] = ["sched_ext_ops", "sched_ext_ops_cid"];

/// A `struct sched_ext_ops` that the object defines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StructOps {
    /// The variable's name in the object.
    pub variable: String,
    /// The kernel type's name, without any `___suffix`: usually one of [`SCHEDULERS`].
    pub type_name: String,
    /// Callbacks: the member's name, and an index into `programs`.
    pub callbacks: Vec<(String, u32)>,
    /// Members that are not callbacks and not zero: the name, and the bytes as laid out in the object.
    pub fields: Vec<(String, Vec<u8>)>,
    /// Whether it is in `.struct_ops.link`.
    pub link: bool,
}

impl StructOps {
    /// Returns whether it defines a scheduler, not another kind of struct_ops.
    pub fn is_scheduler(&self) -> bool {
        SCHEDULERS.contains(&self.type_name.as_str())
    }

    /// Returns whether it is a scheduler that identifies CPUs by cid.
    pub fn speaks_cids(&self) -> bool {
        self.type_name == SCHEDULERS[1]
    }

    /// Returns an integer member's value, or 0 if it is not set.
    pub fn integer(&self, member: &str) -> u64 {
        let bytes = self.fields.iter().find(|(name, _)| name == member).map(|(_, b)| b.as_slice());
        let mut word = [0; 8];
        if let Some(bytes) = bytes.filter(|b| b.len() <= 8) {
            word[..bytes.len()].copy_from_slice(bytes);
        }
        u64::from_le_bytes(word)
    }

    /// Returns the scheduler's name (`.name`) up to its first NUL, with anything that isn't UTF-8 replaced.
    pub fn name(&self) -> String {
        let bytes = self.fields.iter().find(|(name, _)| name == "name").map_or(&[][..], |(_, b)| b);
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }
}

/// A global variable, for `--set NAME=VALUE` and for reading counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The map that it is in: an index into `maps`.
    pub map: u32,
    /// The offset in the map's value.
    pub offset: u32,
    /// The size in bytes.
    pub size: u32,
    /// The number of elements of an array of any type; 1 for all other variables.
    pub len: u32,
    /// Whether it is signed; `None` if it is not an integer, boolean or enum.
    pub signed: Option<bool>,
    /// Whether it is a boolean, which can only be 0 or 1.
    pub boolean: bool,
    /// The elements of an array of integers, booleans or enums; `None` for all other variables.
    pub elements: Option<Elements>,
    /// The words of an enum, with their values; empty for all other variables.
    pub words: Vec<Word>,
}

/// A value of an enum, as people write it: in an enum of `BUG_TOO_MANY` and `BUG_LATE`, the first is
/// `too-many`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word: in lower case, with `-` for `_`, without the prefix that the names of all values share.
    pub word: String,
    /// The full name, as in the object.
    pub name: String,
    /// The value, sign-extended if the enum is signed.
    pub value: u64,
}

/// The elements of an array of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elements {
    /// The size of an element, in bytes.
    pub size: u32,
    /// Whether they are signed.
    pub signed: bool,
    /// Whether they are booleans, which can only be 0 or 1.
    pub boolean: bool,
}

/// A compiled BPF object, relocated against one kernel's BTF.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object {
    /// The `license` section.
    pub license: String,
    /// Every function.
    pub functions: Vec<Function>,
    /// Every program.
    pub programs: Vec<Program>,
    /// All maps, including global data.
    pub maps: Vec<MapDef>,
    /// Every struct_ops variable.
    pub struct_ops: Vec<StructOps>,
    /// All kfuncs that are called, except in functions that are left out.
    pub kfuncs: Vec<Kfunc>,
    /// Every kernel symbol whose address is taken.
    pub ksyms: Vec<Ksym>,
    /// Every global variable that has a name in BTF.
    pub variables: Vec<Variable>,
    /// Its names for its DSQs, by id.
    pub queues: Vec<(u64, String)>,
    /// The types of its own that it allocates (`bpf_obj_new`): the number of each struct in its BTF, and its size in
    /// bytes.
    pub local_types: Vec<(u32, u32)>,
}
