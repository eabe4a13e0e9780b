//! Streams of events: simulated, recorded and live runs all become such a stream, and the checks read nothing else.
//!
//! - [`event`]: the schema of events.
//! - [`policy`]: the decisions that a scheduler reports.
//! - [`writer`] and [`reader`]: files in a compact format (docs/reference/trace-format.md).
//! - `format` and `input`: the format's constants, and reading untrusted bytes.
//! - [`story`]: makes a consistent stream from recorded events.
//! - [`sinks`]: sinks that combine others.
//! - [`cut`]: cuts a part out of a stream, as a stream.
//! - [`ring`]: keeps the last moments of a continuing stream.
//! - `relay`: makes a stream on one thread and passes it to a sink on another.
//! - [`error`]: errors of reading and writing trace files.
//!
//! This crate depends only on `abi`. It never judges.
#![forbid(unsafe_code)]

pub mod cut;
pub mod error;
pub mod event;
pub mod policy;
pub mod reader;
mod relay;
pub mod ring;
pub mod sinks;
pub mod story;
pub mod writer;

mod format;
mod input;

pub use cut::Cut;
pub use error::{TraceError, WriteError};
pub use event::{
    Act, Call, CgroupChange, Chooser, Class, Event, GroupInfo, Lock, Meta, Piping, Request, SHORT_LOCK_WAIT,
    Sink, Source, TaskInfo, Timer, Unknown, What, Why,
};
pub use policy::Policy;
pub use reader::{Item, Reader};
pub use relay::relayed;
pub use ring::{Kept, Ring};
pub use sinks::{Fanout, NullSink, pass_on};
pub use writer::Writer;
