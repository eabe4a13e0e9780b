//! Random programs: the interpreter and the native code must agree in everything observable: R0, instructions, stalls,
//! calls, faults, memory.

mod common;

use common::asm::{add, call, exit, function, helper, imm64, insn, kfunc, mov_r, store_imm, wide};
use common::host::{Call, Mock};
use common::{MODES, config, load, object};
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, Engine, Entry, MapId, Progress, World};
use keel_object::model::{Insn, Ksym, MapDef, Object};
use keel_vm::memory::BASE;
use keel_vm::{Mode, VmConfig};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};

/// A piece of a program. Pieces follow each other, and jumps go from one to another.
#[derive(Clone, Debug)]
enum Piece {
    /// Instructions without jumps.
    Plain(Vec<Insn>),
    /// A conditional jump (opcode, registers, immediate) over this many pieces.
    Skip(Insn, u8),
    /// A loop of this many rounds over the previous piece, counted in a stack slot.
    Repeat(u8, Vec<Insn>),
}

/// Where the arena's first page is, for user space and for loads and stores; only some of its pages hold anything.
const ARENA: u64 = 1 << 44;
const ARENA_HERE: u64 = BASE + (4 << 30);
const ARENA_PAGES: [u64; 2] = [0, 3];

/// `addr_space_cast`, to where loads and stores find it or back.
fn cast(dst: u8, src: u8, to_user: bool) -> Insn {
    insn(0xbf, dst, src, 1, if to_user { 1 << 16 } else { 1 })
}

fn reg() -> impl Strategy<Value = u8> {
    0u8..10
}

fn interesting() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        any::<i8>().prop_map(|x| i64::from(x) as u64),
        Just(1 << 63),
        Just(0x8000_0000),
        Just(0xffff_ffff),
        any::<u16>().prop_map(|x| BASE.wrapping_add(u64::from(x))),
        any::<i8>().prop_map(|x| BASE.wrapping_add(i64::from(x) as u64)),
        any::<u32>().prop_map(|x| BASE.wrapping_add(u64::from(x))),
        (0u64..0x5000).prop_map(|x| ARENA + x),
        any::<i16>().prop_map(|x| ARENA_HERE.wrapping_add(i64::from(x) as u64)),
    ]
}

fn arithmetic() -> impl Strategy<Value = Vec<Insn>> {
    let opcodes = vec![0u8, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12];
    let plain = (proptest::sample::select(opcodes), any::<bool>(), any::<bool>(), reg(), reg(), any::<i32>())
        .prop_flat_map(|(op, wide, x, dst, src, imm)| {
            let class = if wide { 7 } else { 4 } | if x { 8 } else { 0 };
            let offs = match (op, x) {
                (3 | 9, _) => vec![0, 1],
                (11, true) if wide => vec![0, 8, 16, 32],
                (11, true) => vec![0, 8, 16],
                _ => vec![0],
            };
            let imm = prop_oneof![Just(imm), Just(imm % 4)];
            (Just((op, class, dst, src)), proptest::sample::select(offs), imm)
        })
        .prop_map(|((op, class, dst, src), off, imm)| vec![insn(op << 4 | class, dst, src, off, imm)]);
    let neg = (any::<bool>(), reg())
        .prop_map(|(wide, dst)| vec![insn(if wide { 0x87 } else { 0x84 }, dst, 0, 0, 0)]);
    let end = (
        proptest::sample::select(vec![0xd4u8, 0xdc, 0xd7]),
        reg(),
        proptest::sample::select(vec![16, 32, 64]),
    )
        .prop_map(|(code, dst, bits)| vec![insn(code, dst, 0, 0, bits)]);
    let constant = (reg(), interesting()).prop_map(|(dst, value)| imm64(dst, value).to_vec());
    let casts = (reg(), reg(), any::<bool>()).prop_map(|(dst, src, to_user)| vec![cast(dst, src, to_user)]);
    prop_oneof![6 => plain, 1 => neg, 1 => end, 2 => constant, 1 => casts]
}

/// Where an access goes: the frame, a copy of r10, the context, shared memory, the arena, anywhere.
fn base() -> impl Strategy<Value = (Vec<Insn>, u8, i16)> {
    prop_oneof![
        3 => (-64i16..64).prop_map(|off| (vec![], 10, off * 8)),
        2 => (reg(), -600i32..200, -8i16..8).prop_map(|(r, by, off)| (vec![mov_r(r, 10), add(r, by)], r, off)),
        4 => (reg(), 0i32..2, -8i16..300).prop_map(|(r, k, off)| (wide(r, 3, k, 0).to_vec(), r, off)),
        3 => (reg(), 0u64..0x5000, -64i16..64).prop_map(|(r, at, off)| {
            ([&imm64(r, ARENA + at)[..], &[cast(r, r, false)]].concat(), r, off)
        }),
        1 => (reg(), interesting(), any::<i16>()).prop_map(|(r, at, off)| (imm64(r, at).to_vec(), r, off)),
        1 => (reg(), any::<i16>()).prop_map(|(r, off)| (vec![], r, off)),
    ]
}

fn memory() -> impl Strategy<Value = Vec<Insn>> {
    let size = || proptest::sample::select(vec![0x00u8, 0x08, 0x10, 0x18]);
    let load = (base(), size(), any::<bool>(), reg()).prop_map(|((mut v, base, off), size, signed, dst)| {
        let mode = if signed && size != 0x18 { 0x81 } else { 0x61 };
        v.push(insn(mode | size, dst, base, off, 0));
        v
    });
    let store = (base(), size(), reg()).prop_map(|((mut v, base, off), size, src)| {
        v.push(insn(0x63 | size, base, src, off, 0));
        v
    });
    let store_imm = (base(), size(), any::<i32>()).prop_map(|((mut v, base, off), size, imm)| {
        v.push(insn(0x62 | size, base, 0, off, imm));
        v
    });
    let ops = vec![0x00, 0x01, 0x40, 0x41, 0x50, 0x51, 0xa0, 0xa1, 0xe1, 0xf1];
    let atomic = (base(), any::<bool>(), proptest::sample::select(ops), reg()).prop_map(
        |((mut v, base, off), wide, op, src)| {
            v.push(insn(if wide { 0xdb } else { 0xc3 }, base, src, off, op));
            v
        },
    );
    let ordered = (base(), size(), any::<bool>(), reg()).prop_map(|((mut v, base, off), size, load, r)| {
        v.push(match load {
            true => insn(0xc3 | size, r, base, off, 0x100),
            false => insn(0xc3 | size, base, r, off, 0x110),
        });
        v
    });
    prop_oneof![3 => load, 2 => store, 1 => store_imm, 2 => atomic, 1 => ordered]
}

fn calls() -> impl Strategy<Value = Vec<Insn>> {
    prop_oneof![
        4 => Just(vec![helper(1)]),
        1 => Just(vec![kfunc(0)]),
        3 => (1i32..3).prop_map(|f| vec![call(f)]),
        1 => (0i32..20).prop_map(|n| {
            let mut v = vec![insn(0xb7, 1, 0, 0, n)];
            v.extend(function(2, 2));
            v.extend([mov_r(3, 10), insn(0xb7, 4, 0, 0, 0), helper(181)]);
            v
        }),
    ]
}

fn piece() -> impl Strategy<Value = Piece> {
    let conditions = vec![1u8, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13];
    let skip = (
        proptest::sample::select(conditions),
        any::<bool>(),
        any::<bool>(),
        reg(),
        reg(),
        any::<i8>(),
        0u8..4,
    )
        .prop_map(|(op, wide, x, a, b, imm, over)| {
            let class = if wide { 5 } else { 6 } | if x { 8 } else { 0 };
            Piece::Skip(insn(op << 4 | class, a, b, 0, i32::from(imm)), over)
        });
    let may_goto = (0u8..4).prop_map(|over| Piece::Skip(insn(0xe5, 0, 0, 0, 0), over));
    let repeat = (0u8..20, vec(prop_oneof![arithmetic(), memory()], 1..4))
        .prop_map(|(rounds, body)| Piece::Repeat(rounds, body.concat()));
    prop_oneof![
        8 => arithmetic().prop_map(Piece::Plain),
        8 => memory().prop_map(Piece::Plain),
        3 => calls().prop_map(Piece::Plain),
        4 => skip,
        1 => may_goto,
        2 => repeat,
    ]
}

/// Lays out the pieces. Loops count in the frame's last slot, which may be overwritten; fuel then ends the loop.
fn assemble(pieces: &[Piece]) -> Vec<Insn> {
    let mut bodies: Vec<Vec<Insn>> = Vec::new();
    for piece in pieces {
        bodies.push(match piece {
            Piece::Plain(v) => v.clone(),
            Piece::Skip(jump, _) => vec![*jump],
            Piece::Repeat(rounds, body) => {
                let mut v = vec![store_imm(8, 10, -512, i32::from(*rounds))];
                v.extend(body);
                v.extend([insn(0x79, 5, 10, -512, 0), add(5, -1), insn(0x7b, 10, 5, -512, 0)]);
                let back = -(v.len() as i16);
                v.push(insn(0x55, 5, 0, back, 0));
                v
            }
        });
    }
    let lengths: Vec<usize> = bodies.iter().map(Vec::len).collect();
    for (i, piece) in pieces.iter().enumerate() {
        if let Piece::Skip(_, over) = piece {
            bodies[i][0].off = lengths[i + 1..].iter().take(usize::from(*over)).sum::<usize>() as i16;
        }
    }
    let mut code = bodies.concat();
    // R0 depends on every register, so that any wrong one is noticed.
    for reg in 1..10 {
        code.extend([insn(0x27, 0, 0, 0, 31), insn(0x0f, 0, reg, 0, 0)]);
    }
    code.push(exit());
    code
}

fn program() -> impl Strategy<Value = Object> {
    let function = |n| vec(piece(), 0..n).prop_map(|pieces| assemble(&pieces));
    let start = vec((6u8..10, interesting()), 4)
        .prop_map(|regs| regs.into_iter().flat_map(|(reg, value)| imm64(reg, value)).collect::<Vec<_>>());
    (start, function(40), function(10), function(6)).prop_map(|(mut main, rest, second, third)| {
        main.extend(rest);
        let mut o = object(vec![main, second, third]);
        o.maps = vec![MapDef {
            name: "arena".into(),
            kind: 33,
            flags: 1 << 10,
            max_entries: 8,
            extra: ARENA,
            initial: vec![7; 100],
            ..MapDef::default()
        }];
        o.ksyms = ["a", "b"].map(|name| Ksym { name: name.into(), is_function: false }).to_vec();
        o
    })
}

/// Everything observable about a run.
#[derive(Debug, PartialEq)]
struct Seen {
    progress: Vec<Progress>,
    calls: Vec<Call>,
    bad_accesses: u64,
    memory: Vec<u8>,
}

/// Runs the program on several CPUs, twice each, interleaved wherever the host suspends it.
fn see(object: &Object, mode: Mode, suspend: &[bool], words: &[u64]) -> Seen {
    let config = VmConfig { max_insns: 3_000, ..config(mode) };
    let mut vm = load(object, config).expect("random programs are well formed");
    for page in ARENA_PAGES {
        vm.world().arena_alloc(MapId(0), Ea(ARENA + page * 4096), 1).expect("the page is free");
    }
    let mut host = Mock { suspend: suspend.to_vec(), ..Mock::default() };
    let mut progress = Vec::new();
    for _ in 0..2 {
        for cpu in 0..4 {
            progress.push(vm.start(&mut host, CpuId(cpu), Entry(0), words));
        }
        while let Some(cpu) = (0..4).rev().find(|&cpu| vm.suspended(CpuId(cpu)) > 0) {
            progress.push(vm.resume(&mut host, CpuId(cpu)));
        }
    }
    let end = vm.world_ref().region().high_water();
    let memory = written(&mut vm, end);
    Seen { progress, calls: host.calls, bad_accesses: vm.bad_accesses(), memory }
}

/// The world's last bytes, where stacks and variables are, and the arena's pages.
fn written(vm: &mut keel_vm::Vm, end: u64) -> Vec<u8> {
    let page = |at: u64| vm.world_ref().region().slice(Ea(at), 4096);
    let last: Vec<&[u8]> = (1..=16).filter_map(|i| page(BASE + end - i * 4096)).collect();
    assert!(last.len() >= 4, "stacks and variables are there");
    let arena = ARENA_PAGES.map(|i| page(ARENA_HERE + i * 4096).expect("it is allocated"));
    [last, arena.to_vec()].concat().concat()
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 300, ..Default::default() })]
    #[test]
    fn engines_agree(
        object in program(),
        suspend in vec(any::<bool>(), 0..7),
        words in vec(interesting(), 0..5),
    ) {
        let [interpreted, native, cranelift] = MODES.map(|mode| see(&object, mode, &suspend, &words));
        prop_assert_eq!(&interpreted, &native);
        prop_assert_eq!(interpreted, cranelift);
    }
}
