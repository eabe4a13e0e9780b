//! What the command line and the Python package share: turning names and files into specs, and a run or a recording
//! into a report.
//!
//! This crate reads files and the host's clock. It never prints, listens for signals or ends the process. Its user
//! implements [`Caller`], which receives remarks and progress and can stop the work early.
//!
//! - [`asked`]: a scheduler, with the settings in its name
//! - [`inputs`]: names, numbers and files as schedulers, machines and workloads
//! - [`program`]: schedulers' own programs
//! - [`recording`], [`replay`], [`check`]: opening recordings, replaying them as workloads, and judging them
//! - [`execute`]: one run, from its spec to its report
//! - [`experiments`]: published experiments, run and judged
//! - [`profile`]: files that show where a run's time went
//! - [`suite`], [`score`]: a scheduler's quality as one number
//! - [`failure`]: errors, with their exit codes
//! - [`fuzz`]: searching for runs that break a scheduler
//! - [`explore`], [`order`], [`timeline`]: one run in many orders, orders as files, and what happens in one order
//! - [`lab`]: the `lab` crate as a table of functions
//! - [`host`]: facts about the host and this process
//! - [`moment`], [`parse`], [`pipe`], [`text`]: times, settings, named pipes, untrusted text
#![forbid(unsafe_code)]

pub mod asked;
pub mod caller;
pub mod check;
mod close;
pub mod execute;
pub mod experiments;
pub mod explore;
pub mod failure;
mod folder;
pub mod fuzz;
pub mod host;
pub mod inputs;
pub mod lab;
pub mod moment;
pub mod order;
pub mod parse;
pub mod pipe;
pub mod profile;
pub mod program;
pub mod races;
pub mod recording;
pub mod replay;
pub mod score;
pub mod spare;
pub mod suite;
pub mod text;
pub mod timeline;

pub use caller::Caller;
