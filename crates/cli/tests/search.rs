//! `keel fuzz`, `keel explore` and `keel bisect`, as described on their pages.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder with the tests' objects and files, under the names that the pages use.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new(objects: &[(&str, &str)], files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let compiler =
            keel_bpfc::Compiler::new(root()).include("schedulers/include").include("crates/kernel/btf");
        for (source, name) in objects {
            let object = compiler.compile(format!("{source}.bpf.c")).unwrap_or_else(|e| panic!("{e}"));
            std::fs::write(folder.path().join(name), object).expect("it can be written");
        }
        for (file, name) in files {
            std::fs::copy(root().join(file), folder.path().join(name)).expect("it is there");
        }
        Self(folder)
    }

    /// Runs a shell command with this keel. Returns its exit code and output.
    fn sh(&self, line: &str) -> (Option<i32>, String) {
        let keel = Path::new(env!("CARGO_BIN_EXE_keel")).parent().expect("a folder");
        let path = format!("{}:{}", keel.display(), std::env::var("PATH").unwrap_or_default());
        let mut sh = Command::new("sh");
        sh.args(["-c", line]).current_dir(self.0.path()).env("PATH", path).env_remove("RUST_LOG");
        let Output { status, stdout, stderr } = sh.output().expect("there is a shell");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("keel prints UTF-8");
        (status.code(), text(stdout) + &text(stderr))
    }

    fn check(&self, line: &str, code: i32, expected: &str) -> String {
        let (found, text) = self.sh(line);
        assert!(found == Some(code) && text.contains(expected), "{line}\n{found:?}\n{text}");
        text
    }
}

/// The commands in a page's blocks, each with the exit code in its comment: `keel ...   # exits with 1`.
fn commands(page: &str) -> Vec<(String, i32)> {
    let line = |line: &str| {
        let (command, remark) = line.split_once("   # exits with ")?;
        command
            .starts_with("keel ")
            .then(|| (command.trim().to_owned(), remark.trim().parse().expect(remark)))
    };
    page.lines().filter_map(line).collect()
}

#[test]
fn the_examples_of_the_pages_end_as_they_say() {
    let check = |page: &str, objects: &[(&str, &str)], files: &[(&str, &str)], least: usize| {
        let folder = Folder::new(objects, files);
        let commands = commands(page);
        assert!(commands.len() >= least, "{commands:?}");
        for (command, code) in commands {
            folder.check(&command, code, "");
        }
    };
    let starves = [("tests/sim/fuzz/ule-starves.json", "ule-starves.json")];
    let fuzzed = [("tests/objects/mixed_dsq", "my.bpf.o"), ("tests/objects/unfair", "unfair.bpf.o")];
    check(include_str!("../../../docs/how-to/fuzz.md"), &fuzzed, &starves, 5);
    let explored = [("tests/orders/lost_wakeup", "my.bpf.o"), ("tests/orders/counter", "race.bpf.o")];
    let files = [("tests/orders/wakes.json", "wakes.json"), ("tests/orders/pairs.json", "pairs.json")];
    check(include_str!("../../../docs/how-to/explore.md"), &explored, &files, 4);
}

#[test]
fn a_reproducer_fails_by_itself_and_a_corpus_repeats_it() {
    let folder = Folder::new(&[("tests/objects/errors", "my.bpf.o")], &[]);
    let text = folder.check("keel fuzz my.bpf.o --runs 200 --corpus corpus -o out", 1, "gave up after 100");
    assert!(text.contains("1 failure was found."), "{text}");
    let command = text.lines().find_map(|line| line.trim().strip_prefix("keel sim ")).expect("a command");
    folder.check(&format!("keel sim {command}"), 3, "gave up after 100");
    let test =
        folder.check("keel fuzz my.bpf.o --runs 200 -o out --as-test 2>/dev/null", 1, "keel sim my.bpf.o ");
    assert_eq!(test, format!("keel sim {command}\n"), "the same search finds the same");
    // The input as the search uses it, without a new run.
    folder.check("keel fuzz my.bpf.o --runs 0 --corpus out -o again", 1, "gave up after 100");
    folder.check("keel fuzz my.bpf.o:fail_after=1000000 --runs 0 --corpus out", 0, "No failure was found.");
}

/// What a search found in these schedulers, before a change of CPUs was looked for after an insertion: `ule` failed
/// without noise and `goodness` with it.
#[test]
fn a_task_whose_cpus_change_as_it_is_dispatched_ends_no_scheduler() {
    let files = ["ule-leaves.json", "ule-leaves.toml"].map(|name| (format!("tests/sim/fuzz/{name}"), name));
    let folder = Folder::new(&[], &files.each_ref().map(|(file, name)| (file.as_str(), *name)));
    let check = |scheduler: &str, noise: &str| {
        let files = "--workload ule-leaves.json --machine ule-leaves.toml";
        let line =
            format!("keel sim {scheduler} {files} --duration 183382us --seed 1 --noise {noise} --json");
        folder.check(&line, 0, "\"kind\": \"none\"");
    };
    for scheduler in ["bsd", "goodness", "mq", "o1", "ule"] {
        check(scheduler, "none");
        check(scheduler, "quiet");
    }
}

/// What a search found: under `goodness`, one of the kernel's own threads never had a turn, until the watchdog ended
/// the run.
#[test]
fn a_waiting_kernel_thread_ends_no_scheduler() {
    let folder = Folder::new(&[], &[("tests/sim/fuzz/goodness-stalls.json", "goodness-stalls.json")]);
    for scheduler in ["goodness", "mq"] {
        let run = "--workload goodness-stalls.json --machine 2 --duration 5s --noise none";
        folder.check(&format!("keel sim {scheduler} {run} --strict"), 0, "Strict: passed");
    }
}

#[test]
fn any_number_of_threads_makes_the_same_search() {
    let folder = Folder::new(&[], &[]);
    let found = |jobs: u32| {
        let line = format!("keel fuzz fifo --runs 96 --keep-going --allow any=any --jobs {jobs} --json");
        let line = line.replace(" --allow any=any", " --property 'switches >= 0'");
        let (code, text) = folder.sh(&line);
        assert_eq!(code, Some(0), "{text}");
        let part = |key: &str| text.lines().rfind(|line| line.contains(key)).map(str::to_owned);
        (part("\"branches\""), part("\"states\""), part("\"runs\""))
    };
    assert_eq!(found(1), found(3));
}

/// A lone real-time task that yields emits no event at all. Without a limit, its run would last as long as drawn.
#[test]
fn a_run_without_events_ends_early() {
    let folder = Folder::new(&[], &[("tests/sim/fuzz/yields.fuzz.json", "yields.fuzz.json")]);
    let line = "keel fuzz fifo --runs 0 --corpus yields.fuzz.json --property 'duration_ns < 4s'";
    folder.check(line, 0, "No failure was found.");
}

#[test]
fn a_scheduler_is_held_against_another() {
    let folder = Folder::new(&[("tests/objects/unfair", "unfair.bpf.o")], &[]);
    let line = "keel fuzz unfair.bpf.o --against fifo --factor 5 --runs 400";
    let text = folder.check(line, 1, "under fifo");
    assert!(text.contains("wakeup_delay_p99") || text.contains("throughput"), "{text}");
    assert!(!text.contains("plain"), "the name of a unit in the code: {text}");
}

#[test]
fn a_reproducer_of_a_property_fails_by_itself() {
    let folder = Folder::new(&[], &[]);
    let text = folder.check("keel fuzz fifo --runs 100 --property 'switches < 3' -o out", 1, "does not hold");
    let command = text.lines().map(str::trim).find(|line| line.starts_with("keel fuzz ")).expect("a command");
    folder.check(command, 1, "'switches < 3' does not hold");
}

#[test]
fn settings_vary_within_their_bounds() {
    let folder = Folder::new(&[("tests/objects/errors", "my.bpf.o")], &[]);
    // Alone, it does not fail.
    let line = "keel fuzz my.bpf.o --set fail_after=1000000000 --vary fail_after=5..50 --runs 300 -o out";
    let text = folder.check(line, 1, "gave up after ");
    assert!(text.contains("--set 'fail_after="), "{text}");
    folder.check(
        "keel fuzz my.bpf.o --vary nobody=1..2 --runs 10",
        2,
        "keel: --vary nobody: the object has no variable nobody",
    );
}

#[test]
fn what_can_not_be_searched_is_refused() {
    let folder = Folder::new(&[], &[]);
    let check = |line: &str, code: i32, expected: &str| drop(folder.check(line, code, expected));
    check("keel fuzz", 2, "SCHED");
    check("keel fuzz no-such-scheduler", 2, "keel list schedulers");
    check("keel fuzz fifo --property 'wasted < 1'", 2, "no figure is called 'wasted'");
    check("keel fuzz fifo --property 'wasted <'", 2, "is expected");
    check("keel fuzz fifo --against eevdf --factor 1", 2, "above 1");
    check("keel fuzz fifo --runs 1 --seconds 1", 2, "cannot be used with");
    check("echo '{}' > x.fuzz.json; keel fuzz fifo --corpus x.fuzz.json", 2, "is not an input of keel fuzz");
    check(
        "keel fuzz fifo --runs 0",
        2,
        "--runs 0 only reruns the inputs of the corpus, but there is no --corpus",
    );
    check("keel fuzz fifo --runs 0 --corpus nosuchdir", 2, "but nosuchdir has none");
    check("mkdir empty; keel fuzz fifo --seconds 0 --corpus empty", 2, "--seconds 0 only reruns");
    check("keel explore fifo --orders 0", 2, "'--orders <N>'");
    let out = "my.order cannot be written: not a directory";
    check("touch my.order; keel fuzz fifo --runs 1 -o my.order", 2, out);
    check("keel explore fifo --orders 1 --duration 5ms -o my.order/x", 2, out);
    check("cp my.order w.json; keel explore fifo --workload ./w.json -o w.json", 2, "would be overwritten");
    check("keel explore eevdf", 4, "needs a scheduler's object");
    check("echo x > x.order; keel sim fifo --order x.order", 2, "x.order:1: this is not an order");
    let far = "printf 'keel order 1\\nwindow 700 ns\\nhold 9999999\\n' > far.order; keel sim fifo --duration 5ms --order far.order";
    check(far, 0, "did not reach hold 9999999");
}

/// An ordering bug: the object, its workload, the number of CPUs, the property, and its fix.
fn planted(name: &str, workload: &str, duration: &str, property: Option<&str>, fix: &str, how: &str) {
    let machine = if name == "missing_kick" { 3 } else { 2 };
    let file = format!("tests/orders/{workload}");
    let folder = Folder::new(&[(&format!("tests/orders/{name}"), "my.bpf.o")], &[(&file, "w.json")]);
    let property = property.map_or(String::new(), |property| format!(" --property '{property}'"));
    let scene = format!("--workload w.json --machine {machine} --duration {duration} --noise none");
    let text =
        folder.check(&format!("keel explore my.bpf.o {scene}{property} {how} -o my.order"), 1, "shrunk in ");
    let fixed = format!("keel explore my.bpf.o:{fix}=1 {scene}{property} {how} --orders 300 -o fixed.order");
    folder.check(&fixed, 0, "No failing order was found.");
    // Only the order makes the difference.
    let delay = |order: &str| {
        let (_, json) = folder.sh(&format!("keel sim my.bpf.o {scene} {order} --json"));
        let run: serde_json::Value = serde_json::from_str(&json).unwrap_or_else(|e| panic!("{e}: {json}"));
        (run["wakeup_delay_ns"]["max"].as_u64().unwrap_or(0), run["exit"]["kind"] == "error_stall")
    };
    let (plain, ordered) = (delay(""), delay("--order my.order"));
    assert!(!plain.1 && (ordered.1 || ordered.0 > plain.0), "{plain:?} {ordered:?}\n{text}");
}

#[test]
fn orders_show_what_the_plain_run_hides() {
    let quick = Some("names.wakee.wakeup_delay_ns.max < 160us");
    planted("lost_wakeup", "wakes.json", "100ms", quick, "looks_again", "--method exhaustive --depth 1");
    planted("lost_wakeup", "wakes.json", "100ms", quick, "looks_again", "--method pct");
    planted("idle_pick", "wakes.json", "100ms", quick, "looks_again", "--method walk");
    let quick = Some("names.short.wakeup_delay_ns.max < 300us");
    planted("missing_kick", "kicks.json", "20ms", quick, "always_kicks", "--method pct");
    planted("taken_twice", "pairs.json", "1s", None, "takes_at_once", "--method pct");
}

#[test]
fn a_scheduler_that_fails_in_every_order_does_not_pass() {
    let folder = Folder::new(&[("tests/objects/errors", "my.bpf.o")], &[]);
    let line = "keel explore my.bpf.o:fail_after=20 --machine 2 --duration 20ms --noise none --orders 3";
    let text = folder.check(line, 1, "In every order: the scheduler failed: ");
    assert!(text.contains("No order failed in another way."), "{text}");
}

#[test]
fn races_are_found_where_nothing_orders_two_accesses() {
    let folder =
        Folder::new(&[("tests/orders/counter", "my.bpf.o")], &[("tests/orders/pairs.json", "w.json")]);
    let check = |way: &str, code: i32, part: &str| {
        let scene = "--workload w.json --machine 2 --duration 20ms --noise none --property 'switches > 0'";
        folder.check(&format!("keel explore my.bpf.o:way={way} {scene} --races --orders 20"), code, part)
    };
    let sound = "No data race was found";
    let text = check("0", 1, "counter.bpf.c:63: count = count + 1;");
    assert!(text.contains("  count, ") && !text.contains("No data race"), "{text}");
    // Each is correct, but races without the part that orders its accesses.
    let ordered = [
        ("a lock", 1, "counted_under_lock, "),
        ("atomic instructions", 2, "count, "),
        ("a counter for each CPU", 3, "of_all, "),
        ("a runqueue's lock", 4, "of_runqueue, "),
        ("a queue", 5, "letter, "),
    ];
    for (name, way, variable) in ordered {
        let text = check(&format!("{way}"), 0, sound);
        assert!(!text.contains(variable), "{name}: {text}");
        check(&format!("{way}:broken=1"), 1, variable);
    }
}

#[test]
fn all_orders_of_a_small_run_are_tried() {
    let folder =
        Folder::new(&[("tests/orders/idle_pick", "my.bpf.o")], &[("tests/orders/wakes.json", "w.json")]);
    let explore = |settings: &str, depth: u32| {
        format!(
            "keel explore my.bpf.o{settings} --workload w.json --machine 2 --duration 2ms --noise none --method exhaustive \
             --depth {depth} --orders 100000 --property 'switches >= 0'"
        )
    };
    let text = folder.check(&explore("", 1), 0, "All orders within the bound were tried.");
    assert!(text.contains("my.bpf.o: ") && text.contains(" orders of a run with "), "{text}");
}

#[test]
fn the_commit_that_changed_a_run_is_found() {
    let folder =
        Folder::new(&[("schedulers/fifo", "good.bpf.o"), ("tests/objects/unfair", "bad.bpf.o")], &[]);
    let commits = "git init -q . && git config user.email a@b && git config user.name a && \
        for n in 1 2 3 4 5 6; do \
          if [ $n -lt 4 ]; then cp good.bpf.o source; else cp bad.bpf.o source; fi; \
          echo $n > number; git add source number; git commit -qm \"number $n\"; git tag c$n; done";
    folder.check(commits, 0, "");
    let line = "keel bisect my.bpf.o --good c1 --bad c6 --workload hogs --machine 2 --duration 3s -- cp source my.bpf.o";
    folder.check(line, 0, "the first bad commit is ");
    let (_, text) = folder.sh(line);
    assert!(text.contains("number 4\n"), "{text}");
    folder.check("git status --short --branch", 0, "## ");
    folder.check("keel bisect my.bpf.o --good c1 --bad nobody -- true", 2, "git bisect failed");
    let refused = |line: &str, expected: &str| {
        let text = folder.check(line, 2, expected);
        assert!(!text.contains("Bisecting"), "it was refused after a checkout: {text}");
    };
    let bisect = "keel bisect my.bpf.o --good c1 --bad c6";
    refused(&format!("{bisect} --property 'foo < 1' -- true"), "no figure is called 'foo'");
    refused(&format!("{bisect} -- nosuchcmd"), "no program 'nosuchcmd'");
    let stopped = |signal: &str, code: i32, name: &str| {
        let line = format!(
            "rm -f built; {bisect} -- sh -c 'touch built; sleep 60' & keel=$!; \
             until test -f built; do sleep 0.1; done; kill -s {signal} $keel; wait $keel"
        );
        folder.check(&line, code, &format!("stopped by {name} before the first bad commit was found"));
        folder.check("test ! -e .git/BISECT_LOG && git log -1 --format=%s", 0, "number 6");
    };
    stopped("INT", 130, "Ctrl-C");
    stopped("TERM", 143, "SIGTERM");
}
