//! Handles many elements of a map in one call: `BPF_MAP_LOOKUP_BATCH` and related commands.

use super::attr::Attr;
use super::cmd;
use super::maps::{Map, kind};
use crate::ProgramError;
use crate::calls::{Answer, error};
use crate::desk::Desk;
use crate::program::Program;
use keel_abi::bpf::Errno;

/// The offset of the count, which the kernel changes, in the parameters.
const COUNT_AT: u64 = 32;
/// `BPF_F_LOCK`.
const LOCK: u64 = 4;
/// The kernel's internal error number for an operation that a kind of map does not support.
const ENOTSUPP: i32 = 524;

/// A command, as the program gives it.
struct Batch {
    map: u32,
    from: u64,
    next: u64,
    keys: u64,
    values: u64,
    count: u32,
}

/// Where a walk continues, so that the next batch need not pass all elements again.
#[derive(Debug)]
pub(super) struct Walked {
    /// The number of elements before, which is what the program passes back.
    passed: u32,
    /// The last of them.
    last: Vec<u8>,
    /// The map's index in the loaded object at that time: its elements have another order there than before.
    place: Option<u32>,
}

impl Map {
    /// Returns whether its elements have keys, which are added and removed.
    fn is_hash(&self) -> bool {
        let ordinary = matches!(self.kind, kind::HASH | kind::PERCPU_HASH);
        ordinary || matches!(self.kind, kind::LRU_HASH | kind::LRU_PERCPU_HASH)
    }
}

impl Program {
    /// Executes a command whose parameters are at `at`.
    pub(super) fn batch_call(
        &mut self,
        command: u64,
        at: u64,
        attr: &Attr,
        desk: &mut dyn Desk,
    ) -> Result<Answer, ProgramError> {
        let Some(map) = self.map_of(attr.fd(36)) else { return Ok(error(libc::EBADF)) };
        let batch = Batch {
            map,
            from: attr.u64(0),
            next: attr.u64(8),
            keys: attr.u64(16),
            values: attr.u64(24),
            count: attr.u32(32),
        };
        let m = &self.bpf.maps[map as usize];
        let is_write = command != cmd::MAP_LOOKUP_BATCH;
        let (flags, elem_flags) = (attr.u64(48), attr.u64(40));
        if m.frozen && is_write {
            return Ok(error(libc::EPERM));
        }
        let is_known = m.is_hash() || (m.is_array() && is_lookup_or_update(command));
        if !is_known {
            return Ok(error(ENOTSUPP));
        }
        if elem_flags & !LOCK != 0 || flags != 0 {
            return Ok(error(libc::EINVAL));
        }
        if batch.count == 0 {
            return Ok(Answer::Value(0));
        }
        let (done, ended) = match command {
            cmd::MAP_UPDATE_BATCH => self.update_all(&batch, elem_flags, desk),
            cmd::MAP_DELETE_BATCH => self.delete_all(&batch, desk),
            _ => self.look_all_up(&batch, command == cmd::MAP_LOOKUP_AND_DELETE_BATCH, desk),
        };
        if !self.host.write(at + COUNT_AT, &done.to_le_bytes()) {
            return Ok(error(libc::EFAULT));
        }
        Ok(ended.map_or_else(|errno| error(errno.0), |()| Answer::Value(0)))
    }

    /// Looks up elements from some element on, with their keys. The program passes back only where to continue: an
    /// array's last key, as on a kernel, or else the number of elements that it has already got.
    fn look_all_up(&mut self, batch: &Batch, take: bool, desk: &mut dyn Desk) -> (u32, Result<(), Errno>) {
        let (map, mut done) = (batch.map, 0);
        let (mut at, mut passed) = match self.begin_of(batch, take, desk) {
            Ok(begin) => begin,
            Err(errno) => return (0, Err(errno)),
        };
        let ended = loop {
            let next = self.next_key(map, at.as_deref(), desk);
            let key = match next {
                Err(errno) => break Err(errno),
                // As on a kernel, only a walk through a hash map detects the end in advance.
                Ok(_) if done == batch.count => break Ok(()),
                Ok(key) => key,
            };
            if let Err(errno) = self.give(batch, done, &key, desk) {
                return (0, Err(errno));
            }
            (done, passed) = (done + 1, passed + 1);
            let is_array = self.bpf.maps[map as usize].is_array();
            if is_array && done == batch.count {
                at = Some(key);
                break Ok(());
            }
            if take {
                if let Err(errno) = self.remove(map, &key, desk) {
                    break Err(errno);
                }
            } else {
                at = Some(key);
            }
        };
        let m = &mut self.bpf.maps[map as usize];
        let next = match (m.is_array(), at) {
            (true, Some(last)) => last,
            (false, Some(last)) if !take => {
                m.walked = Some(Walked { passed, last, place: m.place });
                passed.to_le_bytes().to_vec()
            }
            _ => (if take { 0_u32 } else { passed }).to_le_bytes().to_vec(),
        };
        if self.host.write(batch.next, &next) { (done, ended) } else { (done, Err(Errno(libc::EFAULT))) }
    }

    /// Returns the key after which a walk begins, and how many elements are before it.
    fn begin_of(
        &mut self,
        batch: &Batch,
        take: bool,
        desk: &mut dyn Desk,
    ) -> Result<(Option<Vec<u8>>, u32), Errno> {
        if batch.from == 0 || take {
            return Ok((None, 0));
        }
        let mut token = [0; 4];
        if !self.host.read(batch.from, &mut token) {
            return Err(Errno(libc::EFAULT));
        }
        if self.bpf.maps[batch.map as usize].is_array() {
            return Ok((Some(token.to_vec()), 0));
        }
        let passed = u32::from_le_bytes(token);
        let m = &self.bpf.maps[batch.map as usize];
        let known = m.walked.as_ref().filter(|walked| walked.passed == passed && walked.place == m.place);
        if let Some(last) = known.map(|walked| walked.last.clone())
            && self.value(batch.map, &last, desk).is_ok()
        {
            return Ok((Some(last), passed));
        }
        let mut at = None;
        for _ in 0..passed {
            at = Some(self.next_key(batch.map, at.as_deref(), desk)?);
        }
        Ok((at, passed))
    }

    /// Writes one element where the program wants it.
    fn give(&mut self, batch: &Batch, place: u32, key: &[u8], desk: &mut dyn Desk) -> Result<(), Errno> {
        let value = self.value(batch.map, key, desk)?;
        let at = |start: u64, bytes: usize| start.saturating_add(u64::from(place) * bytes as u64);
        let is_written = self.host.write(at(batch.keys, key.len()), key)
            && self.host.write(at(batch.values, value.len()), &value);
        if is_written { Ok(()) } else { Err(Errno(libc::EFAULT)) }
    }

    fn update_all(&mut self, batch: &Batch, flags: u64, desk: &mut dyn Desk) -> (u32, Result<(), Errno>) {
        for done in 0..batch.count {
            let value = self.piece(batch.values, self.user_bytes(batch.map), done);
            let set = self.key_of(batch, done).and_then(|key| {
                let value = value?;
                self.set_value(batch.map, key, value, flags & !LOCK, desk)
            });
            if let Err(errno) = set {
                return (done, Err(errno));
            }
        }
        (batch.count, Ok(()))
    }

    fn delete_all(&mut self, batch: &Batch, desk: &mut dyn Desk) -> (u32, Result<(), Errno>) {
        for done in 0..batch.count {
            let gone = self.key_of(batch, done).and_then(|key| self.remove(batch.map, &key, desk));
            if let Err(errno) = gone {
                return (done, Err(errno));
            }
        }
        (batch.count, Ok(()))
    }

    fn key_of(&self, batch: &Batch, place: u32) -> Result<Vec<u8>, Errno> {
        self.piece(batch.keys, self.bpf.maps[batch.map as usize].key_size as usize, place)
    }

    /// Reads the bytes of a key or a value in a list of them.
    fn piece(&self, start: u64, bytes: usize, place: u32) -> Result<Vec<u8>, Errno> {
        let mut piece = vec![0; bytes];
        let at = start.saturating_add(u64::from(place) * bytes as u64);
        if self.host.read(at, &mut piece) { Ok(piece) } else { Err(Errno(libc::EFAULT)) }
    }
}

fn is_lookup_or_update(command: u64) -> bool {
    matches!(command, cmd::MAP_LOOKUP_BATCH | cmd::MAP_UPDATE_BATCH)
}
