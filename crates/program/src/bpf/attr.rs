//! `union bpf_attr`: a command's parameters, by their offsets in `linux/bpf.h`.

/// The bytes that are read.
pub(super) const BYTES: usize = 160;

/// The parameters. Those that the program did not give are 0.
pub(super) struct Attr(pub(super) [u8; BYTES]);

impl Attr {
    pub(super) fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|i| self.0[at + i]))
    }

    pub(super) fn fd(&self, at: usize) -> i32 {
        self.u32(at) as i32
    }

    pub(super) fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|i| self.0[at + i]))
    }

    /// Reads a name of 16 bytes.
    pub(super) fn name(&self, at: usize) -> String {
        let bytes = &self.0[at..at + 16];
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }
}
