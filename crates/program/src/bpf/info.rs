//! Provides information about the program's objects: `BPF_OBJ_GET_INFO_BY_FD`.

use super::attr::Attr;
use super::ids::link_id;
use crate::calls::{Answer, error};
use crate::fds::{Kind, Link};
use crate::program::Program;

/// The sizes of `struct bpf_map_info`, `bpf_prog_info`, `bpf_btf_info` and `bpf_link_info`, as far as they are filled,
/// in bytes.
const MAP_BYTES: usize = 88;
const PROG_BYTES: usize = 232;
const BTF_BYTES: usize = 32;
const LINK_BYTES: usize = 16;
/// `BPF_LINK_TYPE_TRACING`, `BPF_LINK_TYPE_STRUCT_OPS`.
const TRACING: u32 = 2;
const STRUCT_OPS: u32 = 9;
/// The first id of each kind. The kernel's own come before it.
pub(super) const FIRST_ID: u32 = 100;

impl Program {
    pub(super) fn info(&mut self, attr: &Attr) -> Answer {
        let Some(open) = self.fds.get(attr.fd(0)) else { return error(libc::EBADF) };
        let info = match *open.kind.borrow() {
            Kind::Map(map) => self.map_info(map),
            Kind::Prog(prog) => self.prog_info(prog),
            Kind::Btf(types) => {
                let mut info = vec![0; BTF_BYTES];
                let bytes = &self.bpf.types[types as usize];
                info[8..12].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
                info[12..16].copy_from_slice(&(FIRST_ID + types).to_le_bytes());
                info
            }
            Kind::Link(ref link) => {
                let mut info = vec![0; LINK_BYTES];
                let kind = if matches!(link, Link::Trace(_)) { TRACING } else { STRUCT_OPS };
                info[..4].copy_from_slice(&kind.to_le_bytes());
                info[4..8].copy_from_slice(&link_id(link).to_le_bytes());
                info
            }
            _ => return error(libc::EINVAL),
        };
        let len = (attr.u32(4) as usize).min(info.len());
        match self.put(attr.u64(8), &info[..len], 0) {
            Answer::Value(0) => Answer::Value(0),
            other => other,
        }
    }

    fn map_info(&self, number: u32) -> Vec<u8> {
        let map = &self.bpf.maps[number as usize];
        let mut info = vec![0; MAP_BYTES];
        let words = [map.kind, FIRST_ID + number, map.key_size, map.value_size, map.max_entries, map.flags];
        words
            .iter()
            .enumerate()
            .for_each(|(i, word)| info[4 * i..][..4].copy_from_slice(&word.to_le_bytes()));
        info[24..][..map.name.len().min(15)].copy_from_slice(&map.name.as_bytes()[..map.name.len().min(15)]);
        info[80..88].copy_from_slice(&map.extra.to_le_bytes());
        info
    }

    fn prog_info(&self, number: u32) -> Vec<u8> {
        let prog = &self.bpf.progs[number as usize];
        let mut info = vec![0; PROG_BYTES];
        info[..4].copy_from_slice(&prog.kind.to_le_bytes());
        info[4..8].copy_from_slice(&(FIRST_ID + number).to_le_bytes());
        info[64..][..prog.name.len().min(15)]
            .copy_from_slice(&prog.name.as_bytes()[..prog.name.len().min(15)]);
        info
    }
}
