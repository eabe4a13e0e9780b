//! Events and reports as Arrow tables, for tools that read them without copying: pandas, polars, DuckDB.
//!
//! - [`events`]: a stream of events as record batches
//! - [`report`]: the lists of a run's report as one record batch each
//! - [`profile`]: the source lines of a profile
//!
//! Columns have the names of the corresponding JSON fields, with the unit last.
#![forbid(unsafe_code)]

mod columns;
pub mod events;
pub mod profile;
pub mod report;

pub use arrow_array::{RecordBatch, RecordBatchReader};
pub use arrow_schema::{ArrowError, Schema, SchemaRef};
pub use events::{Batches, events_schema};
pub use report::{Table, table};
