//! The actions of a recipe, independent of machine and file.

use crate::companion::Companion;
use keel_abi::Span;

/// Numbers as bytes of a variable, a key or a map's value: little-endian, as large as what they go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// One integer.
    One(i128),
    /// Integers one after another: an array's elements, or equal parts of a key or value.
    List(Vec<i128>),
}

/// One thing to do. Variables, members and sizes come before the object is loaded, maps and
/// programs before it is attached, the rest while it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Give a global variable its first value. A list may be shorter than the array: the rest stays.
    Set {
        /// The variable.
        variable: String,
        /// Its value.
        value: Value,
    },
    /// Give some bytes of a global variable their first value, whatever its type.
    SetPart {
        /// The variable.
        variable: String,
        /// Which bytes, from its first.
        at: u64,
        /// What they become.
        bytes: Vec<u8>,
    },
    /// Do not load this program, which is not a callback of the scheduler.
    LeaveOut {
        /// The program.
        program: String,
    },
    /// Attach the `struct sched_ext_ops` with this name; before anything is done to one. An object that defines
    /// several needs it.
    Choose {
        /// The variable.
        scheduler: String,
    },
    /// Call a dispatch queue by this name wherever it is shown.
    NameQueue {
        /// The queue's number.
        id: u64,
        /// Its name.
        name: String,
    },
    /// Add these bits to `.flags` of the `struct sched_ext_ops`.
    AddFlags(u64),
    /// Set an integer member of the `struct sched_ext_ops`.
    SetMember {
        /// The member.
        member: &'static str,
        /// Its value.
        value: u64,
    },
    /// Give a map room for this many elements.
    Resize {
        /// The map.
        map: String,
        /// `max_entries`.
        entries: u32,
    },
    /// Put an element into a map.
    Put {
        /// The map.
        map: String,
        /// Which element.
        key: Value,
        /// What it becomes.
        value: Value,
        /// Of a per-CPU map the CPU whose value it is; nothing for all.
        cpu: Option<u32>,
    },
    /// Fill a map of maps: elements 0, 1, 2... get a new map each, like the one that its definition shows.
    Nest {
        /// The map of maps.
        map: String,
        /// How many.
        maps: u32,
    },
    /// Load the object and attach it again, so long after the scheduler or the kernel has asked for that
    /// (`SCX_ECODE_ACT_RESTART`); a real loader takes the time that it takes.
    Restart {
        /// How long after.
        after: Span,
    },
    /// Run a `SEC("syscall")` program once, before attaching; it must return 0.
    Run {
        /// The program.
        program: String,
        /// Its context: 64 bits each.
        args: Vec<u64>,
    },
    /// Attach a program other than the scheduler's callbacks: a tracepoint, an fentry.
    Attach {
        /// The program.
        program: String,
    },
    /// Run a `SEC("syscall")` program repeatedly while the scheduler is attached.
    RunEvery {
        /// The program.
        program: String,
        /// Its context: 64 bits each.
        args: Vec<u64>,
        /// The time from one run to the next.
        every: Span,
    },
    /// Keep a companion beside the scheduler: a task or thread of its own.
    Accompany(Companion),
    /// Show this variable's change in statistics.
    Count {
        /// A counter of the scheduler.
        variable: String,
    },
}

impl Value {
    /// Returns its bytes for a place of `size` bytes: one integer fills it, a list of n fills n equal parts. `None` if
    /// they do not fit.
    pub fn bytes(&self, size: usize) -> Option<Vec<u8>> {
        match self {
            Self::One(number) => whole(*number, size),
            Self::List(numbers) => {
                let part = size.checked_div(numbers.len()).filter(|part| part * numbers.len() == size)?;
                let parts = numbers.iter().map(|&number| whole(number, part));
                Some(parts.collect::<Option<Vec<_>>>()?.concat())
            }
        }
    }
}

/// Returns an integer in 1, 2, 4 or 8 bytes, signed or not.
fn whole(number: i128, size: usize) -> Option<Vec<u8>> {
    let bits = matches!(size, 1 | 2 | 4 | 8).then_some(8 * size as u32)?;
    let fits = (-(1i128 << (bits - 1))..1i128 << bits).contains(&number);
    fits.then(|| number.to_le_bytes()[..size].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fill_what_they_go_to() {
        let check = |value: Value, size, expected: Option<&[u8]>| {
            assert_eq!(value.bytes(size).as_deref(), expected, "{value:?} in {size}");
        };
        check(Value::One(1), 4, Some(&[1, 0, 0, 0]));
        check(Value::One(-1), 2, Some(&[255, 255]));
        check(Value::One(255), 1, Some(&[255]));
        check(Value::One(256), 1, None);
        check(Value::One(1), 12, None);
        check(Value::List(vec![1, 2]), 4, Some(&[1, 0, 2, 0]));
        check(Value::List(vec![1, 2, 3]), 12, Some(&[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]));
        check(Value::List(vec![1, 2, 3]), 4, None);
        check(Value::List(vec![]), 4, None);
    }
}
