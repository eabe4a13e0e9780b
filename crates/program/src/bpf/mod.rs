//! Answers bpf(2).
//!
//! Nothing is loaded until the program runs or attaches something: maps keep the elements that it puts into them, and
//! programs are stored. Then [`object`](crate::object) makes an object from both, and later a larger one if more is
//! loaded. From then on the owner has the maps ([`Desk`]), except those that the program maps into its memory: these
//! are files that both share.

pub(crate) mod arenas;
mod attr;
mod batch;
mod elements;
mod ids;
mod info;
pub(crate) mod maps;
mod nested;
mod pins;
pub(crate) mod progs;
pub(crate) mod rings;

use crate::ProgramError;
use crate::calls::{Answer, error};
use crate::desk::Desk;
use crate::fds::{Kind, Link};
use crate::names::command_name;
use crate::object::Traced;
use crate::program::{Event, Program};
use crate::thread::Thread;
use attr::Attr;
use keel_object::Btf;
use keel_object::btf::TypeId;
use maps::Map;
use progs::Prog;
use std::collections::BTreeMap;

/// Commands of bpf(2).
mod cmd {
    pub(super) const MAP_CREATE: u64 = 0;
    pub(super) const MAP_LOOKUP_ELEM: u64 = 1;
    pub(super) const MAP_UPDATE_ELEM: u64 = 2;
    pub(super) const MAP_DELETE_ELEM: u64 = 3;
    pub(super) const MAP_GET_NEXT_KEY: u64 = 4;
    pub(super) const PROG_LOAD: u64 = 5;
    pub(super) const OBJ_PIN: u64 = 6;
    pub(super) const OBJ_GET: u64 = 7;
    pub(super) const PROG_TEST_RUN: u64 = 10;
    pub(super) const PROG_GET_NEXT_ID: u64 = 11;
    pub(super) const MAP_GET_NEXT_ID: u64 = 12;
    pub(super) const PROG_GET_FD_BY_ID: u64 = 13;
    pub(super) const MAP_GET_FD_BY_ID: u64 = 14;
    pub(super) const OBJ_GET_INFO_BY_FD: u64 = 15;
    pub(super) const RAW_TRACEPOINT_OPEN: u64 = 17;
    pub(super) const BTF_LOAD: u64 = 18;
    pub(super) const BTF_GET_FD_BY_ID: u64 = 19;
    pub(super) const MAP_LOOKUP_AND_DELETE_ELEM: u64 = 21;
    pub(super) const MAP_FREEZE: u64 = 22;
    pub(super) const BTF_GET_NEXT_ID: u64 = 23;
    pub(super) const MAP_LOOKUP_BATCH: u64 = 24;
    pub(super) const MAP_LOOKUP_AND_DELETE_BATCH: u64 = 25;
    pub(super) const MAP_UPDATE_BATCH: u64 = 26;
    pub(super) const MAP_DELETE_BATCH: u64 = 27;
    pub(super) const LINK_CREATE: u64 = 28;
    pub(super) const LINK_UPDATE: u64 = 29;
    pub(super) const LINK_GET_FD_BY_ID: u64 = 30;
    pub(super) const LINK_GET_NEXT_ID: u64 = 31;
    pub(super) const LINK_DETACH: u64 = 34;
    pub(super) const PROG_BIND_MAP: u64 = 35;
    pub(super) const TOKEN_CREATE: u64 = 36;
    pub(super) const PROG_STREAM_READ_BY_FD: u64 = 37;
    pub(super) const PROG_ASSOC_STRUCT_OPS: u64 = 38;
}

/// `BPF_STRUCT_OPS`, `BPF_PERF_EVENT` among the types of links.
const ATTACH_STRUCT_OPS: u32 = 44;
const ATTACH_PERF_EVENT: u32 = 41;

/// What the program has created with bpf(2).
pub(crate) struct Bpf {
    /// The kernel's types.
    pub(crate) kernel: Btf,
    pub(crate) cpus: u32,
    pub(crate) maps: Vec<Map>,
    pub(crate) progs: Vec<Prog>,
    pub(crate) types: Vec<Vec<u8>>,
    /// For each program, its index in the loaded object.
    pub(crate) loaded: Option<Vec<Option<u32>>>,
    /// Whether a scheduler is attached.
    pub(crate) is_attached: bool,
    /// Whether one has ever been attached.
    pub(crate) was_attached: bool,
    /// Whether the scheduler ends with a link's descriptor; otherwise it ends with the map's value.
    pub(crate) by_link: bool,
    /// The objects with a name in bpffs.
    pub(crate) pins: BTreeMap<String, pins::Pin>,
    /// The name of the last attached scheduler.
    pub(crate) ops_name: String,
}

impl Bpf {
    pub(crate) fn new(kernel: &[u8], cpus: u32) -> Result<Self, ProgramError> {
        let kernel =
            Btf::parse(kernel).map_err(|e| ProgramError::Host(format!("the kernel's types: {e}")))?;
        let (maps, progs, types) = Default::default();
        Ok(Self {
            kernel,
            cpus,
            maps,
            progs,
            types,
            loaded: None,
            is_attached: false,
            was_attached: false,
            by_link: true,
            pins: BTreeMap::new(),
            ops_name: String::new(),
        })
    }

    /// Returns the kernel's type with this number, if there is one. Number 0 stands for none.
    pub(crate) fn kernel_type(&self, id: u32) -> Option<TypeId> {
        (id != 0 && (id as usize) < self.kernel.len()).then_some(TypeId(id))
    }

    /// Forgets what was loaded, because the scheduler is gone and the program loads another object.
    pub(crate) fn begin_again(&mut self) {
        self.loaded = None;
        self.maps.iter_mut().for_each(|map| map.place = None);
    }

    /// Forgets what was mapped, because the program's memory is gone.
    pub(crate) fn unmap(&mut self) {
        self.maps.iter_mut().for_each(|map| map.mapped_at = None);
    }

    /// Returns a program's index in the loaded object.
    pub(crate) fn place_of(&self, prog: u32) -> Option<u32> {
        *self.loaded.as_ref()?.get(prog as usize)?
    }

    /// Returns the programs of the loaded object, by index.
    pub(crate) fn in_places(&self) -> Vec<u32> {
        let places = self.loaded.iter().flatten().zip(0..);
        let mut placed: Vec<(u32, u32)> = places.filter_map(|(place, n)| Some(((*place)?, n))).collect();
        placed.sort_unstable();
        placed.into_iter().map(|(_, n)| n).collect()
    }

    /// Returns its maps, by index.
    pub(crate) fn maps_in_places(&self) -> Vec<u32> {
        let mut placed: Vec<(u32, u32)> =
            (0..).zip(&self.maps).filter_map(|(n, map)| Some((map.place?, n))).collect();
        placed.sort_unstable();
        placed.into_iter().map(|(_, n)| n).collect()
    }

    /// Notes that the program has mapped a map's pages at this address.
    pub(crate) fn mapped(&mut self, map: u32, at: u64) {
        let map = &mut self.maps[map as usize];
        map.mapped_at.get_or_insert(at);
    }
}

type Done = Result<Answer, ProgramError>;

impl Program {
    pub(crate) fn bpf_call(&mut self, t: &mut Thread, a: [u64; 6], desk: &mut dyn Desk) -> Done {
        let [command, at, size, ..] = a;
        let mut attr = Attr([0; attr::BYTES]);
        let len = (size as usize).min(attr::BYTES);
        if size > 4096 {
            return Ok(error(libc::E2BIG));
        }
        if !self.host.read(at, &mut attr.0[..len]) {
            return Ok(error(libc::EFAULT));
        }
        match command {
            cmd::MAP_CREATE => self.map_create(t, &attr),
            cmd::MAP_LOOKUP_ELEM => Ok(self.map_lookup(&attr, desk)),
            cmd::MAP_LOOKUP_AND_DELETE_ELEM => Ok(self.map_take(&attr, desk)),
            cmd::MAP_UPDATE_ELEM => self.map_update(&attr, desk),
            cmd::MAP_DELETE_ELEM => self.map_delete(&attr, desk),
            cmd::MAP_GET_NEXT_KEY => Ok(self.map_next_key(&attr, desk)),
            cmd::MAP_LOOKUP_BATCH..=cmd::MAP_DELETE_BATCH => self.batch_call(command, at, &attr, desk),
            cmd::PROG_GET_NEXT_ID | cmd::MAP_GET_NEXT_ID | cmd::LINK_GET_NEXT_ID => {
                Ok(self.next_id(command, at, &attr))
            }
            cmd::PROG_GET_FD_BY_ID
            | cmd::MAP_GET_FD_BY_ID
            | cmd::BTF_GET_FD_BY_ID
            | cmd::LINK_GET_FD_BY_ID => self.by_id(t, command, &attr),
            cmd::MAP_FREEZE => Ok(match self.map_of(attr.fd(0)) {
                Some(map) => {
                    self.bpf.maps[map as usize].frozen = true;
                    Answer::Value(0)
                }
                None => error(libc::EBADF),
            }),
            cmd::PROG_LOAD => self.prog_load(t, &attr),
            cmd::PROG_TEST_RUN => self.test_run(&attr),
            cmd::OBJ_PIN | cmd::OBJ_GET => self.pin_call(t, command, &attr),
            cmd::OBJ_GET_INFO_BY_FD => Ok(self.info(&attr)),
            cmd::BTF_LOAD => self.btf_load(t, &attr),
            cmd::BTF_GET_NEXT_ID => Ok(error(libc::ENOENT)),
            cmd::LINK_CREATE => self.link_create(t, &attr),
            cmd::LINK_UPDATE | cmd::LINK_DETACH => self.change_link(command, &attr),
            // With a name it would be a program of another kind.
            cmd::RAW_TRACEPOINT_OPEN => match self.prog_of(attr.fd(8)) {
                None => Ok(error(libc::EBADF)),
                Some(prog) => self.attach_trace(prog),
            },
            cmd::PROG_BIND_MAP => Ok(match (self.prog_of(attr.fd(0)), self.map_of(attr.fd(4))) {
                (Some(_), Some(_)) => Answer::Value(0),
                _ => error(libc::EBADF),
            }),
            // No program here writes to its streams.
            cmd::PROG_STREAM_READ_BY_FD => Ok(match self.prog_of(attr.fd(16)) {
                Some(_) => Answer::Value(0),
                None => error(libc::EBADF),
            }),
            // It sets the scheduler of a program: there is only one.
            cmd::PROG_ASSOC_STRUCT_OPS => Ok(match (self.map_of(attr.fd(0)), self.prog_of(attr.fd(4))) {
                (Some(map), Some(_)) if self.bpf.maps[map as usize].kind == maps::kind::STRUCT_OPS => {
                    Answer::Value(0)
                }
                (Some(_), Some(_)) => error(libc::EINVAL),
                _ => error(libc::EBADF),
            }),
            // There is no bpffs that delegates anything.
            cmd::TOKEN_CREATE => Ok(error(libc::EOPNOTSUPP)),
            _ => {
                self.refused.insert(command_name(command));
                Ok(error(libc::EINVAL))
            }
        }
    }

    pub(crate) fn map_of(&self, fd: i32) -> Option<u32> {
        match *self.fds.get(fd)?.kind.borrow() {
            Kind::Map(map) => Some(map),
            _ => None,
        }
    }

    pub(crate) fn prog_of(&self, fd: i32) -> Option<u32> {
        match *self.fds.get(fd)?.kind.borrow() {
            Kind::Prog(prog) => Some(prog),
            _ => None,
        }
    }

    fn btf_load(&mut self, t: &mut Thread, attr: &Attr) -> Done {
        /// The maximum size of a program's types, in bytes.
        const MOST: u32 = 16 << 20;
        let len = attr.u32(16);
        if len > MOST {
            return Ok(error(libc::E2BIG));
        }
        let mut bytes = vec![0; len as usize];
        if !self.host.read(attr.u64(0), &mut bytes) {
            return Ok(error(libc::EFAULT));
        }
        if Btf::parse(&bytes).is_err() {
            return Ok(error(libc::EINVAL));
        }
        self.bpf.types.push(bytes);
        let number = self.bpf.types.len() as u32 - 1;
        self.new_fd(t, Kind::Btf(number), false)
    }

    fn link_create(&mut self, _: &mut Thread, attr: &Attr) -> Done {
        let kind = attr.u32(8);
        let Some(map) = self.map_of(attr.fd(0)) else {
            if kind == ATTACH_PERF_EVENT && self.fds.get(attr.fd(4)).is_none() {
                return Ok(error(libc::EBADF));
            }
            let Some(prog) = self.prog_of(attr.fd(0)) else { return Ok(error(libc::EBADF)) };
            return self.attach_trace(prog);
        };
        let m = &self.bpf.maps[map as usize];
        if kind != ATTACH_STRUCT_OPS || m.kind != maps::kind::STRUCT_OPS || m.flags & maps::LINK == 0 {
            return Ok(error(libc::EINVAL));
        }
        if self.fds.any(|kind| matches!(kind, Kind::Link(Link::Scheduler))) {
            return Ok(error(libc::EBUSY));
        }
        self.attach(map, true)
    }

    /// `BPF_LINK_DETACH`, and `BPF_LINK_UPDATE`, which sched_ext does not support.
    fn change_link(&mut self, command: u64, attr: &Attr) -> Done {
        let Some(open) = self.fds.get(attr.fd(0)).cloned() else { return Ok(error(libc::EBADF)) };
        let link = match &*open.kind.borrow() {
            Kind::Link(link) => link.clone(),
            _ => return Ok(error(libc::EINVAL)),
        };
        match (command, &link) {
            (cmd::LINK_DETACH, Link::Scheduler) => {
                *open.kind.borrow_mut() = Kind::Link(Link::Gone);
                Ok(Answer::Told(0, self.unlink(link)?))
            }
            (cmd::LINK_DETACH, Link::Gone) => Ok(Answer::Value(0)),
            // The map is checked first.
            (cmd::LINK_UPDATE, Link::Scheduler) if self.map_of(attr.fd(4)).is_none() => {
                Ok(error(if self.fds.get(attr.fd(4)).is_some() { libc::EINVAL } else { libc::EBADF }))
            }
            _ => Ok(error(libc::EOPNOTSUPP)),
        }
    }

    /// Attaches a tracing program.
    fn attach_trace(&mut self, prog: u32) -> Done {
        let Prog { name, target, .. } = &self.bpf.progs[prog as usize];
        if target.is_empty() {
            // A kernel without the traced function returns the same.
            self.refused.insert(format!("attaching the traced program {name}"));
            return Ok(error(libc::ENOENT));
        }
        let place = target.clone();
        self.when_loaded(|program| {
            let prog = program.bpf.place_of(prog);
            Ok(prog.map(|program| Event::Trace(Traced { program, place })))
        })
    }

    /// Attaches the scheduler of a struct_ops map.
    fn attach(&mut self, map: u32, by_link: bool) -> Done {
        if self.bpf.is_attached {
            return Ok(error(libc::EBUSY));
        }
        self.bpf.is_attached = true;
        self.bpf.by_link = by_link;
        self.when_loaded(|program| {
            let ops = program.struct_ops(map)?;
            program.bpf.ops_name = ops.name();
            Ok(Some(Event::Attach(Box::new(ops))))
        })
    }

    /// Creates a descriptor of something attached.
    pub(crate) fn new_link(&mut self, t: &mut Thread, link: Link) -> Result<i64, ProgramError> {
        match self.new_fd(t, Kind::Link(link), false)? {
            Answer::Value(fd) => Ok(fd),
            _ => Ok(-i64::from(libc::EMFILE)),
        }
    }
}
