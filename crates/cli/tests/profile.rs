//! `keel profile`, and `--profile` of other commands. The commands in docs/how-to/profile.md are run unchanged.

use std::path::Path;
use std::process::{Command, Output};

const PAGE: &str = include_str!("../../../docs/how-to/profile.md");

/// Runs a shell command in a folder, with this keel.
fn shell(folder: &Path, line: &str) -> Output {
    let keel = Path::new(env!("CARGO_BIN_EXE_keel")).parent().expect("it is in a folder");
    let path = format!("{}:{}", keel.display(), std::env::var("PATH").unwrap_or_default());
    Command::new("sh").args(["-ec", line]).current_dir(folder).env("PATH", path).output().expect("sh runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.into()).expect("keel prints UTF-8")
}

/// The output of a command, which must succeed.
fn printed(folder: &Path, line: &str) -> String {
    let output = shell(folder, line);
    assert!(output.status.success(), "{line}: {}", text(&output.stderr));
    text(&output.stdout)
}

const RUN: &str = "--machine 4 --workload mix:20:80 --duration 50ms";

/// The page's commands, with an existing scheduler and a short run.
#[test]
fn the_commands_of_the_page_work() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = keel_bpfc::Compiler::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .include("schedulers/include")
        .include("crates/kernel/btf")
        .compile("schedulers/fifo.bpf.c")
        .unwrap_or_else(|e| panic!("{e}"));
    std::fs::write(folder.path().join("my.bpf.o"), fifo).unwrap();
    let mut run = 0;
    for block in PAGE.split("```sh\n").skip(1) {
        let (block, _) = block.split_once("```").expect("a block ends");
        let own = |line: &&str| line.starts_with("keel") && !line.contains(" -- ");
        for line in block.lines().filter(own) {
            let (command, file) = match line.split_once(" > ") {
                Some((command, file)) => (command, format!(" > {file}")),
                None => (line, String::new()),
            };
            let many = if line.starts_with("keel compare") { " --runs 1" } else { "" };
            printed(folder.path(), &format!("{command} --duration 5ms{many}{file}"));
            run += 1;
        }
    }
    assert!(run >= 6, "the page has commands: {run}");
    for file in ["before.json", "my.pb.gz", "my.folded", "my.info", "lines.txt", "run.html", "both.html"] {
        assert!(folder.path().join(file).metadata().is_ok_and(|file| file.len() > 0), "{file}");
    }
}

/// The sums in every format are those of the run without a profile.
#[test]
fn each_format_has_the_runs_own_sums() {
    let folder = tempfile::tempdir().unwrap();
    let run: serde_json::Value =
        serde_json::from_str(&printed(folder.path(), &format!("keel sim o1 {RUN} --json"))).unwrap();
    let callback_ns = run["overhead"]["callback_ns"].as_u64().unwrap();
    let line = format!("keel profile o1 {RUN} --json --folded o1.folded --lcov o1.info");
    let profile: serde_json::Value = serde_json::from_str(&printed(folder.path(), &line)).unwrap();
    assert_eq!(profile["totals"]["callback_ns"].as_u64(), Some(callback_ns));
    assert_eq!(profile["totals"]["instructions"], run["overhead"]["instructions"]);
    let folded = std::fs::read_to_string(folder.path().join("o1.folded")).unwrap();
    let sum: u64 = folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    assert_eq!(sum, callback_ns);
    let lcov = std::fs::read_to_string(folder.path().join("o1.info")).unwrap();
    assert!(lcov.contains("SF:./schedulers/o1.bpf.c\n") && lcov.contains("FNDA:"), "{lcov}");
    // The same for a run that is made for other purposes.
    printed(folder.path(), &format!("keel sim o1 {RUN} --profile sim.folded"));
    assert_eq!(std::fs::read_to_string(folder.path().join("sim.folded")).unwrap(), folded);
    printed(folder.path(), &format!("keel sim o1 {RUN} --trace o1.keel"));
    printed(folder.path(), "keel replay o1.keel o1 --profile replay.txt");
    let replayed = std::fs::read_to_string(folder.path().join("replay.txt")).unwrap();
    assert!(replayed.contains("Hottest lines") && replayed.contains("ops.dispatch"), "{replayed}");
}

/// A page contains the profile of each profiled run, and no other profile.
#[test]
fn a_page_has_the_profile() {
    let folder = tempfile::tempdir().unwrap();
    let check = |line: &str, expected: usize| {
        printed(folder.path(), line);
        let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
        let profiled = page.lines().filter(|line| {
            line.starts_with("<script type=\"application/json\"") && !line.contains("\"profile\":null")
        });
        assert_eq!(profiled.count(), expected, "{line}");
    };
    check(&format!("keel profile o1 {RUN} --report page.html"), 1);
    check(&format!("keel sim o1 {RUN} --profile o1.json --report page.html"), 1);
    check(&format!("keel sim o1 {RUN} --report page.html"), 0);
    check(&format!("keel compare o1,mq {RUN} --runs 2 --profile both.txt --report page.html"), 2);
    printed(folder.path(), &format!("keel sim o1 {RUN} --trace o1.keel"));
    check("keel replay o1.keel o1 --profile o1.json --report page.html", 1);
    check("keel report o1.keel -o page.html", 0);
}

#[test]
fn what_cannot_be_profiled_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("no.json"), "{\"nodes\": 3}").unwrap();
    let check = |line: &str, expected: &str| {
        let output = shell(folder.path(), line);
        let reported = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {reported}");
        assert!(reported.contains(expected), "{line}: {reported}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "{line} leaves nothing");
    };
    check("keel profile eevdf", "eevdf has no BPF code to profile");
    check("keel sim eevdf --profile x.txt --duration 1ms", "eevdf has no BPF code to profile");
    check("keel profile --diff no.json no.json", "no.json is not a profile");
    check("keel profile --diff no.json no.json --seed 7", "options for runs have no effect");
    check("keel profile --diff o1 gone.json --duration 1ms", "gone.json cannot be read");
    check("keel profile o1 --engine cranelift", "keel profile uses its own engine");
    check("keel profile o1 --folded x --lcov x", "--folded and --lcov both name ");
    check("keel profile o1 --report x.svg --duration 1ms", "keel profile writes HTML pages");
    check("keel profile o1 --report x.html --lcov x.html", "--lcov and --report both name ");
    check("keel compare o1,mq --profile x.json", "--profile needs a single run");
}
