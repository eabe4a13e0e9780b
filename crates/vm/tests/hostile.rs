//! Instructions of any kind: loading them never panics, running them never crashes, and if they run, the engines agree.

mod common;

use common::host::Mock;
use common::{MODES, config, object};
use keel_abi::CpuId;
use keel_abi::bpf::{Engine, Entry, Progress};
use keel_object::model::Insn;
use keel_vm::{Code, Mode, Vm, VmConfig};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};

/// Opcodes that exist, mostly; small jumps and immediates, mostly.
fn instruction() -> impl Strategy<Value = Insn> {
    let code = prop_oneof![
        9 => proptest::sample::select(vec![
            0x07u8, 0x0f, 0x04, 0x0c, 0x1f, 0x27, 0x2f, 0x37, 0x3f, 0x3c, 0x97, 0x9c, 0x47, 0x57, 0x67, 0x6f, 0xc7,
            0xb7, 0xbf, 0xb4, 0xbc, 0x87, 0xd4, 0xdc, 0xd7, 0x61, 0x69, 0x71, 0x79, 0x81, 0x89, 0x91, 0x62, 0x6a,
            0x72, 0x7a, 0x63, 0x6b, 0x73, 0x7b, 0xc3, 0xdb, 0x05, 0x06, 0x15, 0x1d, 0x25, 0x2d, 0x45, 0x5e, 0xa6,
            0xce, 0xd5, 0xe5, 0x85, 0x95, 0x18,
        ]),
        1 => any::<u8>(),
    ];
    let off = prop_oneof![4 => Just(0i16), 3 => -6i16..6, 1 => any::<i16>()];
    let imm = prop_oneof![4 => 0i32..3, 2 => -5i32..300, 1 => any::<i32>()];
    (code, prop_oneof![9 => 0u8..11, 1 => any::<u8>()], prop_oneof![9 => 0u8..11, 1 => any::<u8>()], off, imm)
        .prop_map(|(code, dst, src, off, imm)| Insn { code, dst, src, off, imm })
}

/// Whether it calls the helper whose host panics. Such a panic reaches the caller that started the callback.
fn makes_the_host_panic(insn: Insn) -> bool {
    insn.code == 0x85 && insn.src == 0 && insn.imm == 4
}

/// The instructions that would load on their own, except those that end the test, followed by an exit.
fn plausible(insns: Vec<Insn>) -> Vec<Insn> {
    let exit = Insn { code: 0x95, ..Insn::default() };
    let mut kept: Vec<Insn> = insns
        .into_iter()
        .filter(|&insn| {
            let jump_free =
                Insn { off: if insn.code & 7 >= 5 && insn.code & 7 <= 6 { 0 } else { insn.off }, ..insn };
            insn.code != 0x18
                && insn.code != 6
                && !makes_the_host_panic(insn)
                && Code::compile(&object(vec![vec![jump_free, exit]])).is_ok()
        })
        .collect();
    kept.push(exit);
    let last = kept.len() as i64 - 1;
    for (at, insn) in kept.iter_mut().enumerate() {
        if matches!(insn.code & 7, 5 | 6) {
            let target = (at as i64 + 1 + i64::from(insn.off)).clamp(0, last);
            insn.off = (target - at as i64 - 1) as i16;
        }
    }
    kept
}

fn see(insns: &[Insn], mode: Mode) -> Option<(Vec<Progress>, u64)> {
    let object = object(vec![insns.to_vec()]);
    let mut vm = Vm::new(
        Code::compile(&object).ok()?,
        &object,
        VmConfig { max_insns: 2_000, ..config(mode) },
        &mut common::AnyLinker,
    )
    .ok()?;
    let progress = (0..4).map(|cpu| vm.start(&mut Mock::default(), CpuId(cpu % 2), Entry(0), &[1, u64::MAX]));
    let progress = progress.collect();
    Some((progress, vm.bad_accesses()))
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 400, ..Default::default() })]
    #[test]
    fn any_instructions_load_or_are_refused(insns in vec(instruction(), 0..30)) {
        let _ = Code::compile(&object(vec![insns]));
    }

    #[test]
    fn any_code_that_loads_runs_alike(insns in vec(instruction(), 0..60)) {
        let insns = plausible(insns);
        let [interpreted, native, cranelift] = MODES.map(|mode| see(&insns, mode));
        prop_assert_eq!(&interpreted, &native);
        prop_assert_eq!(interpreted, cranelift);
    }
}
