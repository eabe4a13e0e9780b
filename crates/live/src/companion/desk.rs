//! A companion's access to the running kernel: maps through system calls, rings and global variables in mapped memory.

use super::sys::{Mapped, Place};
use crate::maps;
use keel_object::Outline;
use keel_recipe::companion::{Call, Door, Program};
use libbpf_rs::{
    MapCore, MapFlags, MapHandle, MapType, Object, RingBuffer, RingBufferBuilder, UserRingBuffer,
};
use rustix::time::{ClockId, clock_gettime};
use std::cell::RefCell;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::mpsc::SyncSender;

/// What a thread needs from a loaded object.
pub(crate) struct Parts {
    /// The maps, by their indices in the program.
    maps: Vec<(MapHandle, usize)>,
    /// The sections of variables: each map, its bytes, and whether one of its variables is set.
    sections: Vec<(MapHandle, usize, bool)>,
    /// The variables, by their indices in the program: section, place in it, whether signed.
    variables: Vec<(usize, Place, bool)>,
}

impl Parts {
    /// Looks up what the program names.
    pub(super) fn take(program: &Program, outline: &Outline, object: &Object) -> Result<Self, String> {
        let mut parts = Self { maps: Vec::new(), sections: Vec::new(), variables: Vec::new() };
        for layout in &program.maps {
            let map = maps::handle(object, &layout.map)?;
            let (keys, values) = (map.key_size() as usize, map.value_size() as usize);
            let is_ring = matches!(map.map_type(), MapType::RingBuf | MapType::UserRingBuf);
            if !is_ring && (layout.key_bytes, layout.value_bytes) != (keys, values) {
                return Err(format!("map {} has keys of {keys} and values of {values} bytes", layout.map));
            }
            parts.maps.push((map, layout.key_bytes));
        }
        for &(call, place) in &program.calls {
            let (map, _) = &parts.maps[place];
            if !allows(map.map_type(), call) {
                let name = &program.maps[place].map;
                return Err(format!("maps of the type of {name} have no {}()", call.name()));
            }
        }
        for (place, name) in program.variables.iter().enumerate() {
            parts.variable(name, program.sets(place), outline, object)?;
        }
        Ok(parts)
    }

    fn variable(&mut self, name: &str, set: bool, outline: &Outline, object: &Object) -> Result<(), String> {
        let found = outline.object.variable(name).filter(|variable| variable.signed.is_some());
        let variable = found.ok_or_else(|| format!("the object has no integer {name}"))?;
        let section = &outline.object.maps[variable.map as usize].name;
        if set && section.starts_with(".rodata") {
            return Err(format!("{name} is constant once the object is loaded"));
        }
        let place = Place { at: variable.offset as usize, bytes: variable.size as usize };
        if !place.at.is_multiple_of(place.bytes.max(1)) {
            return Err(format!("{name} is not aligned"));
        }
        let map = maps::handle(object, section)?;
        let known = self.sections.iter().position(|(other, ..)| other.name() == map.name());
        let at = known.unwrap_or_else(|| {
            let bytes = map.value_size() as usize;
            self.sections.push((map, bytes, false));
            self.sections.len() - 1
        });
        self.sections[at].2 |= set;
        self.variables.push((at, place, variable.signed == Some(true)));
        Ok(())
    }
}

fn allows(kind: MapType, call: Call) -> bool {
    match kind {
        MapType::Queue | MapType::Stack => call != Call::Delete,
        MapType::Array => matches!(call, Call::Get | Call::Put),
        MapType::Hash | MapType::LruHash => true,
        MapType::RingBuf => call == Call::Take,
        MapType::UserRingBuf => call == Call::Put,
        _ => false,
    }
}

/// An accessible map.
enum Map {
    /// Through system calls. Contains the size of the key in bytes.
    Plain(MapHandle, usize),
    /// A ring buffer. Contains the last record that was read.
    Ring(RingBuffer<'static>, Rc<RefCell<Vec<u8>>>),
    UserRing(UserRingBuffer),
}

/// Everything that one companion accesses.
pub(super) struct Desk {
    maps: Vec<Map>,
    sections: Vec<Mapped>,
    variables: Vec<(usize, Place, bool)>,
    lines: SyncSender<String>,
}

impl Desk {
    pub(super) fn open(parts: Parts, lines: SyncSender<String>) -> Result<Self, String> {
        let maps = parts.maps.into_iter().map(|(map, key_bytes)| Map::open(map, key_bytes));
        let maps = maps.collect::<Result<_, _>>().map_err(|e: libbpf_rs::Error| e.to_string())?;
        let sections = parts.sections.iter().map(|(map, bytes, set)| Mapped::new(map.as_fd(), *bytes, *set));
        let sections = sections.collect::<Result<_, _>>();
        let sections = sections.map_err(|e| format!("the variables cannot be mapped: {e}"))?;
        Ok(Self { maps, sections, variables: parts.variables, lines })
    }
}

impl Map {
    fn open(map: MapHandle, key_bytes: usize) -> libbpf_rs::Result<Self> {
        Ok(match map.map_type() {
            MapType::RingBuf => {
                let taken = Rc::new(RefCell::new(Vec::new()));
                let into = taken.clone();
                let mut builder = RingBufferBuilder::new();
                builder.add(&map, move |record: &[u8]| {
                    let mut into = into.borrow_mut();
                    into.clear();
                    into.extend_from_slice(record);
                    0
                })?;
                Self::Ring(builder.build()?, taken)
            }
            MapType::UserRingBuf => Self::UserRing(UserRingBuffer::new(&map)?),
            _ => Self::Plain(map, key_bytes),
        })
    }

    fn call(&self, call: Call, record: &mut [u8]) -> bool {
        match self {
            Self::Plain(map, key_bytes) => {
                let (key, value) = record.split_at_mut(*key_bytes);
                plain(map, call, key, value)
            }
            Self::Ring(ring, taken) => {
                if ring.consume_raw_n(1) != 1 {
                    return false;
                }
                let taken = taken.borrow();
                // If a record is shorter than announced, the rest is 0.
                record.fill(0);
                record.iter_mut().zip(taken.iter()).for_each(|(to, &from)| *to = from);
                true
            }
            Self::UserRing(ring) => {
                let Ok(mut sample) = ring.reserve(record.len()) else { return false };
                sample.as_mut().copy_from_slice(record);
                ring.submit(sample).is_ok()
            }
        }
    }
}

/// Makes a system call on a map. If nothing is found, `value` is left unchanged.
fn plain(map: &MapHandle, call: Call, key: &[u8], value: &mut [u8]) -> bool {
    let found = match call {
        Call::Put => return map.update(key, value, MapFlags::ANY).is_ok(),
        Call::Delete => return map.delete(key).is_ok(),
        Call::Get => map.lookup(key, MapFlags::ANY),
        Call::Take => map.lookup_and_delete(key),
    };
    let Ok(Some(found)) = found else { return false };
    value.copy_from_slice(&found);
    true
}

impl Door for Desk {
    fn call(&mut self, call: Call, map: usize, record: &mut [u8]) -> bool {
        self.maps[map].call(call, record)
    }

    fn variable(&mut self, variable: usize) -> i64 {
        let (section, place, signed) = self.variables[variable];
        let (value, unused) = (self.sections[section].read(place), 64 - 8 * place.bytes as u32);
        if signed { (value << unused) as i64 >> unused } else { value as i64 }
    }

    fn set_variable(&mut self, variable: usize, value: i64) {
        let (section, place, _) = self.variables[variable];
        self.sections[section].write(place, value as u64);
    }

    fn now_ns(&mut self) -> u64 {
        let now = clock_gettime(ClockId::Monotonic);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }

    fn print(&mut self, line: &str) {
        // A companion never waits: output that does not fit is lost.
        let _ = self.lines.try_send(line.to_owned());
    }
}
