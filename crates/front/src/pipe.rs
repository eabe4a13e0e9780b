//! Opens inputs by name: files, and named pipes that another process writes to.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a writer may take to open a named pipe. It needn't be long: shells open both ends at the same time.
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens an input. For a named pipe, waits for a writer, but not forever.
///
/// # Errors
/// It is a folder, device or socket, or nothing writes to the pipe.
pub fn open(path: &Path) -> io::Result<File> {
    let is = std::fs::metadata(path)?.file_type();
    if is.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if is.is_char_device() || is.is_block_device() {
        return Err(io::Error::other("it is a device"));
    }
    if is.is_socket() {
        return Err(io::Error::other("it is a socket"));
    }
    if !is.is_fifo() {
        return File::open(path);
    }
    // A non-blocking open doesn't wait for a writer.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let until = Instant::now() + PATIENCE;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&file, PollFlags::IN)], Some(&left)) {
            Ok(0) => {
                let reported = format!("nothing has been written to this pipe for {} s", PATIENCE.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, reported));
            }
            // There is something to read, or a writer has opened and closed the pipe.
            Ok(_) => break,
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    // From here on, reads wait for the writer as long as necessary.
    rustix::fs::fcntl_setfl(&file, rustix::fs::fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}
