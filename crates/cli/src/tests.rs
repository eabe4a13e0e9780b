//! Tests whole commands with the fake `lab` crate: exit codes and files.

use crate::args::Cli;
use crate::asked::Asked;
use crate::failure::{Code, Failure};
use crate::fake::FAKE;
use clap::Parser;
use std::path::Path;

fn keel(args: &[&str]) -> Result<Code, Failure> {
    let cli = Cli::try_parse_from(["keel"].iter().chain(args)).expect("the arguments are right");
    crate::run(&cli, &FAKE)
}

fn code(args: &[&str]) -> Code {
    keel(args).unwrap_or_else(|failure| failure.code)
}

#[test]
fn each_ending_has_its_exit_code() {
    let check = |scheduler: &str, more: &[&str], expected| {
        let args: Vec<&str> = ["sim", scheduler].iter().chain(more).copied().collect();
        assert_eq!(code(&args), expected, "{args:?}");
    };
    check("good", &[], Code::Done);
    check("good", &["--strict"], Code::Done);
    check("wasteful", &[], Code::Done);
    check("wasteful", &["--strict", "--json"], Code::Found);
    check("wasteful", &["--allow", "wasted_core=any"], Code::Found);
    check("wasteful", &["--allow", "wasted_core=any", "--allow", "starvation=1"], Code::Done);
    check("wasteful", &["--allow", "wasted_core=7%,5s-each", "--allow", "starvation=5s"], Code::Done);
    check("wasteful", &["--allow", "wasted_core=6%", "--allow", "starvation=any"], Code::Found);
    check("good", &["--budgets", "Cargo.toml"], Code::Input);
    check("good", &["--baseline", "Cargo.toml"], Code::Input);
    check("fails", &["--strict"], Code::Scheduler);
    check("refused", &[], Code::Scheduler);
    check("unsupported", &[], Code::Unsupported);
    check("buggy", &[], Code::Bug);
    check("nobody", &[], Code::Input);
    check("good", &["--workload", "nothing"], Code::Input);
    check("good", &["--workload", "Cargo.toml"], Code::Input);
    check("good", &["--workload", "mix+typist+hogs:3"], Code::Input);
    check("good", &["--workload", "mix+hogs:3+mix:8:80"], Code::Done);
    check("good", &["--machine", "0"], Code::Input);
    check("good", &["--machine", "4097"], Code::Input);
    check("good", &["--machine", "99999999999999999999"], Code::Input);
    check("good", &["--machine", "nowhere.toml"], Code::Input);
    check("good", &["--machine", "4096"], Code::Done);
}

#[test]
fn a_scheduler_is_scored_by_a_suite() {
    let folder = tempfile::tempdir().unwrap();
    let suite = folder.path().join("s.toml");
    let text = "version = 1\ntitle = ''\nbaseline = 'good'\nduration_ms = 10\nseeds = 2\n[[part]]\nname = 'a'\n\
                workload = 'mix'\nmachine = '2'\nfigure = 'wakeup_delay_p99'\n";
    std::fs::write(&suite, text).unwrap();
    let suite = suite.to_str().unwrap();
    let check = |scheduler: &str, suite: &str, expected| {
        assert_eq!(code(&["score", scheduler, "--suite", suite, "--json"]), expected, "{scheduler} {suite}");
    };
    check("good", suite, Code::Done);
    check("wasteful", suite, Code::Done);
    check("fails", suite, Code::Scheduler);
    check("nobody", suite, Code::Input);
    check("good", "no-such-suite", Code::Input);
    check("good", "Cargo.toml", Code::Input);
}

#[test]
fn a_sweep_says_where_the_package_is_missing() {
    let check = |python: &str, expected| assert_eq!(code(&["sweep", "s.toml", "--python", python]), expected);
    check("false", Code::Unsupported);
    check("no/such/python", Code::Input);
}

#[test]
fn joined_workloads_are_reported_by_part() {
    let check = |workload: &str, expected: &str| {
        let failure = keel(&["sim", "good", "--workload", workload]).unwrap_err();
        assert_eq!((failure.code, failure.sentence()), (Code::Input, expected), "{workload}");
    };
    check("mix+", "'mix+': part 2 of the joined workloads is empty; write A+B");
    check(
        "mix+hogs:0+x",
        "part 2 of the workload, 'hogs:0': 'hogs:0': write hogs:TASKS[:NICE], as in hogs:1000; TASKS is 1 to 1,000,000, NICE -20 to 19",
    );
    check(
        "mix+nobody",
        "part 2 of the workload, 'nobody': no built-in workload and no file is named 'nobody'",
    );
    check(
        "hogs:900000+hogs:900000",
        "'hogs:900000+hogs:900000': together they have more than 1000000 instances",
    );
    check(
        "mix+hogs:3@nodes=7",
        "part 2 of the workload, 'hogs:3@nodes=7': 'hogs:3': the machine has no node 7: its last is 0",
    );
    check(
        "hogs:3@node=0",
        "'hogs:3@node=0': '@node=0' is not a setting of a workload; write @nodes=0,1, @cpus=0-7,16 or @after_ms=300",
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a@b.json");
    std::fs::write(&path, "{}").unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(code(&["sim", "good", "--workload", path]), Code::Done);
    assert_eq!(
        code(&["sim", "good", "--workload", &format!("{path}@cpus=0-3@after_ms=5+mix@nodes=0")]),
        Code::Done
    );
    let path = folder.path().join("a+b.json");
    std::fs::write(&path, "{}").unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(code(&["sim", "good", "--workload", path]), Code::Done);
    assert_eq!(code(&["sim", "good", "--workload", &format!("{path}+mix")]), Code::Done);
    std::fs::write(path, "no").unwrap();
    let failure = keel(&["sim", "good", "--workload", &format!("mix+{path}")]).unwrap_err();
    let expected = format!("part 2 of the workload, '{path}': {path}:1: this is not JSON");
    assert_eq!((failure.code, failure.sentence()), (Code::Input, expected.as_str()));
}

#[test]
fn a_comparison_ends_as_its_worst_run() {
    let check = |args: &[&str], expected| assert_eq!(code(args), expected, "{args:?}");
    check(&["compare", "good,good", "--runs", "2"], Code::Done);
    check(&["compare", "good,wasteful", "--strict"], Code::Found);
    check(&["compare", "good,wasteful,fails", "--strict", "--json"], Code::Scheduler);
    check(&["compare", "good,unsupported"], Code::Unsupported);
    check(&["compare", "good,,good"], Code::Input);
    check(&["compare", "good", "--trace", "x"], Code::Input);
    check(&["compare", "good", "--report", "x.svg"], Code::Input);
}

#[test]
fn a_scheduler_may_have_settings_of_its_own() {
    let specs = |schedulers: &[&str], set: &[&str]| {
        let sets = set.iter().flat_map(|set| ["--set", set]);
        let args: Vec<&str> = ["keel", "sim", "good"].into_iter().chain(sets).collect();
        let crate::args::Command::Sim(args) = Cli::try_parse_from(args).unwrap().command else {
            unreachable!("it is keel sim")
        };
        let asked: Vec<_> = schedulers.iter().map(|given| Asked::read(&FAKE, given).unwrap()).collect();
        let specs =
            crate::inputs::specs(&FAKE, &asked, None, &args.scene.scene(), &crate::interrupt::Process)
                .unwrap();
        let reported = |(name, value): &(String, String)| format!("{name}={value}");
        let settings =
            |spec: &keel_lab::RunSpec| spec.settings.iter().map(reported).collect::<Vec<_>>().join(" ");
        specs.iter().map(|spec| (spec.scheduler.name.clone(), settings(spec))).collect::<Vec<_>>()
    };
    let check = |schedulers: &[&str], set: &[&str], expected: &[(&str, &str)]| {
        let expected: Vec<_> = expected.iter().map(|&(n, s)| (n.to_owned(), s.to_owned())).collect();
        assert_eq!(specs(schedulers, set), expected);
    };
    check(
        &["good", "good:kick=1", "good:kick=0:x=2"],
        &["y=3"],
        &[("good", "y=3"), ("good:kick=1", "y=3 kick=1"), ("good:kick=0:x=2", "y=3 kick=0 x=2")],
    );
    // The scheduler's own setting comes last, so it wins.
    check(&["good:y=4"], &["y=3"], &[("good:y=4", "y=3 y=4")]);
    assert_eq!(code(&["compare", "good:kick=1,good:kick=0", "--runs", "1"]), Code::Done);
    assert_eq!(code(&["sim", "good:kick=1"]), Code::Done);
    assert_eq!(code(&["sim", "good:kick"]), Code::Input);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd:name=1.bpf.o");
    std::fs::write(&path, "object").unwrap();
    let given = format!("{}:kick=1,{0}", path.display());
    assert_eq!(code(&["compare", &given, "--runs", "1"]), Code::Done);
    let overwritten =
        code(&["sim", &format!("{}:kick=1", path.display()), "--trace", path.to_str().unwrap()]);
    assert_eq!(overwritten, Code::Input, "the object is an input");
}

#[test]
fn files_appear_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let files = || std::fs::read_dir(folder.path()).unwrap().count();
    let trace = folder.path().join("run.keel");
    let sim = |scheduler: &str, to: &Path| code(&["sim", scheduler, "--trace", to.to_str().unwrap()]);
    for (scheduler, expected) in
        [("unsupported", Code::Unsupported), ("nobody", Code::Input), ("refused", Code::Scheduler)]
    {
        assert_eq!(sim(scheduler, &trace), expected);
        assert_eq!(files(), 0, "{scheduler}");
    }
    assert_eq!(sim("fails", &trace), Code::Scheduler);
    assert_eq!(files(), 1, "a failure leaves its trace");
    let first = std::fs::read(&trace).unwrap();
    assert_eq!(sim("fails", &trace), Code::Scheduler);
    assert_eq!(std::fs::read(&trace).unwrap(), first, "the same run, the same bytes");
    let picture = folder.path().join("run.svg");
    assert_eq!(code(&["sim", "wasteful", "--report", picture.to_str().unwrap()]), Code::Done);
    assert!(std::fs::read_to_string(&picture).unwrap().contains("</svg>"));
    assert_eq!(sim("good", &folder.path().join("no/such/folder")), Code::Input);
    assert_eq!(sim("good", folder.path()), Code::Input);
}

#[test]
fn outputs_are_neither_inputs_nor_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let workload = folder.path().join("w.json");
    std::fs::write(&workload, "{}").unwrap();
    let workload = workload.to_str().unwrap();
    let check = |args: &[&str]| {
        let args: Vec<&str> = ["sim", "good"].iter().chain(args).copied().collect();
        assert_eq!(code(&args), Code::Input, "{args:?}");
        assert_eq!(std::fs::read_to_string(workload).unwrap(), "{}");
    };
    let picture = folder.path().join("x.svg");
    let picture = picture.to_str().unwrap();
    check(&["--workload", workload, "--trace", workload]);
    check(&["--workload", &format!("mix+{workload}"), "--trace", workload]);
    check(&["--trace", picture, "--report", picture]);
    check(&["--trace", picture, "--log", picture]);
    check(&["--report", picture, "--log", picture]);
    check(&["--workload", workload, "--log", workload]);
    check(&["--log", folder.path().to_str().unwrap()]);
    check(&["--perfetto", picture, "--trace", picture]);
    check(&["--workload", workload, "--perfetto", workload]);
}

#[test]
fn no_two_outputs_are_one_file_in_any_spelling() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let recording = at("r.keel");
    assert_eq!(code(&["sim", "good", "--trace", &recording]), Code::Done);
    std::fs::create_dir(at("sub")).unwrap();
    std::os::unix::fs::symlink(at("sub"), at("link")).unwrap();
    let check = |args: &[&str], one: &str, other: &str, options: [&str; 2]| {
        let files = [options[0], &at(one), options[1], &at(other)];
        let failure = keel(&[args, &files].concat()).expect_err("one of them would be lost");
        let expected = format!("{} and {} both name ", options[0], options[1]);
        assert!(failure.code == Code::Input && failure.sentence().starts_with(&expected), "{failure}");
    };
    let sim = ["sim", "good"];
    check(&sim, "x.svg", "./x.svg", ["--trace", "--report"]);
    check(&sim, "x.svg", "sub/../x.svg", ["--trace", "--log"]);
    check(&sim, "sub/x", "link/x", ["--trace", "--perfetto"]);
    check(&["replay", &recording, "good"], "x.svg", "sub/../x.svg", ["--trace", "--report"]);
    check(&["report", &recording], "x.html", "sub/../x.html", ["-o", "--perfetto"]);
    check(&["profile", "good"], "x", "sub/../x", ["--folded", "--pprof"]);
    assert_eq!(code(&["sim", "good", "--trace", "/dev/null", "--perfetto", "/dev/null"]), Code::Done);
}

#[test]
fn the_recipe_beside_an_object_is_an_input() {
    let folder = tempfile::tempdir().unwrap();
    let [object, recipe, recording] =
        ["h.bpf.o", "h.keel.toml", "r.keel"].map(|name| folder.path().join(name));
    std::fs::write(&object, "object").unwrap();
    std::fs::write(&recipe, "").unwrap();
    let [object, recipe, recording] = [&object, &recipe, &recording].map(|path| path.to_str().unwrap());
    assert_eq!(code(&["sim", "good", "--trace", recording]), Code::Done);
    let expected = format!("{recipe} is an input file and would be overwritten");
    let check = |args: &[&str]| {
        let failure = keel(args).expect_err("the recipe would be lost");
        assert_eq!((failure.code, failure.sentence()), (Code::Input, expected.as_str()), "{args:?}");
    };
    check(&["sim", object, "--trace", recipe]);
    check(&["sim", &format!("{object}:kick=1"), "--log", recipe]);
    check(&["compare", &format!("good,{object}"), "--profile", recipe]);
    check(&["replay", recording, object, "--trace", recipe]);
    check(&["profile", object, "--folded", recipe]);
    check(&["explore", object, "--orders", "1", "-o", recipe]);
    // A built-in scheduler has no file beside it.
    assert_eq!(code(&["sim", "good", "--trace", recipe]), Code::Done);
}

#[test]
fn the_schedulers_output_is_kept_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.txt");
    let reported =
        "          worker-1       [003]     1.000000007: hello\\u{1b}[2J\n4 more messages are left out\n";
    for (scheduler, expected) in [("good", Code::Done), ("fails", Code::Scheduler)] {
        assert_eq!(code(&["sim", scheduler, "--log", log.to_str().unwrap()]), expected);
        assert_eq!(std::fs::read_to_string(&log).unwrap(), reported, "{scheduler}");
        std::fs::remove_file(&log).unwrap();
    }
    assert_eq!(code(&["sim", "unsupported", "--log", log.to_str().unwrap()]), Code::Unsupported);
    assert_eq!(code(&["sim", "good", "--log", "-"]), Code::Done);
    assert!(!log.exists() && !Path::new("-").exists());
}

#[test]
fn a_lab_ends_as_its_worst_run_and_goes_on_after_each() {
    let check = |args: &[&str], expected| {
        let args: Vec<&str> = ["lab", "--runs", "2"].iter().chain(args).copied().collect();
        assert_eq!(code(&args), expected, "{args:?}");
    };
    check(&["sound"], Code::Done);
    check(&["sound", "sound", "--json", "--jobs", "1"], Code::Done);
    check(&["sound", "--sensitivity"], Code::Done);
    check(&["sound", "--sensitivity", "--json"], Code::Done);
    check(&["sound", "--matrix"], Code::Done);
    check(&["sound", "broken", "--matrix", "--json"], Code::Done);
    check(&["missing"], Code::Input);
    check(&["broken", "sound"], Code::Scheduler);
    check(&["broken", "--sensitivity"], Code::Scheduler);
    check(&["torn", "broken"], Code::Bug);
    check(&[], Code::Bug);
    check(&["./no-such.toml"], Code::Input);
    let failure = keel(&["lab", "nobody"]).unwrap_err();
    assert_eq!(failure.code, Code::Input);
    let reported = "unknown experiment 'nobody'; the built-in ones are broken, missing, sound, torn";
    assert!(failure.to_string().contains(reported), "{failure}");
}

#[test]
fn a_lab_writes_its_page_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.html");
    let given = path.to_str().unwrap();
    for more in [&["broken"][..], &["sound", "--sensitivity"], &["sound", "--matrix"]] {
        let args: Vec<&str> = ["lab", "--runs", "1", "--report", given].iter().chain(more).copied().collect();
        code(&args);
        let page = std::fs::read_to_string(&path).unwrap();
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "{more:?}");
        std::fs::remove_file(&path).unwrap();
    }
    let refused = |report: &str, expected: &str| {
        let failure = keel(&["lab", "sound", "--report", report]).unwrap_err();
        assert_eq!(failure.code, Code::Input);
        assert!(failure.sentence().contains(expected), "{failure}");
    };
    refused("out.svg", "keel lab writes HTML pages");
    refused("no/such/place.html", "cannot be written");
}

#[test]
fn a_file_is_an_experiment_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let lab = |text: &str| {
        std::fs::write(&path, text).unwrap();
        keel(&["lab", "--runs", "1", path.to_str().unwrap()])
    };
    let failure = lab("id = 'mine'\ntitle = 3\n").unwrap_err();
    let place = format!("{}:2: ", path.display());
    assert!(failure.to_string().contains(&place), "{failure}");
    assert_eq!(failure.code, Code::Input);
    let good = "id = 'mine'\ntitle = 't'\nsource = 's'\nmodelled = 'm'\nmachine = '2'\nworkload = 'mix'\n\
                ends_within_ms = 50\n[[arm]]\nlabel = 'one'\nscheduler = 'good'\n[[claim]]\nsays = 'x'\n\
                measure = 'busy_share'\nof = 'one'\npublished = { of = [0.5] }\nband = [0.4, 0.6]\n";
    assert_eq!(lab(good).unwrap(), Code::Done);
}

#[test]
fn an_option_that_is_not_there_is_no_command() {
    let check = |args: &[&str], expected: &str| {
        let failure = keel(args).unwrap_err();
        assert_eq!((failure.code, failure.sentence()), (Code::Input, expected), "{args:?}");
    };
    check(&["record", "-o", "x.trace", "--durtion", "3s"], "keel record has no option '--durtion'");
    check(&["exec", "--rt", "5", "--fifo", "true"], "keel exec has no option '--fifo'");
}

#[test]
fn lists_are_there() {
    for what in [
        &["list"][..],
        &["list", "schedulers"],
        &["list", "checks", "--json"],
        &["list", "machines"],
        &["list", "experiments"],
        &["list", "suites"],
        &["lab", "--list", "--json"],
    ] {
        assert_eq!(code(what), Code::Done);
    }
}
