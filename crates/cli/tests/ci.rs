//! The CI job of examples/ci, as a reader copies it: the command of its workflow, with this keel.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const WORKFLOW: &str = include_str!("../../../examples/ci/github.yml");

/// A user's repository: the example's files in ci, and a scheduler.
struct Repository(tempfile::TempDir);

impl Repository {
    /// With this source's compiled object, with some variables set.
    fn new(source: &str, settings: &[(&str, u64)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("ci")).expect("it can be made");
        for file in ["judge.sh", "keel-budgets.toml"] {
            std::fs::copy(root().join("examples/ci").join(file), folder.path().join("ci").join(file))
                .expect(file);
        }
        let repository = Self(folder);
        repository.builds(source, settings);
        repository
    }

    fn builds(&self, source: &str, settings: &[(&str, u64)]) {
        let compiler =
            keel_bpfc::Compiler::new(root()).include("schedulers/include").include("crates/kernel/btf");
        let mut object = compiler.compile(format!("{source}.bpf.c")).unwrap_or_else(|e| panic!("{e}"));
        for (name, value) in settings {
            keel_bpfc::set(&mut object, name, *value).unwrap_or_else(|e| panic!("{e}"));
        }
        std::fs::write(self.0.path().join("my.bpf.o"), object).expect("it can be written");
    }

    /// Runs a shell command with this keel.
    fn sh(&self, line: &str) -> Output {
        let keel = Path::new(env!("CARGO_BIN_EXE_keel")).parent().expect("a folder");
        let path = format!("{}:{}", keel.display(), std::env::var("PATH").unwrap_or_default());
        let mut sh = Command::new("sh");
        sh.args(["-c", line]).current_dir(self.0.path()).env("PATH", path).env_remove("RUST_LOG");
        sh.output().expect("there is a shell")
    }

    /// Runs the workflow's last command. Returns its exit code and output.
    fn judged(&self) -> (Option<i32>, String) {
        let line = WORKFLOW.lines().filter_map(|line| line.trim().strip_prefix("run: ")).next_back();
        let output = self.sh(line.expect("the workflow runs something"));
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("keel prints UTF-8");
        (output.status.code(), text(output.stdout) + &text(output.stderr))
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn a_sound_scheduler_passes_and_a_regression_fails() {
    let repository = Repository::new("schedulers/fifo", &[]);
    let (code, text) = repository.judged();
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(text.matches("Strict: passed; every finding is within its budget.").count(), 3, "{text}");

    let renewed = repository.sh("sh ci/judge.sh my.bpf.o --renew");
    assert!(renewed.status.success(), "{}", String::from_utf8_lossy(&renewed.stderr));
    let (code, text) = repository.judged();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.ends_with("no figure regressed (3 runs against the baseline's 3).\n"), "{text}");

    // Tasks that need longer than this lose their CPU, which they did not before. This is within all budgets.
    repository.builds("schedulers/fifo", &[("slice_ns", 100_000)]);
    let (code, text) = repository.judged();
    assert_eq!(code, Some(1), "{text}");
    assert_eq!(text.matches("Strict: passed; every finding is within its budget.").count(), 4, "{text}");
    assert!(
        text.contains("REGRESSED") && text.contains("failed (3 runs against the baseline's 3); "),
        "{text}"
    );
    assert!(text.contains("preemptions per unit went from 0 to "), "{text}");
}

#[test]
fn each_planted_bug_fails() {
    let check = |name: &str, settings: &[(&str, u64)], code: i32, expected: &str| {
        let (found, text) = Repository::new(&format!("tests/objects/{name}"), settings).judged();
        assert!(found == Some(code) && text.contains(expected), "{name}: {found:?}\n{text}");
    };
    check("wasteful", &[], 1, "Strict: failed; wasted_core: ");
    check("tardy", &[], 1, "Strict: failed; wasted_core: ");
    check("reports", &[], 1, "Strict: failed; wasted_core: ");
    // Five of 16 hogs.
    check("unfair", &[], 1, "starvation: 5, where none is allowed");
    check("bad_access", &[("fault", 1)], 1, "Strict: failed; bad_access: ");
    for name in [
        "accounts",
        "bad_affinity",
        "bad_dsq",
        "cids",
        "errors",
        "exits",
        "far_node",
        "forgets",
        "mixed_dsq",
        "no_events",
        "node_mask",
        "reenqueues",
        "spins",
        "stall",
        "whole_mask",
    ] {
        check(name, &[], 3, "The scheduler failed after ");
    }
    check("unknown_kfunc", &[], 4, "scx_bpf_no_such_kfunc");
    check("wrong_type", &[], 2, "no scheduler in it");
    // The planted race does no harm: the task that loses it counts it and continues.
    check("race", &[], 0, "Strict: passed");
    // Nor does this: its policy events are nonsense, but it schedules well.
    check("babbles", &[], 0, "Strict: passed");
}

#[test]
fn every_planted_bug_is_tried() {
    let tried = include_str!("ci.rs");
    for file in std::fs::read_dir(root().join("tests/objects")).expect("it is there") {
        let file = file.expect("it can be read").file_name().into_string().expect("a plain name");
        if let Some(name) = file.strip_suffix(".bpf.c") {
            assert!(tried.contains(&format!("\"{name}\"")), "{name}");
        }
    }
}
