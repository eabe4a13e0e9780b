//! The program itself: usage errors, closed pipes, environments.

use std::io::Read;
use std::process::{Command, Output, Stdio};

fn keel(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keel"));
    command.args(args).stdin(Stdio::null()).env_remove("RUST_LOG");
    command
}

fn output(args: &[&str]) -> Output {
    keel(args).output().expect("keel runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.into()).expect("keel prints UTF-8")
}

#[test]
fn wrong_usage_is_reported_on_stderr_alone() {
    let check = |args: &[&str], expected: &str| {
        let output = output(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(text(&output.stdout), "", "{args:?}");
        let reported = text(&output.stderr);
        assert!(reported.contains(expected), "{args:?}: {reported}");
        assert!(!reported.contains('\x1b'), "no colour into a pipe: {reported}");
    };
    check(&[], "Usage: keel <COMMAND>");
    check(&["simm"], "unrecognized subcommand 'simm'");
    check(&["sim"], "SCHED");
    check(&["sim", "fifo", "--durations", "1s"], "'--duration");
    check(&["sim", "fifo", "--duration", "10"], "it needs a unit");
    check(&["sim", "fifo", "--duration", "-1s"], "'--duration <TIME>': it cannot be negative");
    check(&["sim", "fifo", "--seed", "-1"], "--seed");
    check(&["sim", "fifo", "--set", "x"], "write NAME=VALUE");
    check(&["sim", "fifo", "--engine", "valve"], "native, cranelift, interpreter");
    check(&["compare", "fifo", "--runs", "0"], "'--runs <N>': write 1 to 1000");
    check(&["lab", "yield-9"], "unknown experiment 'yield-9'; did you mean yield-2 or yield-8?");
    check(&["lab", "nobody"], "unknown experiment 'nobody'; the built-in ones are ");
    check(&["sim", "fifoo"], "help: did you mean fifo? keel list schedulers lists");
    check(&["sim", "fifo", "--workload", "mkae:4"], "did you mean make? keel list workloads lists");
    check(&["sim", "fifo", "--machine", "opteron-6727"], "did you mean opteron-6272? keel list machines");
    check(&["score", "fifo", "--suite", "generl"], "did you mean general? keel list suites");
    check(&["score", "fifo", "--jobs", "0"], "'--jobs <N>': it must be at least 1\n\nFor more");
    check(&["sim", "fifo", "--trace", "-"], "'-' cannot be written: standard output is for the results");
    check(&["lab", "--runs", "0"], "'--runs <N>': write 1 to 1000");
    check(&["lab", "--list", "--sensitivity"], "cannot be used with");
    check(&["sim", "fifo", "--program-log", "x"], "'--program-log <OUT>'");
    check(&["sim", "fifo", "--stats", "1"], "'--stats <SEC>'");
    check(&["sim", "fifo", "--stats-socket=x"], "'--stats-socket [<PATH>]'");
    check(&["lab", "--machine", "8", "yield-8"], "'--machine <M>'");
    check(&["lab", "--list", "--machine", "4"], "'--machine <M>'");
    check(&["lab", "--machine", "4"], "--decisions");
    check(&["check", "x", "--strict", "--top", "3"], "'--top <N>'");
    check(&["watch", "--keep", "x", "-o", "y"], "'--output <OUT>'");
    check(&["sim", "fifo", "--machine", "-3"], "--machine -3: a machine has 1 to 4096 CPUs");
    check(&["fuzz", "fifo", "--against", "cfs", "--factor", "-1"], "'--factor <F>': write a number above 1");
    check(&["run", "fifo", "--stats", "-1"], "'--stats <SEC>': write 1 to 3600");
    check(&["watch", "--cost", "-1"], "'--cost <PERCENT>': write 1 to 1000");
    check(&["sim", "fifo", "--baseline", "x", "--regression", "-5%"], "'-5%' is not a limit");
    check(&["check", "x", "--task", "y", "--top", "0"], "'--top <N>': write 1 to 1000");
    check(&["replay", "x", "fifo", "--cpus", "-1"], "'--cpus <N>': write 1 to 4096");
    check(&["replay", "x", "fifo", "--scale", "0"], "'--scale <N>': write 1 to 100");
    check(&["explore", "fifo", "--depth", "-1"], "'--depth <N>': write 1 to 16");
    check(&["exec", "--rt", "-1", "true"], "'--rt <PRIO>': write 1 to 99");
    check(&["mcp", "--memory", "1"], "'--memory <MIB>': write 64 to ");
    check(&["score", "fifo", "--jobs", "-1"], "'--jobs <N>': it cannot be negative");
    check(&["vm"], "<CMD>");
    check(&["vm", "--cores", "4", "--", "true"], "'--cores'");
    check(&["vm", "--cpus", "0", "--", "true"], "a guest has 1 to 255 CPUs, not 0");
    check(&["vm", "--cpus", "2", "--numa", "3", "--", "true"], "1 to 2 NUMA nodes, not 3");
    check(&["vm", "--memory", "2", "--", "true"], "as in 512M or 2G");
    check(&["vm", "--timeout", "60", "--", "true"], "it needs a unit");
    check(&["watch", "--every", "1"], "it needs a unit");
    check(&["watch", "--every", "1ms"], "--every 1.00 ms is too often");
    check(&["watch", "--confirm", "2s"], "--confirm 2.00 s is longer than --every 1.00 s");
    check(&["watch", "--pid", "1"], "'--pid'");
    check(&["sim", "fifo", "--seed", "x"], "'--seed <N>': it must be a whole number, as in 42");
    check(&["sim", "fifo", "--seed", "1.5"], "it must be a whole number, as in 42");
    check(&["sim", "fifo", "--seed", "-1"], "'--seed <N>': it cannot be negative");
    check(&["compare", "fifo", "--runs", "many"], "'--runs <N>': it must be a whole number");
    check(&["vm", "--cpus", "99999999999", "--", "true"], "99999999999");
    check(&["sim", "fifo", "--seed", "99999999999999999999"], "'--seed <N>': the number is too large");
    check(
        &["sim", "--trace", "x", "--program-log", "./x", "--", "true"],
        "--trace and --program-log both name ",
    );
    check(&["sim", "no-such-scheduler"], "keel list schedulers lists the built-in ones");
    check(
        &["sim", "fifo", "--host", "no-such-recipe"],
        "no-such-recipe cannot be read: no such file or directory",
    );
    check(&["sim", "./no-such-file.bpf.o"], "cannot be read: no such file or directory");
    check(&["sim", "/"], "cannot be read: is a directory");
    check(&["sim", "--", "/"], "no program '/': it is a folder");
    check(&["replay", "fifo", "fifo"], "the recording comes first: keel replay RECORDING SCHED");
    check(&["replay", "../../tests/replay/periodic.json", "fifo"], "keel sim SCHED --workload FILE");
    check(&["sim", "/dev/zero"], "cannot be read: it is a device");
    check(&["sim", "a\u{1b}[31mb"], "a\\u{1b}[31mb");
}

#[test]
fn the_lists_that_a_refusal_names_exist() {
    let check = |args: &[&str]| {
        let refused = text(&keel(args).output().expect("keel runs").stderr);
        let list = refused.split("keel list ").nth(1).and_then(|rest| rest.split_whitespace().next());
        let listed = keel(&["list", list.unwrap_or("nothing is named")]).output().expect("keel runs");
        assert!(listed.status.success() && !listed.stdout.is_empty(), "{refused}{}", text(&listed.stderr));
    };
    check(&["sim", "nope"]);
    check(&["sim", "fifo", "--workload", "nope"]);
    check(&["sim", "fifo", "--machine", "nope"]);
    check(&["score", "fifo", "--suite", "nope"]);
}

#[test]
fn a_c_source_gets_the_command_that_compiles_it() {
    let check = |name: &str, bytes: &[u8], expected: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(name), bytes).expect("a file");
        let output = keel(&["sim", name]).current_dir(folder.path()).output().expect("keel runs");
        let reported = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{reported}");
        assert!(reported.contains(expected), "{reported}");
    };
    check("x.bpf.c", b"int x;\n", "keel: x.bpf.c: it is C source, not a compiled object");
    check("x.bpf.c", b"int x;\n", "-I crates/kernel/btf -c x.bpf.c -o x.bpf.o (docs/how-to/compile.md)");
    check("x.bpf.c", b"\x7fELF", "x.bpf.c: it is not a readable ELF file");
    check("x.bpf.o", b"int x;\n", "x.bpf.o: it is not a readable ELF file");
}

#[test]
fn help_and_version_are_not_failures() {
    let check = |args: &[&str], expected: &str| {
        let output = output(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(text(&output.stdout).contains(expected), "{args:?}");
    };
    check(&["--help"], "Exit codes:");
    check(&["sim", "--help"], "--machine <M>");
    check(&["--version"], "keel ");
    check(&["list", "checks"], "wasted_core");
}

#[test]
fn a_reader_that_leaves_is_not_a_failure() {
    let mut child = keel(&["list"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("keel runs");
    drop(child.stdout.take());
    let mut reported = String::new();
    child.stderr.take().expect("stderr is piped").read_to_string(&mut reported).expect("keel prints UTF-8");
    assert_eq!((child.wait().expect("keel ends").code(), reported.as_str()), (Some(0), ""));
}
