//! To be filled.
#![forbid(unsafe_code)]

pub mod dsq;
pub mod event;
pub mod idle;
