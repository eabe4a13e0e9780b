//! One command a file.

pub(crate) mod compare;
pub(crate) mod list;
pub(crate) mod sim;
