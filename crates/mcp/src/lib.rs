//! keel as tools of the Model Context Protocol, on stdin and stdout.
//!
//! Each call runs `keel` in a child process, with limits on time and memory: no request of an agent can harm the server
//! or the host, and the answer is what the command line prints.
//!
//! - [`arguments`]: what each tool takes, as arguments of `keel`
//! - [`child`]: one call, within its limits
//! - [`server`]: the tools
#![forbid(unsafe_code)]

pub mod arguments;
pub mod child;
pub mod server;

pub use child::Limits;
pub use server::serve;
