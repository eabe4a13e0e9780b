//! Waits for Ctrl-C and similar signals, or for the end of a child process.
//!
//! Signals write to a socket, so that none is missed between a check and the next wait.

use crate::failure::Failure;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Wakes a waiting command when a signal arrives.
pub(crate) struct Bell {
    asked: Arc<AtomicBool>,
    /// Whether SIGUSR1 has arrived.
    wanted: Arc<AtomicBool>,
    rung: UnixStream,
    rings: UnixStream,
}

impl Bell {
    /// From now on, makes Ctrl-C ring the bell instead of ending the process.
    pub(crate) fn hang() -> Result<Self, Failure> {
        Self::try_hang().map_err(|e| Failure::input(format!("cannot handle Ctrl-C: {e}")))
    }

    fn try_hang() -> io::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        let (rung, rings) = UnixStream::pair()?;
        rung.set_nonblocking(true)?;
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&asked))?;
        }
        // Registered after the flags, so that the request is already visible when the bell rings.
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGCHLD] {
            signal_hook::low_level::pipe::register(signal, rings.try_clone()?)?;
        }
        Ok(Self { asked, wanted: Arc::default(), rung, rings })
    }

    /// From now on, makes SIGUSR1 ring the bell too. [`wanted`](Self::wanted) reports it.
    pub(crate) fn listen_to_usr1(&self) -> Result<(), Failure> {
        let listen = || {
            signal_hook::flag::register(SIGUSR1, Arc::clone(&self.wanted))?;
            signal_hook::low_level::pipe::register(SIGUSR1, self.rings.try_clone()?)
        };
        listen().map(drop).map_err(|e: io::Error| Failure::input(format!("cannot handle SIGUSR1: {e}")))
    }

    /// Returns whether SIGUSR1 has arrived since the last call.
    pub(crate) fn wanted(&self) -> bool {
        self.wanted.swap(false, Ordering::Relaxed)
    }

    /// Returns whether a stop has been requested.
    pub(crate) fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Waits until the bell rings, `also` is ready to be read, or `at_most` has passed.
    pub(crate) fn wait(&self, also: Option<BorrowedFd<'_>>, at_most: Duration) {
        let at_most =
            Timespec { tv_sec: at_most.as_secs().cast_signed(), tv_nsec: at_most.subsec_nanos().into() };
        let mut waits: Vec<PollFd<'_>> = vec![PollFd::new(&self.rung, PollFlags::IN)];
        waits.extend(also.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        // If this fails, a signal arrived or there is no memory. In both cases the caller must check.
        poll(&mut waits, Some(&at_most)).ok();
        let mut rings = [0; 64];
        while matches!((&self.rung).read(&mut rings), Ok(1..)) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_childs_end_and_a_ready_file_end_the_wait() {
        let bell = Bell::hang().unwrap();
        let long = Duration::from_secs(30);
        let begun = Instant::now();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        while child.try_wait().unwrap().is_none() {
            bell.wait(None, long);
        }
        let (ready, other) = UnixStream::pair().unwrap();
        drop(other);
        bell.wait(Some(std::os::fd::AsFd::as_fd(&ready)), long);
        assert!(begun.elapsed() < long, "nothing rang");
        assert!(!bell.asked());
        bell.listen_to_usr1().unwrap();
        signal_hook::low_level::raise(SIGUSR1).unwrap();
        bell.wait(None, long);
        assert_eq!((bell.wanted(), bell.wanted(), bell.asked()), (true, false, false));
        signal_hook::low_level::raise(SIGHUP).unwrap();
        bell.wait(None, long);
        assert!(bell.asked());
        assert!(begun.elapsed() < long, "the signal did not ring");
    }
}
