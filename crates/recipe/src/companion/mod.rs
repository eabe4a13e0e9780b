//! A companion: the user-space half of a scheduler that stays beside it, as a script.
//!
//! Once per round it talks to the object through its maps and global variables, and then gives up the CPU. [`tokens`]
//! splits a script into tokens, [`compile`] turns them into a [`Program`], and [`Machine`] executes it piece by piece
//! through a [`Door`], which is the same for a task of a simulated kernel and a thread beside a real one.

mod code;
mod compile;
mod layout;
mod machine;
mod tokens;

#[cfg(test)]
mod tests;

pub use code::{Call, Program};
pub use layout::{Layout, LayoutError};
pub use machine::{Door, MOST_KEPT, Machine, Pause};

pub(crate) use compile::compile;

use keel_abi::Span;

/// How a companion gives up the CPU after a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// `sched_yield()`: it stays runnable.
    Yield,
    /// It sleeps for this long.
    Sleep(Span),
}

/// A companion, resolved against a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Companion {
    /// Its task's name.
    pub name: String,
    /// The object's variable that is set to its pid, before the object is loaded.
    pub pid: Option<String>,
    /// After each round.
    pub rest: Rest,
    /// What it does in each round.
    pub program: Program,
}

/// What is wrong with a script: the line within it, from 1, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) line: usize,
    pub(crate) why: String,
}
