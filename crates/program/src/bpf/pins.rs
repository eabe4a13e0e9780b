//! Pins objects in bpffs: `BPF_OBJ_PIN`, `BPF_OBJ_GET`, and `unlink(2)` of their names.

use super::attr::Attr;
use super::{Done, cmd};
use crate::calls::{Answer, error};
use crate::fds::{Kind, Open, last};
use crate::program::Program;
use crate::thread::Thread;

/// Where bpffs is mounted.
const BPFFS: &str = "/sys/fs/bpf/";

/// A pinned object.
pub(crate) struct Pin {
    open: Open,
    /// A descriptor unknown to the program, which keeps a map's pages.
    kept: i32,
}

impl Program {
    /// `BPF_OBJ_PIN`, `BPF_OBJ_GET`.
    pub(super) fn pin_call(&mut self, t: &mut Thread, command: u64, attr: &Attr) -> Done {
        let path = match self.path(libc::AT_FDCWD, attr.u64(0)) {
            Ok(path) => path,
            Err(errno) => return Ok(error(errno)),
        };
        match command {
            cmd::OBJ_PIN => self.pin(t, &path, attr.fd(8)),
            _ => self.get_pinned(t, &path),
        }
    }

    fn pin(&mut self, t: &mut Thread, path: &str, fd: i32) -> Done {
        let Some(open) = self.fds.get(fd).cloned() else { return Ok(error(libc::EBADF)) };
        let is_object = matches!(*open.kind.borrow(), Kind::Map(_) | Kind::Prog(_) | Kind::Link(_));
        if !is_object {
            return Ok(error(libc::EINVAL));
        }
        let Some((folder, _)) = path.starts_with(BPFFS).then(|| path.rsplit_once('/')).flatten() else {
            return Ok(error(libc::EPERM));
        };
        if !self.tree.is_folder(folder) {
            return Ok(error(libc::ENOENT));
        }
        if self.bpf.pins.contains_key(path) || self.tree.is_folder(path) {
            return Ok(error(libc::EEXIST));
        }
        // A name outlives the process that an `execve` replaces.
        let kept = self.copy_number(t, fd, libc::F_DUPFD)?;
        if kept < 0 {
            return Ok(Answer::Value(kept));
        }
        self.tree.write(path, "")?;
        self.bpf.pins.insert(path.to_owned(), Pin { open, kept: kept as i32 });
        Ok(Answer::Value(0))
    }

    fn get_pinned(&mut self, t: &mut Thread, path: &str) -> Done {
        let Some(Pin { open, kept }) = self.bpf.pins.get(path) else { return Ok(error(libc::ENOENT)) };
        let (open, kept) = (open.clone(), *kept);
        let fd = self.copy_number(t, kept, libc::F_DUPFD_CLOEXEC)?;
        if fd >= 0 {
            self.fds.share(fd as i32, open);
        }
        Ok(Answer::Value(fd))
    }

    /// Duplicates a descriptor on the host.
    pub(super) fn copy_number(
        &mut self,
        t: &mut Thread,
        fd: i32,
        how: i32,
    ) -> Result<i64, crate::ProgramError> {
        let args = [fd as u64, how as u64, 3, 0, 0, 0];
        Ok(t.call(&mut self.host, libc::SYS_fcntl, args)?.0)
    }

    /// Removes a name, and detaches the object if only the name kept it attached.
    pub(crate) fn unpin(&mut self, t: &mut Thread, path: &str) -> Option<Done> {
        let Pin { open, kept } = self.bpf.pins.remove(path)?;
        self.tree.remove(path);
        let closed = t.call(&mut self.host, libc::SYS_close, [kept as u64, 0, 0, 0, 0, 0]);
        Some(closed.and_then(|_| match last(open) {
            Some(Kind::Link(link)) => Ok(Answer::Told(0, self.unlink(link)?)),
            _ => Ok(Answer::Value(0)),
        }))
    }
}
