//! Structures of tasks whose lines evict each other: every engine moves them alike.

mod common;

use common::asm::{add_r, exit, jump, load, mov, seq, store, wide};
use common::host::Mock;
use common::{AnyLinker, COSTS, MODES, done, load as load_vm, object, run_on};
use keel_abi::bpf::{Ea, MapId};
use keel_abi::lines::{LineCosts, LineUse, Transfers};
use keel_abi::{CpuId, Topology};
use keel_object::model::{MapDef, Object, PSEUDO_MAP_VALUE, Variable};
use keel_vm::{Mode, Vm, VmConfig};

const TASKS: u32 = 40;
const TASK_BYTES: u32 = 128;
const BYTES: u32 = TASKS * TASK_BYTES;
const ACCESSES: u32 = 1500;
/// Of a jump: if it is not equal.
const JNE: u8 = 5;

/// Reads a word at an offset among the tasks' structures, or writes it.
fn accesses() -> Object {
    let map = MapDef {
        name: ".bss.tasks".into(),
        kind: 2,
        key_size: 4,
        value_size: BYTES,
        max_entries: 1,
        ..MapDef::default()
    };
    let tasks = Variable {
        name: "tasks".into(),
        map: 0,
        offset: 0,
        size: BYTES,
        len: TASKS,
        signed: None,
        boolean: false,
        elements: None,
        words: Vec::new(),
    };
    let program = seq(&[
        &[load(8, 6, 1, 0), load(8, 7, 1, 8), mov(0, 0)],
        &wide(1, PSEUDO_MAP_VALUE, 0, 0),
        &[add_r(1, 6), jump(JNE, 7, 0, 2), load(8, 2, 1, 0), exit(), store(8, 1, 0, 6), exit()],
    ]);
    Object { maps: vec![map], variables: vec![tasks], ..object(vec![program]) }
}

/// Where the structures begin.
fn start(vm: &Vm) -> u64 {
    vm.world_ref().map_value_address(MapId(0), 0).expect("the map has a value").0
}

/// What each access costs, and each line in the end. Of eight accesses, `writes` write.
fn stalls(mode: Mode, costs: LineCosts, cpus: u32, writes: u64) -> (Vec<u64>, Vec<LineUse>) {
    let object = accesses();
    let transfers = Transfers::new(Topology::regular(2, 1, cpus / 2, 1), costs);
    let mut vm = load_vm(&object, VmConfig { mode, ..VmConfig::new(cpus, transfers) }).unwrap();
    let mut random = 1_u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (random >> 33) % below
    };
    let mut access = |vm: &mut Vm| {
        let cpu = CpuId(next(u64::from(cpus)) as u32);
        let at = next(u64::from(TASKS)) * u64::from(TASK_BYTES) + 64 * next(2);
        done(run_on(vm, &mut Mock::default(), cpu, &[at, u64::from(next(8) < writes)])).1.stall_ps
    };
    let mut all: Vec<u64> = (0..ACCESSES).map(|_| access(&mut vm)).collect();
    let first = start(&vm);
    // The array moves. What was counted before is still reported.
    vm.reload(&object, &mut AnyLinker).unwrap();
    all.extend((0..ACCESSES).map(|_| access(&mut vm)));
    let is_theirs =
        |at: Ea| [first, start(&vm)].iter().any(|from| (*from..from + u64::from(BYTES)).contains(&at.0));
    let moved = vm.world_ref().region().moved().filter(|(at, _)| is_theirs(*at));
    let moved: Vec<LineUse> = moved.map(|(_, uses)| uses).collect();
    let total: u64 = moved.iter().map(|uses| uses.stall_ps).sum();
    assert_eq!(total, all.iter().sum::<u64>(), "every move is counted");
    (all, moved)
}

fn check(costs: LineCosts, cpus: u32, writes: u64) {
    let expected = stalls(Mode::Interpreted, costs, cpus, writes);
    for mode in MODES {
        assert_eq!(stalls(mode, costs, cpus, writes), expected, "{mode:?}: {costs:?}, {cpus} CPUs, {writes}");
    }
}

#[test]
fn every_engine_moves_crowded_lines_alike() {
    let held = |tasks_held| LineCosts { tasks_held, ..COSTS };
    for tasks_held in [1, 3, 8, 16, 32, 64] {
        [0, 1, 4, 8].into_iter().for_each(|writes| check(held(tasks_held), 4, writes));
    }
    check(held(0), 4, 1);
    check(LineCosts { memory_ps: 0, ..held(16) }, 4, 1);
    check(LineCosts { llc_ps: 0, ..held(16) }, 4, 1);
    check(LineCosts { hop_ps: 1 << 33, ..held(16) }, 4, 1);
    check(held(16), 2, 1);
    // Several CPUs have one bit.
    check(held(16), 128, 1);
}
