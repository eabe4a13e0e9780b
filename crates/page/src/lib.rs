//! Runs as one HTML page that people explore, without a network: docs/reference/report.md tells what it shows and how its
//! data lie.
//!
//! [`Page`] listens to a run, in memory that depends on the machine and on [`Budget`] alone, and makes levels of detail as it
//! goes; [`html`] joins one or more runs with the viewer, which is TypeScript (`viewer/`). Names of tasks are a stranger's
//! text: they lie in compressed data, or in JSON without `<`, and the viewer never makes markup of them.
//!
//! Never here: files, a clock, a judgement. Findings and figures come from [`keel_check`] by way of [`keel_report`].
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
