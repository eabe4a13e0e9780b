//! Reads the scheduler's global variables after a run.

use keel_object::{Object, Variable};
use keel_vm::memory::VmWorld;

/// A global integer, boolean or enum of the object: its name, and its value, sign-extended to 64 bits if its type is
/// signed.
pub type Value = (String, u64);

/// Returns all variables, in the object's order, except arrays, structs and pointers.
pub(crate) fn read(object: &Object, world: &VmWorld) -> Vec<Value> {
    object
        .variables
        .iter()
        .filter_map(|variable| Some((variable.name.clone(), value(variable, world)?)))
        .collect()
}

/// Returns the bytes of all variables, of every type, one after another in the object's order.
pub(crate) fn bytes(object: &Object, world: &VmWorld) -> Vec<u8> {
    let mut all = Vec::new();
    for variable in &object.variables {
        let map = keel_abi::bpf::MapId(variable.map);
        all.extend_from_slice(world.read_variable(map, variable.offset, variable.size).unwrap_or_default());
    }
    all
}

fn value(variable: &Variable, world: &VmWorld) -> Option<u64> {
    let signed = variable.signed?;
    let bytes = world.read_variable(keel_abi::bpf::MapId(variable.map), variable.offset, variable.size)?;
    let mut word = [0; 8];
    word.get_mut(..bytes.len())?.copy_from_slice(bytes);
    let (value, unused) = (u64::from_le_bytes(word), 64 - 8 * bytes.len() as u32);
    Some(if signed { ((value << unused) as i64 >> unused) as u64 } else { value })
}
