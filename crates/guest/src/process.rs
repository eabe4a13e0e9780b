//! QEMU's process and its output, as one stream of pieces, each with its source.

use crate::error::{GuestError, why};
use std::io::Read;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// The source of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The kernel's console.
    Console,
    /// QEMU's own messages.
    Emulator,
    /// The command's stdout.
    Out,
    /// The command's stderr.
    Err,
    /// The guest's reports.
    Facts,
}

/// What happened next.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Bytes arrived.
    Said(Stream, Vec<u8>),
    /// Nothing arrived during the wait.
    Silence,
    /// Nothing more will arrive.
    Ended,
}

/// A running guest. It ends when this is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    said: Receiver<(Stream, Vec<u8>)>,
}

/// Pieces that may be queued before the guest has to wait.
const PIECES: usize = 64;
const PIECE: usize = 16 << 10;

/// How long QEMU may take to open its ports.
const PORTS: Duration = Duration::from_secs(60);

impl Running {
    /// Starts QEMU, which connects to the ports at once.
    ///
    /// # Errors
    /// [`GuestError::Missing`] if it cannot be run, [`GuestError::Guest`] with its own message if it does not start.
    pub fn start(mut command: Command, ports: Vec<(Stream, UnixListener)>) -> Result<Self, GuestError> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // The terminal's Ctrl-C is for this process, which then ends the guest.
        command.process_group(0);
        let mut child = command.spawn().map_err(|e| {
            GuestError::Missing(format!("QEMU cannot be run ({}); install qemu-system-x86", why(&e)))
        })?;
        let (sender, said) = sync_channel(PIECES);
        let console = child.stdout.take().expect("piped");
        let emulator = child.stderr.take().expect("piped");
        pass_on(Stream::Console, console, sender.clone());
        pass_on(Stream::Emulator, emulator, sender.clone());
        let mut running = Self { child, said };
        for (stream, port) in ports {
            let Some(connection) = running.connection(&port) else {
                return Err(GuestError::Guest(format!("QEMU does not start: {}", running.last_words())));
            };
            pass_on(stream, connection, sender.clone());
        }
        Ok(running)
    }

    /// Waits for the next event.
    pub fn next(&self, patience: Duration) -> Next {
        match self.said.recv_timeout(patience) {
            Ok((stream, bytes)) => Next::Said(stream, bytes),
            Err(RecvTimeoutError::Timeout) => Next::Silence,
            Err(RecvTimeoutError::Disconnected) => Next::Ended,
        }
    }

    /// Ends the guest now. Its earlier output still arrives.
    pub fn kill(&mut self) {
        // It may have ended by itself.
        self.child.kill().ok();
    }

    /// How QEMU ended, after [`Next::Ended`].
    ///
    /// # Errors
    /// [`GuestError::Guest`] if the host lost it.
    pub fn wait(&mut self) -> Result<ExitStatus, GuestError> {
        self.child.wait().map_err(|e| GuestError::Guest(format!("lost contact with QEMU: {e}")))
    }

    fn connection(&mut self, port: &UnixListener) -> Option<impl Read + Send + use<>> {
        port.set_nonblocking(true).ok()?;
        let begun = Instant::now();
        while begun.elapsed() < PORTS {
            if let Ok((connection, _)) = port.accept() {
                connection.set_nonblocking(false).ok()?;
                return Some(connection);
            }
            if !matches!(self.child.try_wait(), Ok(None)) {
                return None;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }

    fn last_words(&mut self) -> String {
        self.kill();
        let mut words = Vec::new();
        while let Next::Said(stream, bytes) = self.next(Duration::from_secs(1)) {
            if stream == Stream::Emulator {
                words.extend(bytes);
            }
        }
        crate::console::line(&String::from_utf8_lossy(&words))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
        self.wait().ok();
    }
}

fn pass_on(stream: Stream, mut from: impl Read + Send + 'static, to: SyncSender<(Stream, Vec<u8>)>) {
    std::thread::spawn(move || {
        let mut buffer = [0; PIECE];
        while let Ok(len @ 1..) = from.read(&mut buffer) {
            if to.send((stream, buffer[..len].to_vec())).is_err() {
                return;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a shell script in place of QEMU.
    fn running(script: &str) -> Running {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Running::start(command, Vec::new()).unwrap()
    }

    #[test]
    fn everything_comes_before_the_end() {
        let mut running = running("echo out; echo err >&2; exit 3");
        let mut said = Vec::new();
        while let Next::Said(stream, bytes) = running.next(Duration::from_secs(20)) {
            said.push((stream, bytes));
        }
        said.sort_by_key(|(stream, _)| *stream == Stream::Emulator);
        assert_eq!(said, [(Stream::Console, b"out\n".to_vec()), (Stream::Emulator, b"err\n".to_vec())]);
        assert_eq!(running.wait().unwrap().code(), Some(3));
    }

    #[test]
    fn silence_is_reported_and_the_guest_can_be_ended() {
        let mut running = running("exec sleep 600");
        assert_eq!(running.next(Duration::from_millis(20)), Next::Silence);
        running.kill();
        assert_eq!(running.next(Duration::from_secs(20)), Next::Ended);
        assert_eq!(running.wait().unwrap().code(), None);
    }

    #[test]
    fn a_failed_start_reports_the_emulators_message() {
        let folder = tempfile::tempdir().unwrap();
        let port = UnixListener::bind(folder.path().join("port")).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo 'no such machine' >&2; exit 1"]);
        let reported = Running::start(command, vec![(Stream::Out, port)]).unwrap_err().to_string();
        assert_eq!(reported, "QEMU does not start: no such machine");
    }
}
