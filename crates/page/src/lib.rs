//! Makes one HTML page from runs, which you can explore offline. docs/reference/report.md describes what the page shows
//! and the layout of its data.
//!
//! Start at [`Page`], a sink that builds the levels of detail as a run goes on, in memory that depends only on the
//! machine and on [`Budget`]. [`html()`] joins one or more runs with the viewer, which is written in TypeScript
//! (`viewer/`). Task names are untrusted: they are kept in compressed data, or in JSON without `<`, and the viewer
//! never turns them into markup.
//!
//! This crate never uses files or a clock, and never judges. Findings and figures come from
//! [`keel_check`] by way of [`keel_report`], profiles from [`keel_profile`].
//!
//! Making a page from a run:
//!
//! - `page`: keeps what the page shows of a run
//! - `data`: a run's data in the page: a head in JSON and compressed chunks
//! - `html`: the document: viewer, style and data in one file
//!
//! What the page keeps from a run:
//!
//! - `grid`: what each CPU did, summed over buckets of time
//! - `tiles`: the grid as levels of detail, cut into tiles
//! - `lives`: where each task ran and waited, summed over buckets of time
//! - `detail`: the events themselves, in chunks of time
//! - `episodes`: the longest periods of wasted CPU time
//! - `moments`: the run's most informative decisions
//! - `delays`: histograms of how long tasks waited and ran
//! - `names`: pids, names and nice values of tasks
//!
//! Sizes:
//!
//! - `thin`: chooses what to keep within a budget
//! - `pack`: how numbers are packed
#![forbid(unsafe_code)]

mod data;
mod delays;
mod detail;
mod episodes;
mod grid;
mod html;
mod lives;
mod moments;
mod names;
mod pack;
mod page;
mod thin;
mod tiles;

pub use data::{Facts, RunData};
pub use html::html;
pub use page::{Budget, Page};
