//! Measures what the hot calls of the world take: `cargo run --release --example memory_rate`.
#![allow(clippy::disallowed_types, reason = "this measures real time, and is no part of a run")]

use keel_abi::bpf::{Ea, MapId, Owner, World};
use keel_abi::lines::{LineCosts, Transfers};
use keel_abi::{CpuId, Topology};
use keel_object::model::MapDef;
use keel_vm::memory::{VmWorld, WorldConfig};
use std::hint::black_box;
use std::time::Instant;

const TASKS: u32 = 10_000;
const CALLS: u32 = 20_000_000;

fn map(kind: u32, value_size: u32, max_entries: u32, flags: u32) -> MapDef {
    MapDef { name: "m".into(), kind, key_size: 4, value_size, max_entries, flags, ..MapDef::default() }
}

fn measure(what: &str, mut call: impl FnMut(u32) -> u64) {
    let mut best = f64::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        let mut sum = 0u64;
        for n in 0..CALLS {
            sum = sum.wrapping_add(call(n));
        }
        black_box(sum);
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS));
    }
    println!("{what:<52} {best:6.2} ns");
}

/// A sequence that no predictor of caches or branches knows.
fn scattered(n: u32) -> u32 {
    ((u64::from(n.wrapping_mul(0x9e37_79b1)) * u64::from(TASKS)) >> 32) as u32
}

fn main() {
    let maps = [map(29, 120, 0, 1), map(2, 64, 512, 0), map(6, 64, 4, 0), map(1, 16, TASKS * 2, 0)];
    let [storage, array, per_cpu, hash] = [0, 1, 2, 3].map(MapId);
    let transfers = Transfers::new(Topology::regular(2, 1, 32, 1), LineCosts::default());
    let mut world = VmWorld::new(&maps, WorldConfig::new(transfers, 64)).expect("the maps are possible");
    let key = world.alloc(8).expect("room for a key");
    let value = world.alloc(16).expect("room for a value");
    for task in 0..TASKS {
        world.storage_get(storage, Owner::Task(task), true, Ea::NULL).expect("room for a value");
        world.put(key, &task.to_le_bytes());
        world.map_update(hash, key, value, 0, CpuId(0)).expect("room for an element");
    }
    let get = |world: &mut VmWorld, n| {
        world.storage_get(storage, Owner::Task(n), false, Ea::NULL).map_or(0, |at| at.0)
    };

    measure("storage_get, 4 tasks", |n| get(&mut world, n % 4));
    measure("storage_get, 10,000 tasks", |n| get(&mut world, scattered(n)));
    measure("storage_get and a word of it, 10,000 tasks", |n| {
        let at = get(&mut world, scattered(n));
        world.u64_at(Ea(at))
    });
    measure("map_lookup in an array", |n| {
        world.put(key, &(n % 512).to_le_bytes());
        world.map_lookup(array, key, CpuId(0)).map_or(0, |at| at.0)
    });
    measure("map_lookup in a per-CPU array", |n| {
        world.put(key, &(n % 4).to_le_bytes());
        world.map_lookup(per_cpu, key, CpuId(n % 64)).map_or(0, |at| at.0)
    });
    measure("map_lookup in a hash, 10,000 keys", |n| {
        world.put(key, &scattered(n).to_le_bytes());
        world.map_lookup(hash, key, CpuId(0)).map_or(0, |at| at.0)
    });
    measure("map_update in a hash, 10,000 keys", |n| {
        world.put(key, &scattered(n).to_le_bytes());
        world.map_update(hash, key, value, 0, CpuId(0)).is_ok().into()
    });
    measure("u64_at, one address", |_| world.u64_at(black_box(key)));
    measure("put of 8 bytes", |n| {
        world.put(black_box(key), &u64::from(n).to_le_bytes());
        0
    });
    measure("touch_ps of a held line", |_| world.touch_ps(black_box(key), 8, CpuId(1), true));
    measure("touch_ps of a line between two CPUs", |n| world.touch_ps(black_box(key), 8, CpuId(n & 1), true));
    measure("alloc and free of 128 bytes", |_| {
        let at = world.alloc(128).expect("room for an object");
        world.free(at);
        at.0
    });
    measure("map_at", |n| {
        world.map_at(black_box(world.map_handle(MapId(n & 3)))).map_or(0, |map| map.0.into())
    });
    measure("storage_forget of a task with nothing", |n| {
        world.storage_forget(Owner::Task(TASKS + (n & 1023)));
        0
    });
}
