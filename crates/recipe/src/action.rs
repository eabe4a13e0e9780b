//! The actions of a recipe, independent of the machine and the file.

use crate::companion::Companion;
use keel_abi::Span;

/// Numbers as the bytes of a variable, a key or a map's value: little-endian, and as large as their destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// One integer.
    One(i128),
    /// Integers one after another: the elements of an array, or equal parts of a key or value.
    List(Vec<i128>),
}

/// An action. Variables, members and sizes are set before the object is loaded, maps and programs before it is
/// attached, and the rest while it is attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sets the initial value of a global variable. A list may be shorter than the array; the other elements stay the
    /// same.
    Set {
        /// The variable.
        variable: String,
        /// Its value.
        value: Value,
    },
    /// Sets the initial value of some bytes of a global variable, whatever its type.
    SetPart {
        /// The variable.
        variable: String,
        /// The offset of the first byte.
        at: u64,
        /// The new bytes.
        bytes: Vec<u8>,
    },
    /// Does not load this program, which is not a callback of the scheduler.
    LeaveOut {
        /// The program.
        program: String,
    },
    /// Selects the `struct sched_ext_ops` with this name, before any other action. An object that defines several needs
    /// this.
    Choose {
        /// The variable.
        scheduler: String,
    },
    /// Names a dispatch queue wherever it is displayed.
    NameQueue {
        /// The queue's number.
        id: u64,
        /// Its name.
        name: String,
    },
    /// Adds these bits to `.flags` of the `struct sched_ext_ops`.
    AddFlags(u64),
    /// Sets an integer member of the `struct sched_ext_ops`.
    SetMember {
        /// The member.
        member: &'static str,
        /// Its value.
        value: u64,
    },
    /// Sets the maximum number of elements of a map.
    Resize {
        /// The map.
        map: String,
        /// `max_entries`.
        entries: u32,
    },
    /// Puts an element into a map.
    Put {
        /// The map.
        map: String,
        /// The element's key.
        key: Value,
        /// The element's new value.
        value: Value,
        /// In a per-CPU map, the CPU whose value is set; `None` for all CPUs.
        cpu: Option<u32>,
    },
    /// Fills a map of maps: elements 0, 1, 2... each get a new map, like the one in its definition.
    Nest {
        /// The map of maps.
        map: String,
        /// The number of elements.
        maps: u32,
    },
    /// Loads and attaches the object again, this long after the scheduler or the kernel has requested it
    /// (`SCX_ECODE_ACT_RESTART`). On a real kernel, the loader takes as long as it takes.
    Restart {
        /// The delay.
        after: Span,
    },
    /// Runs a `SEC("syscall")` program once, before attaching. It must return 0.
    Run {
        /// The program.
        program: String,
        /// Its context, as 64-bit numbers.
        args: Vec<u64>,
    },
    /// Attaches a program other than the scheduler's callbacks, for a tracepoint or fentry.
    Attach {
        /// The program.
        program: String,
    },
    /// Runs a `SEC("syscall")` program repeatedly while the scheduler is attached.
    RunEvery {
        /// The program.
        program: String,
        /// Its context, as 64-bit numbers.
        args: Vec<u64>,
        /// The time from one run to the next.
        every: Span,
    },
    /// Keeps a companion beside the scheduler, with its own task or thread.
    Accompany(Companion),
    /// Shows the changes of this variable in statistics.
    Count {
        /// A counter of the scheduler.
        variable: String,
    },
}

impl Value {
    /// Returns its bytes for a destination of `size` bytes: one integer fills it, and a list of n fills n equal parts.
    /// Returns `None` if they do not fit.
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

/// Returns an integer in 1, 2, 4 or 8 bytes, signed or unsigned.
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
