//! The commands, one per file.

pub(crate) mod bisect;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod exec;
pub(crate) mod explore;
pub(crate) mod fuzz;
pub(crate) mod kernels;
pub(crate) mod lab;
pub(crate) mod list;
pub(crate) mod machine;
pub(crate) mod mcp;
pub(crate) mod profile;
pub(crate) mod record;
pub(crate) mod record_recipe;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod score;
pub(crate) mod sim;
pub(crate) mod sweep;
pub(crate) mod vm;
pub(crate) mod watch;
pub(crate) mod workload;
