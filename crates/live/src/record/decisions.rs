//! Reads the attached scheduler's reports of its decisions ([`keel_trace::policy`]) from its own ring buffer.
//!
//! Only ring buffers with this name that struct_ops programs use are read, because reading from a ring removes its
//! contents. Schedulers come and go, so the search is repeated. The kernel allows it only for root: without
//! capabilities, nothing is read.

use keel_trace::policy;
use keel_trace::story::{Merge, Raw, RawWhat};
use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{MapCore, MapHandle, MapType, ProgramType, RingBuffer, RingBufferBuilder};
use rustix::event::epoll;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

/// The interval between searches, in nanoseconds.
const LOOK_NS: u64 = 500_000_000;
/// The maximum number of rings that are read at once.
const MOST_RINGS: usize = 4;
/// The maximum number of records that are read from one ring at once: more than fit into a ring of `policy.h`.
const TURN: usize = 1 << 13;

/// The rings.
pub(super) struct Decisions {
    cpus: u32,
    rings: Vec<Ring>,
    inbox: Rc<RefCell<Vec<policy::Raw>>>,
    looked: Option<u64>,
}

struct Ring {
    map: u32,
    buffer: RingBuffer<'static>,
}

impl Decisions {
    /// Starts without rings, on a machine with this many CPUs.
    pub(super) fn new(cpus: u32) -> Self {
        Self { cpus, rings: Vec::new(), inbox: Rc::default(), looked: None }
    }

    /// Passes on what was reported from `start` until `now`. Reports with another time belong to another recording, or
    /// are garbage. `filled` becomes ready when a ring does.
    pub(super) fn drain(&mut self, start: u64, now: u64, filled: &OwnedFd, merge: &mut Merge) {
        self.look(now, filled);
        for ring in &self.rings {
            ring.buffer.consume_raw_n(TURN);
        }
        let reported = std::mem::take(&mut *self.inbox.borrow_mut());
        for policy::Raw { at_ns, policy } in reported {
            if (start..=now).contains(&at_ns) {
                let writer = policy.cpu;
                merge.push(Raw { at: at_ns, writer, lost: 0, what: RawWhat::Decision(Box::new(policy)) });
            }
        }
    }

    /// Finds new rings, and drops those that are gone, with their contents.
    fn look(&mut self, now: u64, filled: &OwnedFd) {
        if self.looked.is_some_and(|looked| now.saturating_sub(looked) < LOOK_NS) {
            return;
        }
        self.looked = Some(now);
        let maps = maps_of_schedulers();
        self.rings.retain(|ring| maps.contains(&ring.map) || ring.buffer.consume_raw_n(TURN) > 0);
        for map in maps {
            if self.rings.len() < MOST_RINGS && self.rings.iter().all(|ring| ring.map != map) {
                self.rings.extend(self.open(map, filled));
            }
        }
    }

    /// Returns the ring, if it is one and has the name.
    fn open(&self, id: u32, filled: &OwnedFd) -> Option<Ring> {
        let map = MapHandle::from_map_id(id).ok()?;
        if map.map_type() != MapType::RingBuf || map.name() != policy::RING {
            return None;
        }
        let (inbox, cpus) = (Rc::clone(&self.inbox), self.cpus);
        let mut builder = RingBufferBuilder::new();
        let take = move |bytes: &[u8]| {
            inbox.borrow_mut().extend(policy::read(bytes, cpus));
            0
        };
        builder.add(&map, take).ok()?;
        let buffer = builder.build().ok()?;
        let when = epoll::EventFlags::IN | epoll::EventFlags::ET;
        // Otherwise, the ring is read only at intervals.
        epoll::add(filled, map.as_fd(), epoll::EventData::new_u64(0), when).ok();
        tracing::info!(id, "the scheduler reports its decisions");
        Some(Ring { map: id, buffer })
    }
}

/// Returns the maps that struct_ops programs use.
fn maps_of_schedulers() -> BTreeSet<u32> {
    let options = ProgInfoQueryOptions::default().include_map_ids(true);
    let programs =
        ProgInfoIter::with_query_opts(options).filter(|program| program.ty == ProgramType::StructOps);
    programs.flat_map(|program| program.map_ids).collect()
}
