//! Finds objects by id: `BPF_MAP_GET_NEXT_ID`, `BPF_MAP_GET_FD_BY_ID` and related commands.

use super::Done;
use super::attr::Attr;
use super::cmd;
use super::info::FIRST_ID;
use crate::calls::{Answer, error};
use crate::fds::{Kind, Link, Open};
use crate::program::Program;
use crate::thread::Thread;

impl Program {
    /// Returns the object with the next id. The program sees only its own objects.
    pub(super) fn next_id(&self, command: u64, at: u64, attr: &Attr) -> Answer {
        let after = attr.u32(0);
        let next = self.ids(command).into_iter().map(|(id, _)| id).filter(|&id| id > after).min();
        match next {
            Some(id) => self.put(at + 4, &id.to_le_bytes(), 0),
            None => error(libc::ENOENT),
        }
    }

    /// Opens a descriptor of the object with this id.
    pub(super) fn by_id(&mut self, t: &mut Thread, command: u64, attr: &Attr) -> Done {
        let wanted = attr.u32(0);
        let found = self.ids(command).into_iter().find(|(id, _)| *id == wanted);
        let Some((_, (fd, open))) = found else { return Ok(error(libc::ENOENT)) };
        let copy = self.copy_number(t, fd, libc::F_DUPFD_CLOEXEC)?;
        if copy >= 0 {
            self.fds.share(copy as i32, open);
        }
        Ok(Answer::Value(copy))
    }

    /// Returns the open objects of the kind that a command is about: their ids, and a descriptor of each.
    fn ids(&self, command: u64) -> Vec<(u32, (i32, Open))> {
        let id = |kind: &Kind| match (command, kind) {
            (cmd::MAP_GET_NEXT_ID | cmd::MAP_GET_FD_BY_ID, Kind::Map(number))
            | (cmd::PROG_GET_NEXT_ID | cmd::PROG_GET_FD_BY_ID, Kind::Prog(number))
            | (cmd::BTF_GET_FD_BY_ID, Kind::Btf(number)) => Some(FIRST_ID + number),
            (cmd::LINK_GET_NEXT_ID | cmd::LINK_GET_FD_BY_ID, Kind::Link(link)) => Some(link_id(link)),
            _ => None,
        };
        let open = self.fds.numbers().into_iter().filter_map(|fd| Some((fd, self.fds.get(fd)?)));
        open.filter_map(|(fd, open)| Some((id(&open.kind.borrow())?, (fd, open.clone())))).collect()
    }
}

/// Returns a link's id. There is only one link to the scheduler, and one to each traced program.
pub(super) const fn link_id(link: &Link) -> u32 {
    match link {
        Link::Scheduler | Link::Gone => FIRST_ID,
        Link::Trace(traced) => FIRST_ID + 1 + traced.program,
    }
}
