//! Calls the kernel's own interfaces, which needs unsafe code: maps a data section of an object into this process's
//! memory, and makes sched_ext schedule a thread.
#![allow(unsafe_code)]

use rustix::mm::{MapFlags, MlockAllFlags, ProtFlags, mlockall, mmap, munmap};
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// `SCHED_EXT`.
const SCHED_EXT: i32 = 7;

/// Returns the pid of the calling thread, as BPF programs see it in the first namespace.
pub(super) fn thread_id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

/// Makes sched_ext schedule the calling thread, even if it leaves other tasks alone, and locks the process's memory: a
/// page fault could wait for a task that waits for this thread.
pub(super) fn prepare_thread() -> Result<(), String> {
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)
        .map_err(|e| format!("cannot lock this process's memory: {e}"))?;
    let priority = libc::sched_param { sched_priority: 0 };
    // SAFETY: the calling thread (0), and a parameter that lives during the call.
    let done = unsafe { libc::sched_setscheduler(0, SCHED_EXT, &raw const priority) };
    match done {
        0 => Ok(()),
        _ => Err(format!("SCHED_EXT is refused: {}", std::io::Error::last_os_error())),
    }
}

/// An integer in a mapped section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Its offset in the section, in bytes; a multiple of `bytes`.
    pub(super) at: usize,
    /// Its size in bytes: 1, 2, 4 or 8.
    pub(super) bytes: usize,
}

/// A data section, shared with the kernel.
#[derive(Debug)]
pub(super) struct Mapped {
    at: NonNull<u8>,
    bytes: usize,
    writable: bool,
}

impl Mapped {
    /// Maps this many bytes of a map's values.
    pub(super) fn new(map: BorrowedFd<'_>, bytes: usize, writable: bool) -> std::io::Result<Self> {
        let bytes = bytes.max(1).next_multiple_of(rustix::param::page_size());
        let prot = if writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a new mapping at an address that the kernel chooses, so no used memory is touched.
        let at = unsafe { mmap(std::ptr::null_mut(), bytes, prot, MapFlags::SHARED, map, 0) }?;
        let at = NonNull::new(at.cast()).ok_or_else(|| std::io::Error::other("mapped at 0"))?;
        Ok(Self { at, bytes, writable })
    }

    /// Returns the address of an integer, within bounds and aligned. Panics otherwise.
    fn place(&self, Place { at, bytes }: Place) -> *mut u8 {
        assert!(matches!(bytes, 1 | 2 | 4 | 8) && at.is_multiple_of(bytes), "an aligned integer");
        assert!(at.checked_add(bytes).is_some_and(|end| end <= self.bytes), "within the section");
        // SAFETY: `at` is within the mapping, as was just checked.
        unsafe { self.at.as_ptr().add(at) }
    }

    /// Reads an integer, zero-extended.
    pub(super) fn read(&self, place: Place) -> u64 {
        let at = self.place(place);
        // SAFETY: `at` is aligned to the number of bytes read, which are within the mapping, and the mapping lives as
        // long as `self`. The kernel writes them at once, and all code here uses only atomics.
        unsafe {
            match place.bytes {
                1 => AtomicU8::from_ptr(at).load(Ordering::Relaxed).into(),
                2 => AtomicU16::from_ptr(at.cast()).load(Ordering::Relaxed).into(),
                4 => AtomicU32::from_ptr(at.cast()).load(Ordering::Relaxed).into(),
                _ => AtomicU64::from_ptr(at.cast()).load(Ordering::Relaxed),
            }
        }
    }

    /// Writes an integer, truncated to its size. Panics if the section is not writable.
    pub(super) fn write(&self, place: Place, value: u64) {
        assert!(self.writable, "nobody writes constants");
        let at = self.place(place);
        // SAFETY: as in `read`, and the mapping is writable.
        unsafe {
            match place.bytes {
                1 => AtomicU8::from_ptr(at).store(value as u8, Ordering::Relaxed),
                2 => AtomicU16::from_ptr(at.cast()).store(value as u16, Ordering::Relaxed),
                4 => AtomicU32::from_ptr(at.cast()).store(value as u32, Ordering::Relaxed),
                _ => AtomicU64::from_ptr(at.cast()).store(value, Ordering::Relaxed),
            }
        }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the result of `mmap`, without references to it: they last no longer than a call on `self`.
        let _ = unsafe { munmap(self.at.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn integers_of_a_shared_section_are_read_and_written() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        let mapped = Mapped::new(file.as_fd(), 24, true).unwrap();
        let place = |at, bytes| Place { at, bytes };
        mapped.write(place(8, 8), 0x1122_3344_5566_7788);
        mapped.write(place(8, 1), 0x1ff);
        assert_eq!(mapped.read(place(8, 8)), 0x1122_3344_5566_77ff);
        assert_eq!(
            [mapped.read(place(8, 1)), mapped.read(place(10, 2)), mapped.read(place(12, 4))],
            [0xff, 0x5566, 0x1122_3344]
        );
        let other = Mapped::new(file.as_fd(), 24, false).unwrap();
        assert_eq!(other.read(place(8, 8)), 0x1122_3344_5566_77ff);
        for wrong in [place(4096, 1), place(4092, 8), place(1, 2), place(0, 3)] {
            assert!(std::panic::catch_unwind(|| other.read(wrong)).is_err(), "{wrong:?}");
        }
    }
}
