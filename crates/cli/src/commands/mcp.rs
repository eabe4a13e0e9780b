//! `keel mcp`: offers this program's commands to agents as tools.

use crate::args::McpArgs;
use crate::failure::{Code, Failure};
use crate::inputs::reason;
use keel_mcp::{Limits, serve};
use std::time::Duration;

/// The maximum length of an answer, so that an agent can read it in one piece.
const ANSWER_BYTES: usize = 256 << 10;

pub(crate) fn run(args: &McpArgs) -> Result<Code, Failure> {
    let keel = std::env::current_exe()
        .map_err(|e| Failure::input(format!("keel cannot find its own file: {}", reason(&e))))?;
    let limits = Limits {
        keel,
        time: Duration::from_nanos(args.time.as_ns()),
        memory_bytes: u64::from(args.memory) << 20,
        answer_bytes: ANSWER_BYTES,
    };
    serve(limits).map(|()| Code::Done).map_err(|why| Failure::input(crate::text::shown(&why)))
}
