//! `keel report`, `--report` and `--perfetto`: complete files or none.

use serde_json::Value;
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

/// What the page's first run contains about itself.
fn head(page: &Path) -> Value {
    let page = std::fs::read_to_string(page).expect("a page");
    let head = page.split("id=\"run0\">").nth(1).and_then(|rest| rest.split("</script>").next());
    serde_json::from_str(head.expect("a head")).expect("JSON")
}

/// A real-time task waits while another CPU runs an ordinary one; whether it may use that CPU is unknown.
const BESIDE: &str = "# tracer: nop
#
          <idle>-0       [000] d..2.    41.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=11 next_prio=10
          <idle>-0       [001] d..2.    41.000000: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=c next_pid=13 next_prio=120
               a-11      [000] d..2.    41.001000: sched_wakeup: comm=b pid=12 prio=10 target_cpu=000
               a-11      [000] d..2.    41.009000: sched_switch: prev_comm=a prev_pid=11 prev_prio=10 prev_state=S ==> next_comm=b next_pid=12 next_prio=10
               b-12      [000] d..2.    41.010000: sched_switch: prev_comm=b prev_pid=12 prev_prio=10 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

#[test]
fn a_page_says_what_the_check_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let beside = folder.path().join("beside.txt");
    std::fs::write(&beside, BESIDE).expect("written");
    let [trace, page] = ["t.trc", "a.html"].map(|name| folder.path().join(name));
    let [trace, to] = [&trace, &page].map(|path| path.to_str().expect("a plain path"));
    let made = ["sim", "cfs", "--set", "bug=group-construction", "--machine", "opteron-6272", "--workload"];
    let made = [&made[..], &["lu:16:2@nodes=1,2", "--duration", "200ms", "--trace", trace]].concat();
    assert_eq!(keel(&made).status.code(), Some(0));
    let recordings = "../readers/recordings";
    let check = |trace: &str| {
        let reported = keel(&["check", trace, "--json"]).stdout;
        let reported: Value = serde_json::from_slice(&reported).expect("JSON");
        assert_eq!(keel(&["report", trace, "-o", to]).status.code(), Some(0));
        let head = head(&page);
        assert_eq!(head["report"]["findings_total"], reported["findings_total"], "{trace}");
        assert_eq!(head["report"]["wasted_core_ns"], reported["wasted_core_ns"], "{trace}");
        let text = String::from_utf8(keel(&["check", trace]).stdout).expect("UTF-8");
        let first = text.lines().next().expect("a line");
        let headline = reported["wasted_where"]["sentence"].as_str().expect("a text");
        let title = head["title"].as_str().expect("a text");
        match headline {
            "" => assert!(text.trim_end().ends_with(title), "{trace}: {title}"),
            headline => {
                assert_eq!(title, first, "{trace}");
                // The recording's limits are above it.
                assert!(title.ends_with(headline), "{trace}: {title}");
                let verdict = head["verdict"].as_str().expect("a text");
                assert!(text.trim_end().ends_with(verdict), "{trace}: {verdict}");
            }
        }
        let document = std::fs::read_to_string(&page).expect("a page");
        let name = head["name"].as_str().expect("a text");
        let words = name.split(['&', '<', '>', '"']).next().expect("some");
        assert!(document.contains(&format!("<title>{words}")), "{trace}");
        headline.is_empty()
    };
    let quiet: Vec<bool> = [trace, beside.to_str().expect("a plain path")]
        .map(str::to_owned)
        .into_iter()
        .chain(
            ["ftrace.txt", "perf.data", "trace.dat", "waste/left-behind.data"]
                .map(|name| format!("{recordings}/{name}")),
        )
        .map(|trace| check(&trace))
        .collect();
    assert!(quiet.contains(&false), "some waste");
}

#[test]
fn a_page_says_first_that_events_were_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let [trace, page] = ["lost.txt", "a.html"].map(|name| folder.path().join(name));
    let [from, to] = [&trace, &page].map(|path| path.to_str().expect("a plain path"));
    let check = |text: &str, title: &str| {
        std::fs::write(&trace, text).expect("written");
        let output = keel(&["report", from, "-o", to]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let first = String::from_utf8(keel(&["check", from]).stdout).expect("UTF-8");
        let first = first.lines().next().unwrap_or_default().to_owned();
        let shown = head(&page)["title"].as_str().expect("a text").to_owned();
        assert!(shown.contains(title) && first.contains(title), "{shown} / {first}");
    };
    let lost = BESIDE.replacen("               a-11 ", "CPU:0 [LOST 7 EVENTS]\n               a-11 ", 1);
    assert_ne!(lost, BESIDE);
    check(&lost, "7 events were lost");
    check(BESIDE, "");
}

/// `keel workload from` names the workload of a simulated run. A recording by another tool has none.
#[test]
fn a_workload_from_a_simulated_run_names_the_one_that_ran() {
    let folder = tempfile::tempdir().expect("a folder");
    let [run, text, file] = ["run.keel", "trace.txt", "w.json"].map(|name| folder.path().join(name));
    std::fs::write(&text, BESIDE).expect("written");
    let [run, text, file] = [&run, &text, &file].map(|path| path.to_str().expect("a plain path"));
    let made = keel(&["sim", "fifo", "--workload", "hogs:3", "--duration", "5ms", "--trace", run]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let check = |recording: &str, expected: bool| {
        let output = keel(&["workload", "from", recording, "-o", file]);
        let reported = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{recording}: {reported}");
        assert_eq!(reported.contains("a simulated run of hogs:3"), expected, "{recording}: {reported}");
    };
    check(run, true);
    check(text, false);
}

#[test]
fn what_cannot_be_reported_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let [damaged, page] = ["damaged.html", "page.html"].map(|name| folder.path().join(name));
    std::fs::write(&damaged, "no trace of anything").expect("written");
    let [damaged, page] = [&damaged, &page].map(|path| path.to_str().expect("a plain path"));
    let check = |args: &[&str], expected: &str| {
        let output = keel(args);
        let reported = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {reported}");
        assert!(reported.contains(expected), "{args:?}: {reported}");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "{args:?}");
    };
    check(&["report", damaged, "-o", page], "damaged");
    check(&["report", damaged, "-o", damaged], "would be overwritten");
    check(&["workload", "from", damaged, "-o", damaged], "would be overwritten");
    check(&["report", damaged, "-o", page, "--perfetto", page], "give each its own file");
    check(&["report", damaged, damaged, "--perfetto", page], "takes a single trace");
    check(&["report", damaged, "-o", "x.svg"], "HTML pages, not pictures");
    for end in ["png", "jpg", "pdf", "htm", "html.gz", "htmlx"] {
        let name = &page.replace("html", end);
        check(&["report", damaged, "-o", name], "name a file that ends in .html");
        check(&["sim", "fifo", "--report", name], "name a file that ends in .html or .svg");
        check(&["compare", "fifo,fifo", "--report", name], "name a file that ends in .html");
        check(&["lab", "--report", name], "name a file that ends in .html");
    }
    check(
        &["sim", "fifo", "--report", page.trim_end_matches(".html")],
        "keel sim writes HTML pages and SVG pictures",
    );
    check(&["report", "no-such-trace", "-o", page], "no such file");
    check(&["report", damaged], "--output");
    check(&["compare", "fifo,fifo", "--report", "x.svg"], "needs a single run");
    check(&["compare", "fifo,fifo", "--perfetto", page], "needs a single run");
    check(&["compare", "fifo,fifo,fifo,fifo,fifo", "--report", page], "up to 4 schedulers");
    let five = ["report", damaged, damaged, damaged, damaged, damaged, "-o", page];
    check(&five, "up to 4 recordings, not 5");
}

#[test]
fn a_recording_is_not_joined_with_other_workloads() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("t.trc");
    let trace = trace.to_str().expect("a plain path");
    let made = keel(&[&["sim", "fifo", "--trace", trace], &SCENE[..]].concat());
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let joined = keel(&["sim", "fifo", "--workload", &format!("{trace}+hogs:2")]);
    let reported = String::from_utf8_lossy(&joined.stderr);
    assert_eq!(joined.status.code(), Some(2), "{reported}");
    assert!(reported.contains("a recording can't be joined with other workloads"), "{reported}");
}
