//! `keel report`, `--report` and `--perfetto`: whole files or none.

use std::path::Path;
use std::process::{Command, Output};

fn keel(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keel")).args(args).env_remove("RUST_LOG").output().expect("keel runs")
}

const SCENE: [&str; 6] = ["--workload", "mix:5:90", "--machine", "2", "--duration", "100ms"];

fn is_page(path: &Path, runs: usize) {
    let page = std::fs::read_to_string(path).expect("a page");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    let run = |n: usize| page.contains(&format!("id=\"run{n}\""));
    assert!((0..runs).all(run) && !run(runs), "{runs} runs");
}

#[test]
fn a_run_and_its_trace_become_pages() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let [trace, page, again, pair, svg, perfetto, same] =
        ["t.trc", "a.html", "b.html", "c.html", "d.svg", "e.pftrace", "f.pftrace"].map(path);
    let done = |args: &[&str]| {
        let output = keel(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let [t, a, b, c, d, e, f] = [&trace, &page, &again, &pair, &svg, &perfetto, &same]
        .map(|path| path.to_str().expect("a plain path"));
    done(&[&["sim", "fifo", "--trace", t, "--report", a, "--perfetto", e], &SCENE[..]].concat());
    is_page(&page, 1);
    done(&["report", t, "-o", b, "--perfetto", f]);
    is_page(&again, 1);
    assert_eq!(std::fs::read(&perfetto).expect("written"), std::fs::read(&same).expect("written"));
    done(&["report", t, t, "-o", c]);
    is_page(&pair, 2);
    done(&[&["compare", "fifo,fifo", "--runs", "2", "--report", c], &SCENE[..]].concat());
    is_page(&pair, 2);
    done(&[&["sim", "fifo", "--report", d], &SCENE[..]].concat());
    assert!(std::fs::read_to_string(&svg).expect("written").contains("</svg>"));
}

#[test]
fn what_cannot_be_reported_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let [damaged, page] = ["damaged", "page.html"].map(|name| folder.path().join(name));
    std::fs::write(&damaged, "no trace of anything").expect("written");
    let [damaged, page] = [&damaged, &page].map(|path| path.to_str().expect("a plain path"));
    let check = |args: &[&str], expected: &str| {
        let output = keel(args);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {told}");
        assert!(told.contains(expected), "{args:?}: {told}");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "{args:?}");
    };
    check(&["report", damaged, "-o", page], "damaged");
    check(&["report", damaged, "-o", damaged], "would be overwritten");
    check(&["report", damaged, "-o", page, "--perfetto", page], "give each a file of its own");
    check(&["report", damaged, damaged, "--perfetto", page], "about one trace");
    check(&["report", damaged, "-o", "x.svg"], "pages to explore, not pictures");
    check(&["report", "no-such-trace", "-o", page], "no such file");
    check(&["report", damaged], "--output");
    check(&["compare", "fifo,fifo", "--report", "x.svg"], "about one run");
    check(&["compare", "fifo,fifo", "--perfetto", page], "about one run");
    check(&["compare", "fifo,fifo,fifo,fifo,fifo", "--report", page], "up to 4 schedulers");
}
