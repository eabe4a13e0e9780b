//! To be filled.
#![forbid(unsafe_code)]

pub mod event;
