//! Companions: a companion is the user-space half of a scheduler, as a script that keeps running beside it.
//!
//! Once per round, it interacts with the object through its maps and global variables, and then gives up the CPU.
//! [`tokens`] splits a script into tokens, [`compile`] turns them into a [`Program`], and [`Machine`] executes it piece
//! by piece through a [`Door`], whether as a task of a simulated kernel or as a thread beside a real one.

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
    /// The object's variable that is set to the companion's pid before the object is loaded.
    pub pid: Option<String>,
    /// How it gives up the CPU after each round.
    pub rest: Rest,
    /// What it does in each round.
    pub program: Program,
}

/// An error in a script: the line within the script, counted from 1, and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) line: usize,
    pub(crate) why: String,
}
