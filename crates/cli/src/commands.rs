//! One command a file.

pub(crate) mod compare;
pub(crate) mod lab;
pub(crate) mod list;
pub(crate) mod sim;
