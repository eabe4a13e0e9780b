//! Wrong use of a `bpf_spin_lock`, which a real verifier refuses: every engine names it, and nothing hides it.

use crate::harness::*;
use keel_abi::scx::ExitKind;
use keel_lab::Engine;

const ENGINES: [Engine; 5] =
    [Engine::Native, Engine::Cranelift, Engine::Interpreter, Engine::Frames, Engine::Profiler];

fn scenario(fault: u32, engine: Engine) -> Scenario {
    with("locks").set("fault", fault).engine(engine).cpus(2).task(hog("a")).task(hog("b")).task(hog("c"))
}

#[test]
fn right_use_passes_and_wrong_use_is_named() {
    let check = |fault, expected: &str| {
        for engine in ENGINES {
            let run = scenario(fault, engine).run();
            let (exit, message) = (run.outcome.exit, run.outcome.message.as_str());
            assert_eq!(exit, ExitKind::Error, "fault {fault}, {engine:?}: {message}");
            assert!(message.starts_with(expected), "fault {fault}, {engine:?}: {message}");
        }
    };
    for engine in ENGINES {
        scenario(0, engine).survives();
    }
    check(1, "bpf_spin_unlock() of a lock that is not held, in ");
    check(2, "bpf_spin_unlock() of a lock that is not held, in ");
    check(3, "bpf_spin_lock() is called with a lock already held, in ");
    check(4, "bpf_spin_lock() is called with a lock already held, in ");
    check(5, "bpf_spin_lock at ");
    check(6, "bpf_map_lookup_elem() was given 0x");
}
