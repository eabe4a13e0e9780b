//! `--stats-socket`: serves a Unix socket on the host. Clients of scx_stats, for example `scx_layered --monitor`,
//! connect to it to reach a program's statistics server during the simulated run.
//!
//! These clients poll by the host's clock, so the run keeps pace with that clock: it waits whenever it is ahead.
//! Waiting doesn't change the run; only a client's requests do.

use crate::failure::Failure;
use keel_abi::Stop;
use keel_lab::{Clients, News};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The path at which clients of scx_stats look for a server.
pub(crate) const PLACE: &str = "/var/run/scx/root/stats";
/// The interval at which a waiting run checks whether to stop.
const LOOK: Duration = Duration::from_millis(50);
/// How long a client that does not read may delay the run.
const WRITE: Duration = Duration::from_secs(1);
/// The number of bytes read from a client at once.
const CHUNK: usize = 4096;

type Streams = Arc<Mutex<BTreeMap<u64, UnixStream>>>;

/// The socket and its connections. Dropping this removes the socket.
#[derive(Debug)]
pub(crate) struct StatsSocket {
    path: PathBuf,
    news: Mutex<Receiver<News>>,
    streams: Streams,
    /// When the run began, by the host's clock.
    begun: OnceLock<Instant>,
    stop: Stop,
}

impl StatsSocket {
    /// Listens at `path`. A run that waits for the host's clock stops waiting when `stop` is requested.
    pub(crate) fn listen(path: &Path, stop: Stop) -> Result<Arc<Self>, Failure> {
        let failed = |e: io::Error| Failure::input(format!("--stats-socket {}: {e}", path.display()));
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let listener = bind(path).map_err(failed)?;
        let (sender, news) = channel();
        let streams = Streams::default();
        let accepted = streams.clone();
        thread::spawn(move || accept(&listener, &sender, &accepted));
        let (path, news, begun) = (path.to_owned(), Mutex::new(news), OnceLock::new());
        Ok(Arc::new(Self { path, news, streams, begun, stop }))
    }
}

impl Drop for StatsSocket {
    fn drop(&mut self) {
        // If it no longer exists, there is nothing to remove.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Binds the socket. Replaces one on which nobody listens any more.
fn bind(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(e) if e.kind() == io::ErrorKind::AddrInUse && is_abandoned(path) => {
            std::fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        bound => bound,
    }
}

/// Returns whether there is a socket on which nobody listens. Files of other kinds must not be removed.
fn is_abandoned(path: &Path) -> bool {
    matches!(UnixStream::connect(path), Err(e) if e.kind() == io::ErrorKind::ConnectionRefused)
        && std::fs::symlink_metadata(path)
            .is_ok_and(|meta| std::os::unix::fs::FileTypeExt::is_socket(&meta.file_type()))
}

/// Accepts clients, and reports connections and received data.
fn accept(listener: &UnixListener, sender: &Sender<News>, streams: &Streams) {
    for (client, stream) in (0..).zip(listener.incoming().flatten()) {
        let with_limit = stream.set_write_timeout(Some(WRITE)).and_then(|()| stream.try_clone());
        let Ok(reading) = with_limit else { continue };
        locked(streams).insert(client, stream);
        if sender.send(News::Connects(client)).is_err() {
            return;
        }
        let sender = sender.clone();
        thread::spawn(move || read(client, reading, &sender));
    }
}

fn read(client: u64, mut from: UnixStream, sender: &Sender<News>) {
    let mut bytes = [0; CHUNK];
    loop {
        let news = match from.read(&mut bytes) {
            Ok(0) => News::Finishes(client),
            Ok(read) => News::Sends(client, bytes[..read].to_vec()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => News::Finishes(client),
        };
        let is_last = matches!(news, News::Finishes(_));
        if sender.send(news).is_err() || is_last {
            return;
        }
    }
}

/// Locks a mutex even if it is poisoned: a panic in another thread leaves no inconsistent state here.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Clients for StatsSocket {
    fn news(&self, now_ns: u64) -> Vec<News> {
        let due = *self.begun.get_or_init(Instant::now) + Duration::from_nanos(now_ns);
        let receiver = locked(&self.news);
        let mut news: Vec<News> = receiver.try_iter().collect();
        while news.is_empty() && !self.stop.is_asked() {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            match receiver.recv_timeout(left.min(LOOK)) {
                Ok(first) => news.extend(std::iter::once(first).chain(receiver.try_iter())),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => thread::sleep(left.min(LOOK)),
            }
        }
        news
    }

    fn hears(&self, client: u64, bytes: &[u8]) {
        let mut streams = locked(&self.streams);
        let is_told = streams.get_mut(&client).is_none_or(|stream| stream.write_all(bytes).is_ok());
        if !is_told {
            drop(streams);
            self.ends(client);
        }
    }

    fn ends(&self, client: u64) {
        if let Some(stream) = locked(&self.streams).remove(&client) {
            // This also ends its reader.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket(folder: &Path) -> (PathBuf, Result<Arc<StatsSocket>, Failure>) {
        let path = folder.join("run/stats");
        let socket = StatsSocket::listen(&path, Stop::default());
        (path, socket)
    }

    /// Collects news of clients until there are `count` of them.
    fn wait_for(socket: &StatsSocket, count: usize) -> Vec<News> {
        let far_ns = Duration::from_secs(60).as_nanos() as u64;
        let mut news = Vec::new();
        while news.len() < count {
            news.extend(socket.news(far_ns));
        }
        news
    }

    #[test]
    fn a_client_talks_until_it_leaves_or_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let (path, socket) = socket(folder.path());
        let socket = socket.unwrap();
        let mut client = UnixStream::connect(&path).unwrap();
        client.write_all(b"question\n").unwrap();
        assert_eq!(wait_for(&socket, 2), [News::Connects(0), News::Sends(0, b"question\n".to_vec())]);
        socket.hears(0, b"answer\n");
        let mut answer = [0; 7];
        client.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"answer\n");
        drop(client);
        assert_eq!(wait_for(&socket, 1), [News::Finishes(0)]);

        let mut next = UnixStream::connect(&path).unwrap();
        assert_eq!(wait_for(&socket, 1), [News::Connects(1)]);
        socket.ends(1);
        assert_eq!(next.read(&mut answer).unwrap(), 0, "it is hung up on");
    }

    #[test]
    fn a_place_is_taken_by_one_and_free_when_that_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let (path, first) = socket(folder.path());
        let (_, second) = socket(folder.path());
        assert!(second.unwrap_err().to_string().contains("in use"), "one listens there");
        drop(first);
        assert!(!path.exists());
        // A process that was killed leaves its socket behind.
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        assert!(socket(folder.path()).1.is_ok());
        std::fs::write(&path, "a file").unwrap();
        assert!(socket(folder.path()).1.is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a file");
    }

    #[test]
    fn a_run_that_is_to_stop_does_not_wait() {
        let folder = tempfile::tempdir().unwrap();
        let stop = Stop::default();
        let socket = StatsSocket::listen(&folder.path().join("stats"), stop.clone()).unwrap();
        stop.ask();
        assert_eq!(socket.news(u64::MAX / 2), []);
    }
}
