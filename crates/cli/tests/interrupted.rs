//! Signals: the verdict so far, files that are complete or absent, and exit codes.

use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const LONG: &[&str] = &["sim", "fifo", "--machine", "8", "--workload", "mix:100:90", "--duration", "100000s"];

/// Signals end it as usual, even if the tests were started by `nohup`.
fn keel(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,TERM", env!("CARGO_BIN_EXE_keel")]);
    command.args(args).current_dir(folder).env_remove("RUST_LOG");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("it is there");
}

/// Its result. The virtual day is too long to wait for.
fn end(child: Child) -> Output {
    let pid = Pid::from_child(&child);
    let (ended, is_over) = std::sync::mpsc::channel::<()>();
    let guard = std::thread::spawn(move || {
        if is_over.recv_timeout(Duration::from_secs(60)).is_err() {
            let _ = kill_process(pid, Signal::KILL);
        }
    });
    let output = child.wait_with_output().expect("it ends");
    let _ = ended.send(());
    guard.join().expect("it is over");
    output
}

fn names(folder: &Path) -> Vec<String> {
    let files =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = files.collect();
    names.sort();
    names
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.into()).expect("keel prints UTF-8")
}

/// Waits until one of the files being written has this many bytes.
fn wait_for(folder: &Path, bytes: u64) {
    let begun = Instant::now();
    let largest = || {
        let files = std::fs::read_dir(folder).unwrap();
        files.filter_map(|file| Some(file.ok()?.metadata().ok()?.len())).max().unwrap_or(0)
    };
    while largest() < bytes {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing is written");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_signal_leaves_the_verdict_so_far_and_whole_files() {
    for (sent, name, code) in
        [(Signal::INT, "Ctrl-C", 130), (Signal::TERM, "SIGTERM", 143), (Signal::HUP, "SIGHUP", 129)]
    {
        let folder = tempfile::tempdir().unwrap();
        let files = ["--trace", "t.keel", "--report", "p.html", "--perfetto", "p.pf"];
        let child = keel(folder.path(), &[LONG, &files].concat()).spawn().unwrap();
        wait_for(folder.path(), 200_000);
        signal(&child, sent);
        let output = end(child);
        let reported = text(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{name}: {reported}");
        assert!(reported.starts_with(&format!("Stopped by {name} at ")), "{reported}");
        assert!(reported.lines().next().unwrap().contains(" of 100000.00 s"), "{reported}");
        let verdict = reported.lines().last().unwrap();
        assert!(verdict.starts_with(&format!("Stopped by {name} at ")), "{verdict}");
        assert_eq!(names(folder.path()), ["p.html", "p.pf", "t.keel"]);
        assert!(std::fs::read_to_string(folder.path().join("p.html")).unwrap().contains("Stopped by"));
        let check = keel(folder.path(), &["check", "t.keel", "--json"]).output().unwrap();
        assert_eq!(check.status.code(), Some(0), "{}", text(&check.stderr));
        let report: serde_json::Value = serde_json::from_slice(&check.stdout).unwrap();
        assert_eq!(report["notes"], serde_json::json!([]), "the trace is whole");
        assert!(report["switches"].as_u64() > Some(0));
        assert_eq!(report.get("partial"), None);
    }
}

#[test]
fn json_says_that_it_is_partial() {
    let folder = tempfile::tempdir().unwrap();
    let child = keel(folder.path(), &[LONG, &["--json", "--trace", "t.keel"]].concat()).spawn().unwrap();
    wait_for(folder.path(), 100_000);
    signal(&child, Signal::INT);
    let output = end(child);
    let run: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&run["partial"], &run["stopped_by"]), (&true.into(), &"SIGINT".into()));
    assert_eq!(run["stopped_at_ns"], run["duration_ns"]);
    assert_eq!(run["stopped_of_ns"], 100_000_000_000_000_u64);
    let whole = keel(folder.path(), &["sim", "fifo", "--duration", "10ms", "--json"]).output().unwrap();
    let run: serde_json::Value = serde_json::from_slice(&whole.stdout).unwrap();
    assert!(run.get("partial").is_none() && run.get("stopped_by").is_none());
}

#[test]
fn a_second_signal_ends_at_once_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    // Its output is not read, so it is still running when the second signal arrives.
    let mut child =
        keel(folder.path(), &[LONG, &["--json", "--trace", "/dev/null", "--report", "p.html"]].concat());
    let child = child.spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    signal(&child, Signal::INT);
    signal(&child, Signal::TERM);
    let output = end(child);
    let code = output.status.code();
    // If both are pending, the kernel chooses which arrives first.
    assert!(code == Some(143) || code == Some(130), "{code:?}");
    assert!(names(folder.path()).iter().all(|name| !name.ends_with(".part")), "{:?}", names(folder.path()));
}

#[test]
fn many_runs_are_shown_as_far_as_they_came() {
    let check = |args: &[&str], expected: &str| {
        let folder = tempfile::tempdir().unwrap();
        let child = keel(folder.path(), args).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(900));
        signal(&child, Signal::INT);
        let output = end(child);
        let reported = text(&output.stdout);
        assert_eq!(output.status.code(), Some(130), "{args:?}: {reported}{}", text(&output.stderr));
        assert!(reported.contains(expected), "{args:?}: {reported}");
        assert!(
            names(folder.path()).iter().all(|name| !name.ends_with(".part")),
            "{:?}",
            names(folder.path())
        );
    };
    let compare = ["compare", "fifo,cfs", "--duration", "100000s", "--report", "c.html"];
    check(&compare, "Stopped by Ctrl-C: 0 of 6 runs are complete.\n");
    check(&[&compare[..], &["--json"]].concat(), "\"runs_asked\": 6");
    check(&["lab", "--runs", "1000", "--report", "l.html"], "Stopped by Ctrl-C: ");
    check(&["lab", "--runs", "1000", "--json"], "\"partial\": true");
    check(&["lab", "--matrix", "--runs", "1000"], "Stopped by Ctrl-C: ");
    check(&["lab", "--sensitivity", "--runs", "1000"], "Stopped by Ctrl-C: ");
    check(&["lab", "--decisions", "fifo,cfs,o1,ule"], "Stopped by Ctrl-C: ");
}

/// A trace of at least half a million events.
fn recording(folder: &Path) {
    let args = [LONG, &["--trace", "t.keel"]].concat();
    let child = keel(folder, &args).spawn().unwrap();
    wait_for(folder, 3_000_000);
    signal(&child, Signal::INT);
    assert_eq!(end(child).status.code(), Some(130));
}

/// Sends the signal at moments of a whole run, which differ between hosts and builds, until one came while keel read.
/// `check` looks at the result, and returns whether it is such a one.
fn signalled_while_it_reads(start: impl Fn() -> Child, sent: Signal, check: impl Fn(&Output) -> bool) {
    let begun = Instant::now();
    assert_eq!(end(start()).status.code(), Some(0));
    let whole = begun.elapsed();
    let ninths = [5, 7, 3, 8, 6, 4, 2, 1];
    let came = ninths.iter().cycle().take(64).any(|&ninth| {
        let child = start();
        std::thread::sleep(whole * ninth / 9);
        signal(&child, sent);
        check(&end(child))
    });
    assert!(came, "no signal came while it read");
}

#[test]
fn recordings_are_judged_as_far_as_they_were_read() {
    let folder = tempfile::tempdir().unwrap();
    recording(folder.path());
    let start = || keel(folder.path(), &["check", "t.keel"]).spawn().unwrap();
    let whole = text(&end(start()).stdout);
    signalled_while_it_reads(start, Signal::INT, |output| {
        let reported = text(&output.stdout);
        match output.status.code() {
            Some(0) => assert_eq!(reported, whole),
            // Before it listened, or before it had read anything.
            None => {}
            // The same, or when it had read everything and was printing.
            Some(130) if whole.starts_with(reported.as_str()) => {}
            Some(130) => {
                assert!(reported.starts_with("Stopped by Ctrl-C at "), "{reported}");
                assert!(reported.lines().next().unwrap().contains("of the recording"), "{reported}");
                return true;
            }
            code => panic!("{code:?}: {reported}{}", text(&output.stderr)),
        }
        false
    });
}

#[test]
fn pages_of_a_recording_are_complete_or_absent() {
    let folder = tempfile::tempdir().unwrap();
    recording(folder.path());
    let start = || {
        for name in ["r.html", "r.pf"] {
            std::fs::remove_file(folder.path().join(name)).ok();
        }
        keel(folder.path(), &["report", "t.keel", "-o", "r.html", "--perfetto", "r.pf"]).spawn().unwrap()
    };
    signalled_while_it_reads(start, Signal::TERM, |output| {
        let names = names(folder.path());
        assert!(names == ["t.keel"] || names == ["r.html", "r.pf", "t.keel"], "{names:?}");
        output.status.code() == Some(143)
    });
}

#[test]
fn a_workload_is_made_of_a_whole_recording_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    recording(folder.path());
    let made = folder.path().join("w.json");
    let start = || {
        std::fs::remove_file(&made).ok();
        keel(folder.path(), &["workload", "from", "t.keel", "-o", "w.json"]).spawn().unwrap()
    };
    assert_eq!(end(start()).status.code(), Some(0));
    let whole = std::fs::read(&made).unwrap();
    signalled_while_it_reads(start, Signal::INT, |output| {
        match output.status.code() {
            Some(0) => assert!(std::fs::read(&made).unwrap() == whole, "a part of it"),
            // Before it listened.
            None => {}
            code => {
                let reported = text(&output.stderr);
                assert!(code == Some(130) && reported.contains("stopped by Ctrl-C"), "{code:?}: {reported}");
                assert_eq!(names(folder.path()), ["t.keel"]);
                return true;
            }
        }
        false
    });
}

#[test]
fn a_machine_is_measured_whole_or_leaves_nothing() {
    for (sent, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let folder = tempfile::tempdir().unwrap();
        let args = ["machine", "capture", "--measure", "-o", "m.toml"];
        let child = keel(folder.path(), &args).spawn().unwrap();
        while names(folder.path()).is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        signal(&child, sent);
        let output = end(child);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("stopped by "), "{}", text(&output.stderr));
        assert!(names(folder.path()).is_empty(), "{:?}", names(folder.path()));
    }
}

#[test]
fn an_ignored_sighup_stays_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("trap '' HUP; exec '{}' \"$@\"", env!("CARGO_BIN_EXE_keel"));
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh"]).args(LONG).args(["--trace", "t.keel"]).current_dir(folder.path());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(folder.path(), 100_000);
    signal(&child, Signal::HUP);
    std::thread::sleep(Duration::from_millis(200));
    signal(&child, Signal::TERM);
    assert_eq!(end(child).status.code(), Some(143));
}
