//! The locks that CPUs waited for, named as in the scheduler's source.

use crate::lines::{Variables, name_of};
use keel_abi::bpf::{Ea, MapId, MapKey, World};
use keel_abi::scx::dsq;
use keel_kernel::Sim;
use keel_kernel::cost::lock::{LockName, LockUse};
use keel_object::Object;
use keel_vm::Vm;
use keel_vm::memory::VmWorld;
use std::collections::BTreeMap;

/// The maximum number of locks that are reported.
const MOST: usize = 16;

/// The use of a lock, or of all locks with one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockOf {
    /// The scheduler's variable or map, or `kernel: ` and the kind of lock. Untrusted text.
    pub name: String,
    /// Its use over the whole run.
    pub uses: LockUse,
}

/// Returns the locks that CPUs waited for, the longest wait first. If no CPU waited, returns the locks taken most
/// often.
pub(crate) fn read(object: &Object, sim: &mut Sim<Vm>) -> Vec<LockOf> {
    let uses = sim.lock_uses();
    let world = sim.engine().world_ref();
    let variables = Variables::of(object, world);
    let mut found: BTreeMap<String, LockUse> = BTreeMap::new();
    for (lock, uses) in uses {
        found.entry(name(lock, object, world, &variables)).or_default().add(uses);
    }
    let mut all: Vec<LockOf> = found.into_iter().map(|(name, uses)| LockOf { name, uses }).collect();
    all.sort_by_key(|lock| std::cmp::Reverse((lock.uses.wait, lock.uses.taken)));
    all.truncate(MOST);
    all
}

pub(crate) fn name(lock: LockName, object: &Object, world: &VmWorld, variables: &Variables<'_>) -> String {
    match lock {
        LockName::Runqueue(cpu) => format!("kernel: runqueue of CPU {}", cpu.0),
        LockName::Queue(id) if id == dsq::GLOBAL => "kernel: global queue".to_owned(),
        LockName::Queue(id) => format!("kernel: dispatch queue {:#x}", id.0),
        LockName::IdleMasks => "kernel: idle masks".to_owned(),
        LockName::NodeIdleMasks(node) => format!("kernel: idle masks of node {}", node.0),
        LockName::CgroupMutex => "kernel: cgroup_mutex".to_owned(),
        LockName::Mutex(id) => format!("kernel: futex of mutex {}", id.0),
        LockName::Condition(id) => format!("kernel: futex of condition {}", id.0),
        LockName::Bpf(at) => of_element(at, object, world).unwrap_or_else(|| of_variable(at, variables)),
    }
}

/// Returns the name of an element of one of the scheduler's maps. All elements of a hash share one name.
fn of_element(at: Ea, object: &Object, world: &VmWorld) -> Option<String> {
    let maps = (0..).map(MapId).zip(&object.maps).filter(|(_, map)| map.initial.is_empty());
    maps.into_iter().find_map(|(id, map)| match world.map_element(id, at)?.0 {
        MapKey::Index(index) => Some(format!("{}[{index}]", map.name)),
        MapKey::At(_) => Some(map.name.clone()),
    })
}

/// Returns the name of a variable, with the offset in it unless that is 0.
fn of_variable(Ea(at): Ea, variables: &Variables<'_>) -> String {
    match variables.at(at) {
        Some((name, 0)) => name.to_owned(),
        Some((name, offset)) => format!("{name}+{offset}"),
        None => name_of(variables, at).0.to_owned(),
    }
}
