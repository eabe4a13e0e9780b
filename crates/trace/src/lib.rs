//! What happened, as one stream of events: simulated, recorded and live runs become this stream,
//! and the checks read it and nothing else.
//!
//! [`event`] is the schema; [`Writer`] and [`Reader`] keep it in files of our own compact format
//! (docs/reference/trace-format.md tells it byte by byte); [`story`] makes streams that agree with themselves of what recordings
//! tell.
//!
//! This room depends on `abi` alone. It never judges.
#![forbid(unsafe_code)]

pub mod cut;
pub mod error;
pub mod event;
pub mod policy;
pub mod reader;
mod relay;
pub mod sinks;
pub mod story;
pub mod writer;

mod format;
mod input;

pub use cut::Cut;
pub use error::{TraceError, WriteError};
pub use event::{Chooser, Class, Event, Lock, Meta, Sink, TaskInfo, Unknown, What, Why};
pub use policy::Policy;
pub use reader::{Item, Reader};
pub use relay::relayed;
pub use sinks::{Fanout, NullSink};
pub use writer::Writer;
