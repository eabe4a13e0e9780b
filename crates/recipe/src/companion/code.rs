//! The operations that a script is compiled to, for a small stack machine.

use super::layout::Layout;

/// A system call on a map. Its arguments and results are in the map's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Removes an element and returns it: the next one of a queue, stack or ring buffer; in other maps, the one with
    /// the record's key.
    Take,
    /// Puts the record into the map.
    Put,
    /// Reads the element with the record's key; in a queue or stack, the next one, which stays.
    Get,
    /// Deletes the element with the record's key.
    Delete,
}

impl Call {
    /// Returns its name in scripts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Take => "take",
            Self::Put => "put",
            Self::Get => "get",
            Self::Delete => "delete",
        }
    }
}

/// Combines two numbers. Overflow wraps, and dividing by 0 gives 0, as in BPF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Two {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    And,
    Or,
    Left,
    Right,
    Equal,
    Differ,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Min,
    Max,
}

impl Two {
    pub(crate) fn of(self, a: i64, b: i64) -> i64 {
        match self {
            Self::Add => a.wrapping_add(b),
            Self::Sub => a.wrapping_sub(b),
            Self::Mul => a.wrapping_mul(b),
            Self::Div | Self::Rem if b == 0 => 0,
            Self::Div => a.wrapping_div(b),
            Self::Rem => a.wrapping_rem(b),
            Self::And => a & b,
            Self::Or => a | b,
            Self::Left => a.wrapping_shl(b as u32),
            Self::Right => a.wrapping_shr(b as u32),
            Self::Equal => (a == b).into(),
            Self::Differ => (a != b).into(),
            Self::Less => (a < b).into(),
            Self::LessOrEqual => (a <= b).into(),
            Self::Greater => (a > b).into(),
            Self::GreaterOrEqual => (a >= b).into(),
            Self::Min => a.min(b),
            Self::Max => a.max(b),
        }
    }
}

/// An operation. Numbers are indices into the program's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Push(i64),
    Drop,
    /// Duplicates the top of the stack.
    Again,
    Load(usize),
    Store(usize),
    /// Replaces a key by the table's value for it, or 0 if there is none.
    Element(usize),
    /// Takes a key and its new value in the table.
    SetElement(usize),
    Field {
        map: usize,
        field: usize,
    },
    SetField {
        map: usize,
        field: usize,
    },
    /// A global variable of the object.
    Variable(usize),
    SetVariable(usize),
    Two(Two),
    /// 1 for 0, otherwise 0.
    Not,
    Jump(usize),
    JumpIfZero(usize),
    /// 1 if the call had an effect, otherwise 0.
    Call(Call, usize),
    /// Inserts a rank and a value into a list, after values of equal rank.
    Insert(usize),
    /// The same, but before values of equal rank.
    InsertBefore(usize),
    /// The value with the lowest rank; 0 if the list is empty.
    First(usize),
    /// The lowest rank; 0 if the list is empty.
    Rank(usize),
    /// Removes the first value.
    Remove(usize),
    /// The number of values in a list.
    Count(usize),
    /// The clock, in nanoseconds.
    Now,
    /// Prints a text with as many numbers as it has gaps.
    Print {
        text: usize,
        numbers: usize,
    },
}

impl Op {
    /// Returns its cost in plain operations. A search in a sorted structure costs more than one.
    pub(crate) const fn price(self) -> u64 {
        match self {
            Self::Element(_) | Self::SetElement(_) | Self::Insert(_) | Self::InsertBefore(_) => 20,
            Self::Remove(_) => 20,
            _ => 1,
        }
    }
}

/// A compiled script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    pub(crate) ops: Vec<Op>,
    /// The maps that it uses, and the layout of their data.
    pub maps: Vec<Layout>,
    /// The calls that it makes, each once, with the index of their map in `maps`.
    pub calls: Vec<(Call, usize)>,
    /// The object's global variables that it reads or writes.
    pub variables: Vec<String>,
    pub(crate) texts: Vec<String>,
    /// The initial values of its own variables.
    pub(crate) own: Vec<i64>,
    pub(crate) tables: usize,
    pub(crate) lists: usize,
}

impl Program {
    /// Returns whether it sets the global variable with this index in `variables`.
    pub fn sets(&self, variable: usize) -> bool {
        self.ops.contains(&Op::SetVariable(variable))
    }
}
