//! Runs a recipe's companions on the simulated kernel: tasks whose scripts access the engine's maps and global
//! variables, as system calls and mapped memory would.

use crate::error::LabError;
use keel_abi::bpf::{Ea, Engine, MapId, World};
use keel_abi::companion::{Act, Companion as Task, View};
use keel_abi::{CpuId, Instant};
use keel_kernel::Beside;
use keel_object::{MapDef, Object, Variable};
use keel_recipe::companion::{Call, Door, Layout, Machine, Pause, Rest};
use keel_recipe::{Action, Companion};
use keel_vm::Vm;
use keel_vm::memory::VmWorld;

/// The number of instructions to read or write one record of a mapped ring: headers, positions, the copy.
const RING_INSNS: u64 = 40;

/// The kind of a map as user space sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A queue or a stack.
    Queue,
    /// An array: its elements always exist.
    Array,
    /// A hash table.
    Hash,
    /// A ring buffer, mapped.
    Ring,
    /// A user ring buffer, mapped.
    UserRing,
}

impl Kind {
    /// Returns the kind for a `BPF_MAP_TYPE_*`, if user space can access it.
    fn of(kind: u32) -> Option<Self> {
        Some(match kind {
            22 | 23 => Self::Queue,
            2 => Self::Array,
            1 | 9 => Self::Hash,
            27 => Self::Ring,
            31 => Self::UserRing,
            _ => return None,
        })
    }

    fn has_key(self) -> bool {
        matches!(self, Self::Array | Self::Hash)
    }

    fn allows(self, call: Call) -> bool {
        match self {
            Self::Queue => call != Call::Delete,
            Self::Array => matches!(call, Call::Get | Call::Put),
            Self::Hash => true,
            Self::Ring => call == Call::Take,
            Self::UserRing => call == Call::Put,
        }
    }

    /// Returns the helper that does the same in a program.
    fn helper(self, call: Call) -> &'static str {
        match (self, call) {
            (Self::Queue, Call::Take) => "bpf_map_pop_elem",
            (Self::Queue, Call::Put) => "bpf_map_push_elem",
            (Self::Queue, _) => "bpf_map_peek_elem",
            (_, Call::Get) => "bpf_map_lookup_elem",
            (_, Call::Put) => "bpf_map_update_elem",
            (_, Call::Take | Call::Delete) => "bpf_map_delete_elem",
        }
    }
}

/// A map that a companion uses.
struct Map {
    id: MapId,
    kind: Kind,
    key_bytes: usize,
}

/// A companion that runs as a task.
struct RunObserver {
    machine: Machine,
    rest: Rest,
    maps: Vec<Map>,
    variables: Vec<Variable>,
    /// Memory for a key and a value in the world.
    scratch: Ea,
}

/// Returns the recipe's companions, for this object.
pub(crate) fn companions(
    name: &str,
    actions: &[Action],
    object: &Object,
    vm: &mut Vm,
) -> Result<Vec<Beside<VmWorld>>, LabError> {
    let mut all = Vec::new();
    for action in actions {
        let Action::Accompany(companion) = action else { continue };
        let task = run_observer(companion, object, vm).map_err(|why| {
            LabError::BadInput(format!("{name}: the recipe's companion {}: {why}", companion.name))
        })?;
        all.push(Beside { name: companion.name.clone(), companion: Box::new(task) });
    }
    Ok(all)
}

fn run_observer(companion: &Companion, object: &Object, vm: &mut Vm) -> Result<RunObserver, String> {
    let program = &companion.program;
    let maps: Vec<Map> = program.maps.iter().map(|layout| map(layout, object)).collect::<Result<_, _>>()?;
    for &(call, place) in &program.calls {
        if !maps[place].kind.allows(call) {
            let map = &program.maps[place].map;
            return Err(format!("maps of the type of {map} have no {}()", call.name()));
        }
    }
    let mut variables = Vec::new();
    for (place, wanted) in program.variables.iter().enumerate() {
        let found =
            object.variable(wanted).filter(|variable| variable.signed.is_some() && variable.size <= 8);
        let variable = found.ok_or_else(|| format!("the object has no integer {wanted}"))?;
        let section = &object.maps[variable.map as usize].name;
        if program.sets(place) && section.starts_with(".rodata") {
            return Err(format!("{wanted} is constant once the object is loaded"));
        }
        variables.push(variable.clone());
    }
    let most = program.maps.iter().map(Layout::bytes).max().unwrap_or(0) as u64 + 16;
    let scratch = vm.world().alloc(most).ok_or("there is no memory for its records")?;
    Ok(RunObserver { machine: Machine::new(program), rest: companion.rest, maps, variables, scratch })
}

fn map(layout: &Layout, object: &Object) -> Result<Map, String> {
    let Layout { map: name, key_bytes, value_bytes, .. } = layout;
    let found = object.maps.iter().enumerate().find(|(_, map)| map.name == *name);
    let (place, def) = found.ok_or_else(|| format!("the object has no map {name}"))?;
    let kind =
        Kind::of(def.kind).ok_or_else(|| format!("a companion cannot use maps of the type of {name}"))?;
    let MapDef { key_size, value_size, .. } = *def;
    let is_ring = matches!(kind, Kind::Ring | Kind::UserRing);
    let keys = if kind.has_key() { key_size as usize } else { 0 };
    if *key_bytes != keys {
        return Err(format!("keys of map {name} have {keys} bytes, not {key_bytes}"));
    }
    if !is_ring && *value_bytes != value_size as usize {
        return Err(format!("values of map {name} have {value_size} bytes, not {value_bytes}"));
    }
    Ok(Map { id: MapId(place as u32), kind, key_bytes: *key_bytes })
}

impl Task<VmWorld> for RunObserver {
    fn go_on(&mut self, world: &mut VmWorld, cpu: CpuId, now: Instant, _: &dyn View) -> Act {
        let Self { machine, rest, maps, variables, scratch } = self;
        let mut desk = Desk { world, cpu, now, maps, variables, scratch: *scratch, stall_ps: 0, last: None };
        let pause = machine.go_on(&mut desk);
        let Desk { stall_ps, last, .. } = desk;
        match pause {
            Pause::Worked(insns) => Act::Work { insns, stall_ps },
            Pause::Called(call) => match last {
                Some(Last::Called(Kind::Ring | Kind::UserRing)) => Act::Work { insns: RING_INSNS, stall_ps },
                Some(Last::Called(kind)) => Act::Call { helper: kind.helper(call), stall_ps },
                _ => unreachable!("the desk was asked"),
            },
            Pause::Printed => match last {
                Some(Last::Printed(line)) => Act::Print(line),
                _ => unreachable!("the desk was asked"),
            },
            Pause::Round => match rest {
                Rest::Yield => Act::Yield,
                Rest::Sleep(span) => Act::Sleep(*span),
            },
            Pause::Failed(why) => Act::Fail(why),
        }
    }
}

/// A companion's last action that was not work.
enum Last {
    Called(Kind),
    Printed(String),
}

/// The world, as a companion sees it.
struct Desk<'a> {
    world: &'a mut VmWorld,
    cpu: CpuId,
    now: Instant,
    maps: &'a [Map],
    variables: &'a [Variable],
    scratch: Ea,
    stall_ps: u64,
    last: Option<Last>,
}

impl Desk<'_> {
    /// Returns the value's offset in the memory: aligned, after the key.
    fn value_at(&self, map: &Map) -> Ea {
        self.scratch.offset(map.key_bytes.next_multiple_of(8) as u64)
    }

    fn put_in(&mut self, at: Ea, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.world.put(at, bytes);
        }
    }

    fn take_out(&self, at: Ea, bytes: &mut [u8]) {
        if let Some(from) = self.world.slice(at, bytes.len() as u64) {
            bytes.copy_from_slice(from);
        }
    }

    fn queue(&mut self, call: Call, map: &Map, value: &mut [u8]) -> bool {
        let at = self.value_at(map);
        self.put_in(at, value);
        match call {
            Call::Put => self.world.map_push(map.id, at, 0).is_ok(),
            _ => {
                let done = self.world.map_pop(map.id, at, call == Call::Get).is_ok();
                if done {
                    self.take_out(at, value);
                }
                done
            }
        }
    }

    /// Accesses a map with keys. If there is no such element, the record's own values are left unchanged.
    fn keyed(&mut self, call: Call, map: &Map, key: &[u8], value: &mut [u8]) -> bool {
        let (key_at, at) = (self.scratch, self.value_at(map));
        self.put_in(key_at, key);
        if call == Call::Put {
            self.put_in(at, value);
            return self.world.map_update(map.id, key_at, at, 0, self.cpu).is_ok();
        }
        if call == Call::Delete {
            return self.world.map_delete(map.id, key_at).is_ok();
        }
        let Some(found) = self.world.map_lookup(map.id, key_at, self.cpu) else { return false };
        self.stall_ps += self.world.touch_ps(found, value.len() as u64, self.cpu, false);
        self.take_out(found, value);
        call == Call::Get || self.world.map_delete(map.id, key_at).is_ok()
    }

    /// Moves a variable's cache lines to the companion's CPU.
    fn place(&mut self, variable: &Variable, write: bool) {
        if let Some(at) = self.world.map_value_address(MapId(variable.map), variable.offset) {
            self.stall_ps += self.world.touch_ps(at, variable.size.into(), self.cpu, write);
        }
    }
}

impl Door for Desk<'_> {
    fn call(&mut self, call: Call, map: usize, record: &mut [u8]) -> bool {
        let map = &self.maps[map];
        self.last = Some(Last::Called(map.kind));
        let (key, value) = record.split_at_mut(map.key_bytes);
        match map.kind {
            Kind::Queue => self.queue(call, map, value),
            Kind::Array | Kind::Hash => self.keyed(call, map, key, value),
            Kind::Ring => {
                let taken = self.world.take_records(map.id, 1).and_then(|records| records.into_iter().next());
                let Some(taken) = taken else { return false };
                // If a record is shorter than declared, the rest is 0.
                value.fill(0);
                value.iter_mut().zip(taken).for_each(|(to, from)| *to = from);
                true
            }
            Kind::UserRing => self.world.put_record(map.id, value).is_ok(),
        }
    }

    fn variable(&mut self, variable: usize) -> i64 {
        let variable = &self.variables[variable];
        self.place(variable, false);
        let bytes = self.world.read_variable(MapId(variable.map), variable.offset, variable.size);
        let mut word = [0; 8];
        let bytes = bytes.unwrap_or_default();
        word[..bytes.len()].copy_from_slice(bytes);
        let (value, unused) = (u64::from_le_bytes(word), 64 - 8 * variable.size);
        match variable.signed {
            Some(true) => (value << unused) as i64 >> unused,
            _ => value as i64,
        }
    }

    fn set_variable(&mut self, variable: usize, value: i64) {
        let variable = &self.variables[variable];
        self.place(variable, true);
        let bytes = value.to_le_bytes();
        self.world.write_variable(MapId(variable.map), variable.offset, &bytes[..variable.size as usize]);
    }

    fn now_ns(&mut self) -> u64 {
        self.now.as_ns()
    }

    fn print(&mut self, line: &str) {
        self.last = Some(Last::Printed(line.to_owned()));
    }
}
