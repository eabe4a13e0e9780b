//! What a script is compiled to: operations of a small stack machine.

use super::layout::Layout;

/// A system call on a map. Its arguments and results are in the map's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Takes an element out: the next of a queue, stack or ring buffer; of other maps the one whose key the record has.
    Take,
    /// Puts the record into the map.
    Put,
    /// Reads the element whose key the record has; of a queue or stack, the next one, which stays.
    Get,
    /// Deletes the element whose key the record has.
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

/// Two numbers to one. Overflow wraps; by 0 nothing is divided, and 0 comes out, as of BPF.
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

/// One operation. Numbers are places in the program's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Push(i64),
    Drop,
    /// Once more what is on top.
    Again,
    Load(usize),
    Store(usize),
    /// A key to the table's value; 0 where it has none.
    Element(usize),
    /// A key, and a value that the table has for it from now on.
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
    /// 1 for 0, else 0.
    Not,
    Jump(usize),
    JumpIfZero(usize),
    /// 1 where the call did something, else 0.
    Call(Call, usize),
    /// A rank and a value, into a list: behind what has the same rank.
    Insert(usize),
    /// Before it.
    InsertBefore(usize),
    /// The value of the least rank; 0 where the list is empty.
    First(usize),
    /// The least rank; 0 where the list is empty.
    Rank(usize),
    /// Takes the first value out.
    Remove(usize),
    /// How many values a list has.
    Count(usize),
    /// The clock, in nanoseconds.
    Now,
    /// A text, with as many numbers as it has gaps.
    Print {
        text: usize,
        numbers: usize,
    },
}

impl Op {
    /// Returns how many plain operations it is worth: a search in a sorted structure is some more than one.
    pub(crate) const fn price(self) -> u64 {
        match self {
            Self::Element(_) | Self::SetElement(_) | Self::Insert(_) | Self::InsertBefore(_) => 20,
            Self::Remove(_) => 20,
            _ => 1,
        }
    }
}

/// A script, compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    pub(crate) ops: Vec<Op>,
    /// The maps that it talks to, and what goes through them.
    pub maps: Vec<Layout>,
    /// Which calls it makes, on which map, by its place in `maps`; each once.
    pub calls: Vec<(Call, usize)>,
    /// The object's global variables that it reads or writes.
    pub variables: Vec<String>,
    pub(crate) texts: Vec<String>,
    /// Values of its own variables to begin with.
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
