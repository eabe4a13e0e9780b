//! Provides inode numbers and handles of cgroups' folders, by which programs find a cgroup's id. Other files have the
//! scratch tree's numbers.

use crate::ProgramError;
use crate::calls::{Answer, error};
use crate::fds::Kind;
use crate::program::Program;
use crate::thread::Thread;
use std::mem::offset_of;

/// `FILEID_KERNFS`: a handle of eight bytes, the node's id.
const HANDLE_TYPE: i32 = 0xfe;
const HANDLE_BYTES: u32 = 8;

impl Program {
    /// `stat` and related calls for a path: `buffer` gets the folder's own inode number.
    pub(crate) fn stat_path(
        &mut self,
        t: &mut Thread,
        folder: i32,
        at: u64,
        buffer: u64,
        args: impl FnOnce(u64) -> [u64; 6],
    ) -> Result<Answer, ProgramError> {
        let path = self.path(folder, at);
        let answer = self.with_path(t, folder, at, args)?;
        Ok(self.with_inode(t, answer, path.ok(), buffer))
    }

    /// Like `stat_path`, for an open file.
    pub(crate) fn stat_fd(
        &mut self,
        t: &mut Thread,
        fd: i32,
        buffer: u64,
        a: [u64; 6],
    ) -> Result<Answer, ProgramError> {
        let answer = self.native(t, a)?;
        let path = self.folder_of(fd);
        Ok(self.with_inode(t, answer, path, buffer))
    }

    fn folder_of(&self, fd: i32) -> Option<String> {
        match self.fds.get(fd).map(|open| open.kind.borrow()).as_deref() {
            Some(Kind::Folder(name)) => Some(name.clone()),
            _ => None,
        }
    }

    fn with_inode(&self, t: &Thread, answer: Answer, path: Option<String>, buffer: u64) -> Answer {
        let inode = path.and_then(|path| self.tree.inode(&path));
        let offset = match t.number() {
            libc::SYS_statx => offset_of!(libc::statx, stx_ino),
            _ => offset_of!(libc::stat, st_ino),
        };
        match (answer, inode) {
            (Answer::Value(0), Some(inode)) => {
                match self.host.write(buffer + offset as u64, &inode.to_le_bytes()) {
                    true => Answer::Value(0),
                    false => error(libc::EFAULT),
                }
            }
            (answer, _) => answer,
        }
    }

    /// `name_to_handle_at` for a cgroup's folder.
    pub(crate) fn handle(&mut self, a: [u64; 6]) -> Answer {
        let path = match self.path(a[0] as i32, a[1]) {
            Ok(path) => path,
            Err(errno) => return error(errno),
        };
        let Some(inode) = self.tree.inode(&path) else { return error(libc::EOPNOTSUPP) };
        let mut room = [0; 4];
        if !self.host.read(a[2], &mut room) {
            return error(libc::EFAULT);
        }
        let fits = u32::from_le_bytes(room) >= HANDLE_BYTES;
        let mut handle = HANDLE_BYTES.to_le_bytes().to_vec();
        if fits {
            handle.extend(HANDLE_TYPE.to_le_bytes());
            handle.extend(inode.to_le_bytes());
        }
        // All of cgroupfs is one mount.
        let written = self.host.write(a[2], &handle) && self.host.write(a[3], &1_i32.to_le_bytes());
        match (written, fits) {
            (false, _) => error(libc::EFAULT),
            (true, false) => error(libc::EOVERFLOW),
            (true, true) => Answer::Value(0),
        }
    }
}
