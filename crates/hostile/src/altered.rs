//! Alters objects of the project. An input is an object's number and a list of changes to it.
//!
//! Random bytes would be rejected where the ELF header is read. So the fuzzer shortens, joins and flips changes of
//! eight bytes each: the place (a part of the file, and an offset in it), the kind, and a number.

use crate::bases::{Base, OBJECTS};

/// Further changes are ignored, because they take longer and show little more.
const MOST_CHANGES: usize = 24;
/// The number of bytes before the first change.
const HEAD: usize = 3;

/// The operations of ALU and JMP instructions, and their classes: with a constant and with a register, in both widths.
const ALU: std::ops::Range<u8> = 0..0xe;
const ALU_CLASSES: [u8; 4] = [0x04, 0x0c, 0x07, 0x0f];
const JMP: std::ops::Range<u8> = 0..0xf;
const JMP_CLASSES: [u8; 4] = [0x05, 0x0d, 0x06, 0x0e];
/// `ld_imm64`, loads, sign-extending loads, stores of constants and of registers, atomics.
const MEMORY: [u8; 18] = [
    0x18, 0x61, 0x69, 0x71, 0x79, 0x81, 0x89, 0x91, 0x62, 0x6a, 0x72, 0x7a, 0x63, 0x6b, 0x73, 0x7b, 0xc3,
    0xdb,
];

/// Numbers at the limits of widths, shifts and offsets, and special cases of helpers.
const EDGES: [i32; 24] = [
    0,
    1,
    -1,
    2,
    3,
    7,
    8,
    16,
    31,
    32,
    33,
    63,
    64,
    65,
    127,
    128,
    255,
    256,
    4095,
    4096,
    65535,
    65536,
    i32::MAX,
    i32::MIN,
];

/// What an input of `object` or `run` represents.
pub(crate) struct Altered {
    /// The object that was altered.
    pub(crate) base: Base,
    /// The altered object.
    pub(crate) bytes: Vec<u8>,
    /// A number for any further choice.
    pub(crate) choice: u8,
    /// The seed of the run.
    pub(crate) seed: u64,
}

/// A change.
#[derive(Clone, Copy)]
struct Change {
    part: u8,
    kind: u8,
    at: u16,
    value: i32,
}

/// A part of the file.
struct Part {
    at: usize,
    len: usize,
    is_code: bool,
}

impl Altered {
    /// Changes any bytes of the object. `None` if the input is too short to name one.
    pub(crate) fn anywhere(input: &[u8]) -> Option<Self> {
        Self::of(input, |_| true, change_bytes)
    }

    /// Changes only fields of instructions.
    pub(crate) fn in_code(input: &[u8]) -> Option<Self> {
        Self::of(
            input,
            |part| part.is_code && part.len >= 8,
            |bytes, part, change| change_code(bytes, part, change),
        )
    }

    fn of(input: &[u8], fits: fn(&Part) -> bool, apply: fn(&mut Vec<u8>, &Part, Change)) -> Option<Self> {
        let (head, changes) = input.split_at_checked(HEAD)?;
        let base = OBJECTS[usize::from(head[0]) % OBJECTS.len()];
        let mut bytes = base.bytes.to_vec();
        let mut parts = parts(base.bytes);
        parts.retain(fits);
        for change in changes.chunks_exact(8).take(MOST_CHANGES).map(Change::of) {
            let part = &parts[usize::from(change.part) % parts.len()];
            apply(&mut bytes, part, change);
        }
        Some(Self { base, bytes, choice: head[1], seed: head[2].into() })
    }
}

impl Change {
    fn of(bytes: &[u8]) -> Self {
        Self {
            part: bytes[0],
            kind: bytes[1],
            at: u16::from_le_bytes([bytes[2], bytes[3]]),
            value: i32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
        }
    }
}

/// Returns the header, the section table, and the contents of each section.
fn parts(elf: &[u8]) -> Vec<Part> {
    let number = |at: usize, len: usize| {
        elf[at..at + len].iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte))
    };
    let (table, count) = (number(0x28, 8), number(0x3c, 2));
    let mut parts =
        vec![Part { at: 0, len: 64, is_code: false }, Part { at: table, len: 64 * count, is_code: false }];
    for section in (0..count).map(|i| table + 64 * i) {
        /// `SHT_NULL` and `SHT_NOBITS`: no data in the file.
        const EMPTY: [usize; 2] = [0, 8];
        /// `SHF_EXECINSTR`.
        const CODE: usize = 4;
        let len = number(section + 0x20, 8);
        if !EMPTY.contains(&number(section + 4, 4)) && len > 0 {
            let is_code = number(section + 8, 8) & CODE != 0;
            parts.push(Part { at: number(section + 0x18, 8), len, is_code });
        }
    }
    parts
}

fn change_bytes(bytes: &mut Vec<u8>, part: &Part, change: Change) {
    let width = [1, 2, 4, 8][usize::from(change.kind >> 4 & 3)];
    let places = (part.len / width).max(1);
    let at = part.at + usize::from(change.at) % places * width;
    let end = (at + width).min(bytes.len());
    let Some(field) = bytes.get_mut(at..end) else { return };
    let before = field.iter().rev().fold(0, |number: u64, &byte| number << 8 | u64::from(byte));
    let value = i64::from(change.value);
    let after = match change.kind & 0xf {
        0..4 => value as u64,
        4..7 => before.wrapping_add_signed(i64::from(change.value as i8)),
        7..9 => before ^ 1 << (value & 63),
        9..11 => i64::from(edge(change.value)) as u64,
        11 => before.wrapping_add_signed(value),
        12 => before << (value & 7),
        13 => !before,
        // Copies from elsewhere in the part.
        14 => {
            let from = part.at + change.value as u32 as usize % places * width;
            let other = bytes.get(from..from + (end - at)).unwrap_or_default().to_vec();
            bytes[at..at + other.len()].copy_from_slice(&other);
            return;
        }
        _ => return bytes.truncate(at),
    };
    let len = field.len();
    field.copy_from_slice(&after.to_le_bytes()[..len]);
}

fn change_code(bytes: &mut [u8], part: &Part, change: Change) {
    let count = part.len / 8;
    let place = |n: usize| part.at + n % count * 8;
    let at = place(usize::from(change.at));
    let value = change.value;
    let register = (value.unsigned_abs() % 11) as u8;
    match change.kind % 16 {
        0 | 1 => bytes[at] = opcode(value.unsigned_abs()),
        2 => bytes[at] = value as u8,
        3 | 4 => bytes[at + 1] = bytes[at + 1] & 0xf0 | register,
        5 | 6 => bytes[at + 1] = bytes[at + 1] & 0x0f | register << 4,
        7 => bytes[at + 2..at + 4].copy_from_slice(&(value as i16).to_le_bytes()),
        8 | 9 => bytes[at + 2..at + 4].copy_from_slice(&((value % 9) as i16).to_le_bytes()),
        10 => bytes[at + 4..at + 8].copy_from_slice(&value.to_le_bytes()),
        11 => bytes[at + 4..at + 8].copy_from_slice(&edge(value).to_le_bytes()),
        12 => bytes.copy_within(place(value as u32 as usize)..place(value as u32 as usize) + 8, at),
        13 => {
            let other = place(value as u32 as usize);
            (0..8).for_each(|byte| bytes.swap(at + byte, other + byte));
        }
        // Creates a jump to the next instruction.
        14 => bytes[at..at + 8].copy_from_slice(&[5, 0, 0, 0, 0, 0, 0, 0]),
        _ => {
            let whole = u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
            bytes[at..at + 8].copy_from_slice(&(whole ^ 1 << (value & 63)).to_le_bytes());
        }
    }
}

/// Returns an opcode of the instruction set. Other kinds of change create opcodes outside its tables.
fn opcode(value: u32) -> u8 {
    let of = |ops: &std::ops::Range<u8>, classes: &[u8; 4]| {
        let rest = value >> 2;
        (((rest >> 2) as u8 % ops.end) << 4) | classes[(rest & 3) as usize]
    };
    match value & 3 {
        0 => of(&JMP, &JMP_CLASSES),
        1 => MEMORY[(value >> 2) as usize % MEMORY.len()],
        _ => of(&ALU, &ALU_CLASSES),
    }
}

fn edge(value: i32) -> i32 {
    EDGES[value.unsigned_abs() as usize % EDGES.len()]
}
