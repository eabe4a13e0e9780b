//! What happened, as one stream of events: simulated, recorded and live runs become this stream,
//! and the checks read it and nothing else.
//!
//! This room depends on `abi` alone. It never judges.
#![forbid(unsafe_code)]

pub mod event;

pub use event::{Chooser, Class, Event, Lock, Meta, Sink, TaskInfo, What, Why};
