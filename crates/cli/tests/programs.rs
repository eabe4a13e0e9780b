//! `keel sim -- PROGRAM`: a program on libbpf, from its start to SIGINT.

use keel_bpfc::Compiler;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Compiles the program and its scheduler.
fn build(folder: &Path) -> (PathBuf, PathBuf) {
    let compiler = Compiler::new(ROOT).include("schedulers/include").include("crates/kernel/btf");
    let object = folder.join("shared.bpf.o");
    std::fs::write(&object, compiler.compile("tests/programs/shared.bpf.c").unwrap()).unwrap();
    let program = folder.join("shared");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-o"]).arg(&program);
    cc.args(["shared.c", "arena.c"].map(|source| Path::new(ROOT).join("tests/programs").join(source)));
    let built = cc.args(["-lbpf", "-lelf", "-lz", "-lpthread"]).output().expect("there is a C compiler");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    (program, object)
}

fn keel(folder: &Path, options: &[&str], program: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keel"));
    command.args(["sim", "--workload", "mix:20:80", "--duration", "3s"]).args(options).current_dir(folder);
    command.arg("--").arg(program).args(arguments).output().expect("keel runs")
}

#[test]
fn a_program_runs_from_its_start_to_sigint_and_the_same_twice() {
    let folder = tempfile::tempdir().unwrap();
    let (program, object) = build(folder.path());
    let object = object.to_str().unwrap();
    let run = |name: &str, cpus: &str| {
        let (trace, log) = (format!("{name}.trace"), format!("{name}.log"));
        let options = ["--machine", cpus, "--trace", &trace, "--program-log", &log];
        let output = keel(folder.path(), &options, &program, &[object, "arena"]);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{name}");
        let bytes = |file: &str| std::fs::read(folder.path().join(file)).unwrap();
        (bytes(&trace), String::from_utf8(bytes(&log)).unwrap())
    };
    for cpus in ["1", "8"] {
        let (trace, log) = run("first", cpus);
        let lines: Vec<&str> = log.lines().collect();
        assert_eq!(lines.first(), Some(&format!("{cpus} CPUs, answer 42").as_str()), "{log}");
        assert!(lines.iter().any(|line| line.contains("told yes") && line.ends_with("bss shared")), "{log}");
        let last = "detached, exit kind 64, registered 1 times, 1000 Hz";
        assert_eq!(lines.last(), Some(&last), "{log}");
        let again = run("second", cpus);
        assert!(again.0 == trace && again.1 == log, "two runs on {cpus} CPUs differ");
    }
}

#[test]
fn what_goes_wrong_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let (program, object) = build(folder.path());
    let object = object.to_str().unwrap();
    let check = |arguments: &[&str], expected: &str| {
        let output = keel(folder.path(), &[], &program, arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
    };
    check(&["no.bpf.o"], "attached no scheduler: it ended with exit code 1");
    check(&[object, "exit"], "ended before the run did, with exit code 7");
    check(&[object, "crash"], "ended before the run did, with exit code 134");
    check(&[object, "hang"], "did not end when it got SIGINT");
}
