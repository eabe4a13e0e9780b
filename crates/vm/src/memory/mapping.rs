//! Address space of this process that is committed page by page on first touch.
#![allow(unsafe_code)]

use super::{HUGE_BYTES, ReserveError};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};

/// Private zeroed memory; its start is aligned to a huge page.
pub(super) struct Mapping {
    /// The mapping from `mmap`, and its length.
    whole: NonNull<libc::c_void>,
    whole_len: usize,
    start: NonNull<u8>,
    len: u64,
}

impl Mapping {
    /// Reserves `len` bytes.
    pub(super) fn new(len: u64) -> Result<Self, ReserveError> {
        let refused = |why: String| ReserveError { bytes: len, why };
        let whole_len = len.checked_add(HUGE_BYTES).and_then(|n| usize::try_from(n).ok());
        let whole_len = whole_len.ok_or_else(|| refused("more than an address can say".into()))?;
        // SAFETY: a new mapping at an address of the system's choice overlaps nothing.
        let at = unsafe {
            libc::mmap(
                ptr::null_mut(),
                whole_len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if at == libc::MAP_FAILED {
            let why = io::Error::last_os_error().to_string();
            // Without the error number.
            return Err(refused(why.split(" (os error").next().unwrap_or_default().to_lowercase()));
        }
        let whole = NonNull::new(at).ok_or_else(|| refused("the null page".into()))?;
        // If the host uses huge pages by default, sparse use would commit far more than it touches. The advice may
        // fail; then only more memory is used. SAFETY: the range is the mapping just made.
        unsafe { libc::madvise(at, whole_len, libc::MADV_NOHUGEPAGE) };
        let skip = at.cast::<u8>().align_offset(HUGE_BYTES as usize);
        // SAFETY: `skip` is less than the bytes that the mapping has beyond `len`.
        let start = unsafe { whole.cast::<u8>().add(skip) };
        Ok(Self { whole, whole_len, start, len })
    }

    /// The first byte.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// From now on these bytes are those of a file, from its beginning on, and shared with anyone who maps the file.
    ///
    /// # Errors
    /// Fails with the host's message; then nothing has changed.
    pub(super) fn share(&mut self, off: u64, len: u64, file: BorrowedFd<'_>) -> io::Result<()> {
        assert!(off <= self.len && len <= self.len - off, "the bytes are in the mapping");
        // Touching a page beyond the file's end would fault.
        // SAFETY: the kernel fills the structure, which holds integers alone.
        let size = unsafe {
            let mut data: libc::stat = std::mem::zeroed();
            match libc::fstat(file.as_raw_fd(), &raw mut data) {
                0 => data.st_size as u64,
                _ => return Err(io::Error::last_os_error()),
            }
        };
        if size < len {
            return Err(io::Error::other("the file is too short"));
        }
        // SAFETY: the range lies within the mapping, which is ours and stays reserved; no reference into it is alive,
        // since `self` is held exclusively. The file keeps its size: its creator has sealed it.
        let at = unsafe {
            let at = self.start.as_ptr().add(off as usize);
            let (rw, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
            libc::mmap(at.cast(), len as usize, rw, flags, file.as_raw_fd(), 0)
        };
        if at == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Zeroes these bytes; if there are many, returns the memory to the host.
    pub(super) fn clear(&mut self, off: u64, len: u64) {
        /// Below this, writing is faster than asking the host.
        const FEW: u64 = 64 << 10;
        assert!(off <= self.len && len <= self.len - off, "the bytes are in the mapping");
        let zero = |from: u64, to: u64| {
            // SAFETY: the range lies within the mapping, and `self` is held exclusively.
            unsafe { self.start.as_ptr().add(from as usize).write_bytes(0, (to - from) as usize) };
        };
        let end = off + len;
        // No host has larger pages, except huge ones, which no arena asks for.
        let (first, last) = (off.next_multiple_of(FEW), end / FEW * FEW);
        if first >= last {
            return zero(off, end);
        }
        zero(off, first);
        zero(last, end);
        // SAFETY: the range lies within the mapping, which is private and anonymous: it reads as zeroes afterwards.
        let done = unsafe {
            let at = self.start.as_ptr().add(first as usize);
            libc::madvise(at.cast(), (last - first) as usize, libc::MADV_DONTNEED)
        };
        if done != 0 {
            zero(first, last);
        }
    }

    /// Removes whole pages from the file that is shared there: both sides read zeroes afterwards.
    pub(super) fn punch(&mut self, off: u64, len: u64) {
        assert!(off <= self.len && len <= self.len - off, "the bytes are in the mapping");
        // SAFETY: the range lies within the mapping, and `self` is held exclusively. Where the host cannot do it, the
        // bytes are written.
        unsafe {
            let at = self.start.as_ptr().add(off as usize);
            if libc::madvise(at.cast(), len as usize, libc::MADV_REMOVE) != 0 {
                at.write_bytes(0, len as usize);
            }
        }
    }

    /// Asks for huge pages where these bytes cover whole ones.
    pub(super) fn advise_huge(&self, off: u64, len: u64) {
        let end = off.saturating_add(len).min(self.len) / HUGE_BYTES * HUGE_BYTES;
        let off = off.next_multiple_of(HUGE_BYTES);
        if off < end {
            // SAFETY: the range lies within the mapping; the advice changes no contents, and may
            // be refused.
            unsafe {
                let at = self.start.as_ptr().add(off as usize);
                libc::madvise(at.cast(), (end - off) as usize, libc::MADV_HUGEPAGE);
            }
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours alone, and holders of pointers into it hold them no longer than this value lives.
        unsafe { libc::munmap(self.whole.as_ptr(), self.whole_len) };
    }
}
