//! The Unix socket at which monitors reach a simulated program's server of statistics.

use crate::failure::Failure;
use crate::text::shown_path;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A socket with a file, which is removed at the end.
pub(crate) struct StatsSocket {
    path: PathBuf,
    listener: Arc<UnixListener>,
}

impl StatsSocket {
    /// Listens there. The file of a socket at which nobody listens any more is replaced.
    pub(crate) fn bind(path: &Path) -> Result<Self, Failure> {
        let failed = |e: io::Error| Failure::input(format!("--stats-socket {}: {e}", shown_path(path)));
        if is_left_over(path) {
            std::fs::remove_file(path).map_err(failed)?;
        }
        let listener = UnixListener::bind(path).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self { path: path.to_owned(), listener: Arc::new(listener) })
    }

    pub(crate) fn listener(&self) -> Arc<UnixListener> {
        self.listener.clone()
    }
}

impl Drop for StatsSocket {
    fn drop(&mut self) {
        // Somebody else may have removed it.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn is_left_over(path: &Path) -> bool {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|there| there.file_type().is_socket());
    let refused = |e: io::Error| e.kind() == io::ErrorKind::ConnectionRefused;
    is_socket && UnixStream::connect(path).err().is_some_and(refused)
}

#[cfg(test)]
mod tests {
    use super::StatsSocket;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_socket_of_a_run_that_is_over_is_replaced_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stats");
        let works = || StatsSocket::bind(&path).is_ok();
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists() && works() && !path.exists());
        let live = UnixListener::bind(&path).unwrap();
        assert!(!works() && path.exists());
        drop(live);
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "a file").unwrap();
        assert!(!works() && path.exists());
    }
}
