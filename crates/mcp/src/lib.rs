//! keel as tools of the Model Context Protocol, on stdin and stdout.
//!
//! Each call is a `keel` of its own, a child process with a limit on its time and memory: what an agent asks for can
//! harm neither the server nor the host, and the answer is what the command line prints.
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
