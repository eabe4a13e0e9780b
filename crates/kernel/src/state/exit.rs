//! The end of a scheduler, in the kernel's own words.

use keel_abi::scx::ExitKind;
use keel_abi::{CpuId, Instant};

/// The end of a scheduler (`struct scx_exit_info`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Why the scheduler ended.
    pub kind: ExitKind,
    /// The code that `scx_bpf_exit()` gave, or 0.
    pub code: i64,
    /// The details, such as `non-existent DSQ 0x2a`.
    pub message: String,
    /// The CPU that detected it.
    pub cpu: CpuId,
    /// When it ended.
    pub at: Instant,
}

impl Exit {
    /// Returns the kernel's line: the reason, with details in parentheses.
    pub fn sentence(&self) -> String {
        match self.message.is_empty() {
            true => self.kind.reason().to_owned(),
            false => format!("{} ({})", self.kind.reason(), self.message),
        }
    }
}
