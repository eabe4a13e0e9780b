//! Executable memory: a table of addresses followed by code. It is written once, and then never writable again.

use std::io;
use std::ptr::{self, NonNull};

/// Memory for code.
pub(super) struct Buffer {
    start: NonNull<u8>,
    len: usize,
    table_bytes: usize,
}

// SAFETY: the memory is written only before it is shared, and is unmapped by its only owner.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Memory for this many bytes of code, preceded by this table.
    ///
    /// # Errors
    /// Fails with the host's reason.
    pub(super) fn new(code_bytes: usize, table: &[u64]) -> Result<Self, String> {
        let table_bytes = size_of_val(table).next_multiple_of(64);
        let len = table_bytes + code_bytes.max(1);
        // SAFETY: a new mapping at an address of the system's choice overlaps nothing.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        let refused = || format!("no memory for {len} bytes of code: {}", io::Error::last_os_error());
        if start == libc::MAP_FAILED {
            return Err(refused());
        }
        let start = NonNull::new(start.cast::<u8>()).ok_or_else(refused)?;
        // SAFETY: the table fits the mapping's first bytes, which are writable and aligned.
        unsafe { ptr::copy_nonoverlapping(table.as_ptr(), start.as_ptr().cast(), table.len()) };
        Ok(Self { start, len, table_bytes })
    }

    /// The address of the table.
    pub(super) fn table_at(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// The address of the code.
    pub(super) fn code_at(&self) -> u64 {
        self.table_at() + self.table_bytes as u64
    }

    /// The address of a byte of the code.
    pub(super) fn address(&self, offset: usize) -> *const u8 {
        assert!(self.table_bytes + offset < self.len, "the byte is in the buffer");
        // SAFETY: it is.
        unsafe { self.start.as_ptr().add(self.table_bytes + offset) }
    }

    /// Fills in this code and makes the memory executable and no longer writable.
    ///
    /// # Errors
    /// Fails with the host's reason.
    pub(super) fn filled(self, code: &[u8]) -> Result<Self, String> {
        assert!(code.len() <= self.len - self.table_bytes, "the code fits");
        // SAFETY: the bytes behind the table are the buffer's own, writable, and as many as asserted; the mapping
        // starts at a page and has `len` bytes.
        let failed = unsafe {
            ptr::copy_nonoverlapping(code.as_ptr(), self.start.as_ptr().add(self.table_bytes), code.len());
            libc::mprotect(self.start.as_ptr().cast(), self.len, libc::PROT_READ | libc::PROT_EXEC)
        };
        if failed == 0 {
            Ok(self)
        } else {
            Err(format!("code may not be executed: {}", io::Error::last_os_error()))
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the mapping is the buffer's own. Every Vm that runs its code, and so every fiber with a frame of it,
        // holds the `Code` that owns it, so nothing executes it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}
