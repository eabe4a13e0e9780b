//! Suspension, nesting, faults and load errors, on each engine.
#![allow(clippy::disallowed_methods, reason = "whole runs go to threads, so that is tested")]

mod common;

use common::asm::{
    add, add_r, atomic, call, exit, function, goto, helper, imm64, insn, jump, kfunc, load, mov, mov_r, seq,
    store_imm, wide,
};
use common::host::Mock;
use common::{AnyLinker, COSTS, MODES, config, done, load as load_vm, object, run, run_on};
use keel_abi::bpf::{Ea, Engine, Entry, Fault, FaultKind, InvalidPlace, Progress, Usage};
use keel_abi::lines::{LineCosts, Transfers};
use keel_abi::{CpuId, Instant, Topology};
use keel_object::model::{Insn, LineInfo, POISON_HELPER, Poison};
use keel_vm::{Code, LoadError, Mode, Vm};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// R0 = argument 0 * 10 + the result of helper 2, which suspends once.
fn suspending() -> Vec<Insn> {
    vec![load(8, 6, 1, 0), mov_r(1, 6), helper(2), insn(0x27, 6, 0, 0, 10), add_r(0, 6), exit()]
}

#[test]
fn callbacks_of_several_cpus_overlap() {
    for mode in MODES {
        let mut vm = load_vm(&object(vec![suspending()]), config(mode)).unwrap();
        let mut host = Mock::default();
        for cpu in 0..4 {
            let progress = vm.start(&mut host, CpuId(cpu), Entry(0), &[u64::from(cpu) + 1]);
            assert_eq!(progress, Progress::Suspended);
        }
        for cpu in [2, 0, 3, 1] {
            let (value, usage) = done(vm.resume(&mut host, CpuId(cpu)));
            assert_eq!((value, usage.insns), ((u64::from(cpu) + 1) * 11, 6));
        }
        let order: Vec<_> = host.calls.iter().map(|c| (c.cpu.0, c.again, c.usage.insns)).collect();
        let first = [(0, false, 3), (1, false, 3), (2, false, 3), (3, false, 3)];
        let second = [(2, true, 3), (0, true, 3), (3, true, 3), (1, true, 3)];
        assert_eq!(order, [first, second].concat());
    }
}

#[test]
fn a_callback_nests_within_a_suspended_one_of_its_cpu() {
    for mode in MODES {
        let mut vm = load_vm(&object(vec![suspending()]), config(mode)).unwrap();
        let mut host = Mock::default();
        for depth in 0..20 {
            assert_eq!(vm.start(&mut host, CpuId(1), Entry(0), &[depth]), Progress::Suspended);
        }
        assert_eq!(vm.suspended(CpuId(1)), 20);
        for depth in (0..20).rev() {
            assert_eq!(done(vm.resume(&mut host, CpuId(1))).0, depth * 11);
        }
        // The fibers are used again.
        assert_eq!(done(run(&mut vm, &mut host, &[7])).0, 77);
    }
}

#[test]
fn a_vm_is_dropped_with_callbacks_suspended() {
    for mode in MODES {
        let mut vm = load_vm(&object(vec![suspending()]), config(mode)).unwrap();
        let mut host = Mock::default();
        for cpu in 0..4 {
            assert_eq!(vm.start(&mut host, CpuId(cpu), Entry(0), &[0]), Progress::Suspended);
        }
    }
}

#[test]
fn a_vm_moves_between_threads_with_callbacks_suspended() {
    for mode in MODES {
        let mut vm = load_vm(&object(vec![suspending()]), config(mode)).unwrap();
        assert_eq!(vm.start(&mut Mock::default(), CpuId(0), Entry(0), &[3]), Progress::Suspended);
        let thread = std::thread::spawn(move || done(vm.resume(&mut Mock::default(), CpuId(0))).0);
        assert_eq!(thread.join().unwrap(), 33);
    }
}

#[test]
fn a_host_may_suspend_one_call_any_number_of_times() {
    use keel_abi::bpf::{CallSite, FuncId, Host, Reply};
    use keel_vm::memory::VmWorld;
    struct Reluctant(u32);
    impl Host<VmWorld> for Reluctant {
        fn call(&mut self, _: CallSite<'_, VmWorld>, _: FuncId, _: &[u64; 5]) -> Reply {
            self.0 += 1;
            if self.0 < 100_000 { Reply::Suspend } else { Reply::Value(5) }
        }

        fn turn(&mut self, _: CpuId, _: Usage, _: bool) -> Option<Instant> {
            Some(Instant::ZERO)
        }
    }
    for mode in MODES {
        let mut vm = load_vm(&object(vec![vec![helper(1), exit()]]), config(mode)).unwrap();
        let mut host = Reluctant(0);
        let mut progress = vm.start(&mut host, CpuId(0), Entry(0), &[]);
        while progress == Progress::Suspended {
            progress = vm.resume(&mut host, CpuId(0));
        }
        assert_eq!((done(progress).0, host.0), (5, 100_000));
    }
}

/// When a program of [`MODES`] asks for its turn, by instructions, if each turn is refused once; and its R0.
#[track_caller]
fn check_turns(program: Vec<Insn>, value: u64, turns: &[u64]) {
    for mode in MODES {
        let mut vm = load_vm(&object(vec![program.clone()]), config(mode)).unwrap();
        let mut host = Mock { suspend: vec![true], ..Mock::default() };
        assert_eq!(done(run(&mut vm, &mut host, &[7])).0, value);
        let asked: Vec<u64> = host.turns.iter().map(|usage| usage.insns).collect();
        assert_eq!(asked, turns, "{mode:?}");
    }
}

#[test]
fn atomic_instructions_wait_for_their_turn() {
    let add_2 = || atomic(8, 0, 1, 0, 2);
    let program = vec![mov(2, 5), add_2(), mov(2, 1), mov(2, 3), add_2(), load(8, 0, 1, 0), exit()];
    check_turns(program, 15, &[2, 2, 5, 5]);
    // The stack is the callback's own.
    check_turns(vec![mov(0, 4), store_imm(8, 10, -8, 1), atomic(8, 0, 10, -8, 0), exit()], 4, &[]);
}

#[test]
fn loops_of_may_goto_wait_for_their_turn_now_and_then() {
    // 150 rounds of three instructions, which begin with may_goto.
    let rounds = vec![mov(0, 0), insn(0xe5, 0, 0, 2, 0), add(0, 1), jump(5, 0, 150, -3), exit()];
    check_turns(rounds, 150, &[194, 194, 386, 386]);
}

#[test]
fn a_panic_of_the_host_reaches_its_caller() {
    for mode in MODES {
        let program = vec![load(8, 6, 1, 0), jump(1, 6, 1, 1), helper(4), mov(0, 3), exit()];
        let mut vm = load_vm(&object(vec![program]), config(mode)).unwrap();
        let panicking = catch_unwind(AssertUnwindSafe(|| run(&mut vm, &mut Mock::default(), &[0])));
        assert_eq!(panicking.unwrap_err().downcast_ref(), Some(&"the host has a defect"));
        assert_eq!(done(run(&mut vm, &mut Mock::default(), &[1])).0, 3);
    }
}

/// Every engine stops the program there, after this many instructions.
#[track_caller]
fn check_fault(functions: Vec<Vec<Insn>>, kind: FaultKind, program: &str, insn: u32, insns: u64) {
    let object = object(functions);
    for mode in MODES {
        let mut vm = load_vm(&object, keel_vm::VmConfig { max_insns: 1000, ..config(mode) }).unwrap();
        for _ in 0..2 {
            let fault = Fault { kind: kind.clone(), program: program.into(), insn, source: None };
            match run(&mut vm, &mut Mock::default(), &[]) {
                Progress::Failed { fault: f, usage } => {
                    assert_eq!((f, usage.insns), (Box::new(fault), insns), "{mode:?}")
                }
                other => panic!("{mode:?}: {other:?}"),
            }
        }
    }
}

#[test]
fn programs_that_never_end_are_stopped() {
    check_fault(vec![vec![goto(-1), exit()]], FaultKind::NeverEnds, "f0", 0, 1001);
    check_fault(
        vec![vec![mov(0, 0), add(0, 1), jump(5, 0, 0, -2), exit()]],
        FaultKind::NeverEnds,
        "f0",
        2,
        1001,
    );
    let callback = vec![mov(0, 0), exit()];
    let main = seq(&[&[mov(1, 8 << 20)], &function(2, 1), &[mov(3, 0), mov(4, 0), helper(181), exit()]]);
    check_fault(vec![main, callback], FaultKind::NeverEnds, "f0", 5, 1001);
}

#[test]
fn programs_that_nest_too_deep_are_stopped() {
    check_fault(vec![vec![call(0), exit()]], FaultKind::TooDeep, "f0", 0, 8);
    // Callbacks count as frames.
    let recursive = seq(&[&[mov(1, 1)], &function(2, 0), &[mov(3, 0), mov(4, 0), helper(181), exit()]]);
    check_fault(vec![recursive], FaultKind::TooDeep, "f0", 5, 40);
    // Eight frames are allowed.
    let mut chain: Vec<Vec<Insn>> = (1..8).map(|next| vec![call(next), exit()]).collect();
    chain.push(vec![mov(0, 8), exit()]);
    for mode in MODES {
        let mut vm = load_vm(&object(chain.clone()), config(mode)).unwrap();
        assert_eq!(done(run(&mut vm, &mut Mock::default(), &[])).0, 8);
    }
}

#[test]
fn bad_calls_are_stopped() {
    let forbidden = FaultKind::BadCall("helper 3 is forbidden".into());
    check_fault(vec![vec![mov(0, 0), helper(3), exit()]], forbidden, "f0", 1, 2);
    let main = vec![mov(1, 1), mov(2, 77), mov(4, 0), helper(181), exit()];
    let no_function = FaultKind::BadCall("bpf_loop was given 0x4d, which is not a function".into());
    check_fault(vec![main], no_function, "f0", 3, 4);
}

#[test]
fn poison_is_named_when_it_is_reached() {
    let poisoned = vec![load(8, 6, 1, 0), jump(5, 6, 0, 1), helper(POISON_HELPER), mov(0, 1), exit()];
    let mut object = object(vec![poisoned]);
    let missing = "struct task_struct has no field core_cookie".to_string();
    object.functions[0].poison = vec![Poison { insn: 2, missing: missing.clone() }];
    let line =
        LineInfo { insn: 1, file: "a.bpf.c".into(), line: 12, text: "  return p->core_cookie;".into() };
    object.functions[0].lines = [line].into();
    for mode in MODES {
        let mut vm = load_vm(&object, config(mode)).unwrap();
        assert_eq!(done(run(&mut vm, &mut Mock::default(), &[1])).0, 1);
        let fault = Fault {
            kind: FaultKind::Poisoned(missing.clone()),
            program: "f0".into(),
            insn: 2,
            source: Some("a.bpf.c:12: return p->core_cookie;".into()),
        };
        let usage = Usage { insns: 3, stall_ps: 0 };
        assert_eq!(
            run(&mut vm, &mut Mock::default(), &[0]),
            Progress::Failed { fault: Box::new(fault), usage }
        );
    }
}

#[test]
fn functions_start_by_their_pointers() {
    // The program gives away its callback's address, as bpf_timer_set_callback would.
    let main = seq(&[&function(0, 1), &[exit()]]);
    let callback = vec![mov_r(0, 1), add_r(0, 5), exit()];
    for mode in MODES {
        let mut vm = load_vm(&object(vec![main.clone(), callback.clone()]), config(mode)).unwrap();
        let host = &mut Mock::default();
        let (pointer, _) = done(run(&mut vm, host, &[]));
        assert_eq!(done(vm.start_function(host, CpuId(2), pointer, [1, 2, 3, 4, 5])).0, 6);
        for wild in [0, 1, pointer + 1, pointer + 16, pointer - 32, u64::MAX] {
            let progress = vm.start_function(host, CpuId(2), wild, [0; 5]);
            let Progress::Failed { fault, .. } = progress else { panic!("{wild:#x}: {progress:?}") };
            assert!(matches!(fault.kind, FaultKind::BadCall(_)), "{wild:#x}: {fault:?}");
        }
        // As data, it is an address like any other that is out of bounds.
        assert!(!vm.world_ref().region().is_live(Ea(pointer), 1, false));
    }
}

#[test]
fn the_checked_mode_names_what_is_out_of_bounds() {
    let program = seq(&[&imm64(1, 16), &[load(4, 0, 1, 4), exit()]]);
    let config = keel_vm::VmConfig { checked: true, ..config(Mode::Interpreted) };
    let mut vm = load_vm(&object(vec![program]), config).unwrap();
    let progress = run(&mut vm, &mut Mock::default(), &[]);
    let kind = FaultKind::OutOfBounds { at: Ea(20), len: 4, write: false, place: InvalidPlace::Null };
    let fault = Fault { kind, program: "f0".into(), insn: 2, source: None };
    assert_eq!(progress, Progress::Failed { fault: Box::new(fault), usage: Usage { insns: 2, stall_ps: 0 } });
}

#[test]
fn bad_accesses_are_counted() {
    for mode in MODES {
        let program = vec![mov(1, 0), load(8, 0, 1, 0), store_imm(4, 1, 8, 1), exit()];
        let mut vm = load_vm(&object(vec![program]), config(mode)).unwrap();
        run(&mut vm, &mut Mock::default(), &[]);
        run(&mut vm, &mut Mock::default(), &[]);
        assert_eq!(vm.bad_accesses(), 4);
    }
}

#[test]
fn lines_that_move_are_paid_for() {
    // A word of its own line, which each CPU increments.
    let program = seq(&[&wide(1, 3, 0, 0), &[load(8, 0, 1, 0), add(0, 1), insn(0x7b, 1, 0, 0, 0), exit()]]);
    let mut o = object(vec![program]);
    o.ksyms = vec![keel_object::model::Ksym { name: "counter".into(), is_function: false }];
    for mode in MODES {
        let mut vm = load_vm(&o, config(mode)).unwrap();
        let stalls = [0, 0, 1, 1, 2, 0].map(|cpu| {
            let progress = run_on(&mut vm, &mut Mock::default(), CpuId(cpu), &[]);
            done(progress).1.stall_ps
        });
        // Memory; own; read and claim from the LLC's other CPU; own; across nodes twice.
        assert_eq!(stalls, [7, 0, 20, 0, 2000, 2000], "{mode:?}");
    }
}

#[test]
fn a_line_is_as_long_as_the_machine_says() {
    // CPUs 0 and 2 take turns to write words 32 bytes apart.
    let program = seq(&[
        &[load(8, 6, 1, 0)],
        &wide(1, 3, 0, 0),
        &[add_r(1, 6), insn(0x7b, 1, 6, 0, 0), mov(0, 0), exit()],
    ]);
    let mut o = object(vec![program]);
    o.ksyms = vec![keel_object::model::Ksym { name: "counter".into(), is_function: false }];
    for mode in MODES {
        for (bytes, expected) in [(64, [7, 1000, 1000, 1000]), (32, [7, 7, 0, 0])] {
            let mut config = config(mode);
            config.transfers = Transfers::new(Topology::regular(2, 1, 2, 1), LineCosts { bytes, ..COSTS });
            let mut vm = load_vm(&o, config).unwrap();
            let stalls = [(0, 0), (2, 32), (0, 0), (2, 32)]
                .map(|(cpu, at)| done(run_on(&mut vm, &mut Mock::default(), CpuId(cpu), &[at])).1.stall_ps);
            assert_eq!(stalls, expected, "{mode:?}, lines of {bytes} bytes");
        }
    }
}

#[test]
fn on_large_machines_every_writer_pays_for_the_line() {
    let program = seq(&[&wide(1, 3, 0, 0), &[mov(0, 0), insn(0x7b, 1, 0, 0, 0), exit()]]);
    let mut o = object(vec![program]);
    o.ksyms = vec![keel_object::model::Ksym { name: "counter".into(), is_function: false }];
    for mode in MODES {
        let transfers = Transfers::new(Topology::regular(4, 4, 8, 1), COSTS);
        let config = keel_vm::VmConfig { mode, ..keel_vm::VmConfig::new(128, transfers) };
        let mut vm = load_vm(&o, config).unwrap();
        // CPUs 0 and 1 share a bit; CPUs 0 and 64 are 64 apart.
        let stalls = [0, 1, 1, 0, 64, 0, 64, 64]
            .map(|cpu| done(run_on(&mut vm, &mut Mock::default(), CpuId(cpu), &[])).1.stall_ps);
        assert_eq!(stalls, [7, 10, 0, 10, 1000, 1000, 1000, 0], "{mode:?}");
    }
}

#[track_caller]
fn check_load(insns: Vec<Insn>, expected: &str) {
    let error = Code::compile(&object(vec![insns])).err().expect("it does not load");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn malformed_code_does_not_load() {
    check_load(vec![], "function `f0`, instruction 0: control falls off the function's end");
    check_load(vec![mov(0, 0)], "function `f0`, instruction 0: control falls off the function's end");
    check_load(vec![goto(1), exit()], "function `f0`, instruction 0: it jumps to 2, out of the function");
    check_load(vec![goto(-2), exit()], "function `f0`, instruction 0: it jumps to -1, out of the function");
    check_load(
        seq(&[&[goto(1)], &imm64(0, 0), &[exit()]]),
        "function `f0`, instruction 0: it jumps into the middle of ld_imm64",
    );
    check_load(vec![imm64(0, 0)[0]], "function `f0`, instruction 0: ld_imm64 lacks its second half");
    check_load(vec![mov(10, 0), exit()], "function `f0`, instruction 0: r10 is read-only");
    check_load(vec![mov_r(0, 11), exit()], "function `f0`, instruction 0: there is no register r11");
    check_load(
        vec![insn(0xff, 0, 0, 0, 0), exit()],
        "function `f0`, instruction 0: 0xff is not a known instruction",
    );
    check_load(vec![call(1), exit()], "function `f0`, instruction 0: there is no function number 1");
    check_load(vec![kfunc(9), exit()], "function `f0`, instruction 0: there is no kfunc number 9");
    check_load(
        seq(&[&wide(1, 1, 0, 0), &[exit()]]),
        "function `f0`, instruction 0: there is no map number 0",
    );
    check_load(
        vec![insn(0x20, 0, 0, 0, 0), exit()],
        "function `f0` needs the packet load instruction 0x20, which is not supported",
    );
}

#[test]
fn what_the_kernel_lacks_is_named_with_its_user() {
    let mut o = object(vec![vec![mov(0, 0), exit()], vec![kfunc(1), exit()]]);
    let unsupported = |o: &keel_object::model::Object| match load_vm(o, config(Mode::Native)) {
        Err(e @ LoadError::Unsupported { .. }) => e.to_string(),
        Err(e) => panic!("another error: {e}"),
        Ok(_) => panic!("it loads"),
    };
    assert_eq!(unsupported(&o), "function `f1` needs kfunc unknown, which is not supported");
    o.functions[1].insns = seq(&[&wide(1, 3, 0, 0), &[exit()]]);
    o.ksyms = vec![keel_object::model::Ksym { name: "unknown".into(), is_function: false }];
    assert_eq!(unsupported(&o), "function `f1` needs the kernel variable unknown, which is not supported");
}

#[test]
fn code_is_shared_by_simulations() {
    let object = object(vec![suspending()]);
    let code: Arc<Code> = Code::compile(&object).unwrap();
    let threads: Vec<_> = (0..2)
        .map(|i| {
            let (code, object) = (Arc::clone(&code), object.clone());
            std::thread::spawn(move || {
                let mut vm = Vm::new(code, &object, config(Mode::Native), &mut AnyLinker).unwrap();
                done(run(&mut vm, &mut Mock::default(), &[i])).0
            })
        })
        .collect();
    drop(code);
    let values: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
    assert_eq!(values, [0, 11]);
}
