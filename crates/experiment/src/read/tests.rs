use super::*;
use crate::model::{Band, Off, Published, Side};
use keel_check::Measure;

const GOOD: &str = r#"id = "yield"
title = "yields"
source = "somewhere"
modelled = "all of it"
machine = "2"
workload = "hogs"
duration_ms = 500
warm_up_ms = 100

[[arm]]
label = "old"
scheduler = "fifo"

[[arm]]
label = "new"
scheduler = "fifo"
settings = { slice_ns = 5000, fifo = true }
machine = "8"

[[claim]]
says = "it is faster"
measure = "switches_per_s"
of = "new"
to = "old"
published = { of = [40, 44.5], to = [10] }
band = "effect"
off = { arm = "old", instead_of = "new", gone = "all of it" }
"#;

#[test]
fn a_complete_file_is_read() {
    let read = read("yield.toml", GOOD).unwrap();
    assert_eq!((read.id.as_str(), read.seed, read.runs), ("yield", 1, None));
    assert_eq!((read.until, read.warm_up), (Until::After(Span::from_ms(500)), Span::from_ms(100)));
    let [old, new] = &read.arms[..] else { panic!("two arms") };
    assert_eq!((old.machine.as_str(), new.machine.as_str(), new.workload.as_str()), ("2", "8", "hogs"));
    let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(new.settings, [setting("fifo", "true"), setting("slice_ns", "5000")]);
    let claim = &read.claims[0];
    assert_eq!((claim.measure, claim.of, claim.to), (Measure::SwitchesPerSecond, 1, Some(0)));
    assert_eq!(claim.published, Published::Samples { of: vec![40.0, 44.5], to: vec![10.0] });
    assert_eq!(
        (claim.band, &claim.off),
        (Band::Effect, &Some(Off { arm: 0, side: Side::Of, gone: "all of it".into() }))
    );
}

/// Replaces one line of the valid file, and expects this message.
fn check(line: &str, instead: &str, expected: &str) {
    assert!(GOOD.contains(line), "{line}");
    let text = GOOD.replacen(line, instead, 1);
    let said = match read("x.toml", &text) {
        Ok(experiment) => format!("{:?}", experiment.claims[0].band),
        Err(error) => error.to_string(),
    };
    assert!(said.starts_with(expected) && !said.contains('\n'), "{instead}: {said}");
}

#[test]
fn faults_are_reported_with_file_line_and_field() {
    check("id = \"yield\"", "id = \"a b\"", "x.toml:1: id: 'a b' is not a name; use lower-case letters");
    let program =
        |instead: &str, expected: &str| check("label = \"old\"\nscheduler = \"fifo\"", instead, expected);
    program("label = \"old\"\nscheduler = \"scx_lavd --performance\"\nversion = \"1.1.2\"", "Effect");
    program(
        "label = \"old\"\nscheduler = \"scx_lavd\"\nversion = \"../1\"",
        "x.toml:13: arm[0].version: '../1' is not a version",
    );
    program(
        "label = \"old\"\nscheduler = \"../lavd\"\nversion = \"1.1.2\"",
        "x.toml:12: arm[0].scheduler: a version is of a crate's program",
    );
    check("title = \"yields\"", "title = ' '", "x.toml:2: title: it is empty; say what the experiment is");
    check("modelled = \"all of it\"", "", "x.toml:1: missing field `modelled`");
    check("machine = \"2\"", "", "x.toml:10: arm[0].machine: no machine is given, here or for all arms");
    check("duration_ms = 500", "", "x.toml:1: duration_ms: give either duration_ms, or ends_within_ms");
    check(
        "duration_ms = 500",
        "duration_ms = 0",
        "x.toml:7: duration_ms: 0 is out of range; give 1 to 3600000",
    );
    check("duration_ms = 500", "duration_ms = -1", "x.toml:7: invalid value: integer `-1`");
    check(
        "duration_ms = 500",
        "duration_ms = 500\nruns = 1",
        "x.toml:8: runs: 1 is out of range; give 2 to 1000",
    );
    check("warm_up_ms = 100", "warm_up_ms = 500", "x.toml:8: warm_up_ms: 500 is out of range; give 0 to 499");
    check("warm_up_ms = 100", "speed = 3", "x.toml:8: unknown field `speed`");
    check(
        "label = \"new\"",
        "label = \"old\"",
        "x.toml:15: arm[1].label: an earlier arm is called 'old' too",
    );
    check("slice_ns = 5000", "slice_ns = [1]", "x.toml:17: arm[1].settings: 'slice_ns' must be a number");
    check("scheduler = \"fifo\"", "scheduler = \"\"", "x.toml:12: arm[0].scheduler: it is empty; say who");
    check(
        "measure = \"switches_per_s\"",
        "measure = \"x\"",
        "x.toml:22: claim[0].measure: there is no measure 'x'; the measures are units_per_s, ",
    );
    check("of = \"new\"", "of = \"x\"", "x.toml:23: claim[0].of: there is no arm 'x'; the arms are old, new");
    check("to = \"old\"", "to = \"new\"", "x.toml:24: claim[0].to: arm 'new' is compared with itself");
    check("arm = \"old\"", "arm = \"x\"", "x.toml:27: claim[0].off.arm: there is no arm 'x'");
    check("gone = \"all of it\"", "gone = \"\"", "x.toml:27: claim[0].off.gone: it is empty; say what must");
    check("instead_of = \"new\"", "instead_of = \"old\"", "Effect");
    check(
        "to = \"old\"",
        "to = \"old\"\nless = \"x\"",
        "x.toml:25: claim[0].less: there is no arm 'x'; the arms are old, new",
    );
    let labelled = "[[arm]]\nlabel = \"more\"\nscheduler = \"fifo\"\n\n[[claim]]";
    let third = labelled.replace("more", "off");
    let with_third = GOOD
        .replacen("[[claim]]", &third, 1)
        .replace("arm = \"old\", instead_of = \"new\"", "arm = \"old\", instead_of = \"off\"");
    let said = read("x.toml", &with_third).unwrap_err().to_string();
    assert!(
        said.starts_with("x.toml:31: claim[0].off.instead_of: the claim does not compare 'off'"),
        "{said}"
    );
    check(
        "[[claim]]",
        labelled,
        "x.toml:21: arm[2].label: no claim uses arm 'more'; remove it, or add a claim",
    );
    check("[[claim]]", "[[claims]]", "x.toml:20: unknown field `claims`");
    check(
        GOOD.get(GOOD.find("[[claim]]").unwrap()..).unwrap(),
        "",
        "x.toml:1: claim: there are 0; give 1 to 64",
    );
}

#[test]
fn published_figures_fit_their_claim() {
    let figures = |instead: &str, expected: &str| {
        let line = "published = { of = [40, 44.5], to = [10] }";
        check(line, &format!("published = {{ {instead} }}"), expected);
    };
    figures("ratio = 3", "Effect");
    let either = "x.toml:25: claim[0].published: give either ratio, or the samples of both arms";
    figures("of = [1]", either);
    figures("ratio = 1, of = [1], to = [2]", either);
    let every = "x.toml:25: claim[0].published: every figure must be above 0, and each arm needs one";
    for bad in ["ratio = 0", "ratio = nan", "of = [], to = [1]", "of = [1], to = []", "of = [-1], to = [1]"] {
        figures(bad, every);
    }
    let alone = "x.toml:24: claim[0].published: a claim without 'to' has samples of one arm";
    check("to = \"old\"\npublished = { of = [40, 44.5], to = [10] }", "published = { ratio = 2 }", alone);
}

#[test]
fn a_trend_is_a_rank_correlation_above_0() {
    let read = |more: &str| read("x.toml", &format!("{more}\n{GOOD}"));
    let good = read("trend = 0.7\nstory = 'who found what '").unwrap();
    assert_eq!((good.trend, good.story.as_str()), (Some(0.7), "who found what"));
    for bad in ["0.0", "-0.5", "1.01", "nan"] {
        let said = read(&format!("trend = {bad}")).unwrap_err().to_string();
        assert_eq!(said, "x.toml:1: trend: give the least rank correlation, above 0 and up to 1");
    }
}

#[test]
fn bands_are_of_six_kinds() {
    let band =
        |instead: &str, expected: &str| check("band = \"effect\"", &format!("band = {instead}"), expected);
    band("\"same\"", "Same");
    band("[1, 1.05]", "Range(1.0, 1.05)");
    band("{ within = 0.25 }", "Within(0.25)");
    band("{ factor = 3 }", "Factor(3.0)");
    for bad in ["\"much\"", "[2, 1]", "[1]", "[0, 1]", "{ within = 0 }", "{ near = 1 }", "1", "[1, inf]"] {
        let kinds =
            "write \"effect\", \"same\", \"order\", [LOW, HIGH], { within = SHARE } or { factor = TIMES }";
        band(bad, &format!("x.toml:26: claim[0].band: {kinds}"));
    }
    let one_arm = "published = { of = [1] }\nband = ";
    let line = "to = \"old\"\npublished = { of = [40, 44.5], to = [10] }\nband = \"effect\"";
    check(
        line,
        &format!("{one_arm}\"effect\""),
        "x.toml:25: claim[0].band: a claim without 'to' has no effect",
    );
    check(
        line,
        &format!("{one_arm}[1, 2]"),
        "x.toml:26: claim[0].off: a claim without 'to' has no mechanism",
    );
}

#[test]
fn tasks_have_counts_orders_and_tables() {
    let measure = "measure = \"switches_per_s\"";
    let whole =
        "x.toml:22: claim[0].measure: switches_per_s is of the whole run; of tasks there are voluntary";
    check(measure, &format!("{measure}\ntasks = [\"a\"]"), whole);
    check(measure, "measure = \"migrated\"\ntasks = [\"a\"]", "Effect");
    check(measure, "measure = \"gone_s\"\ntasks = [\"a\"]", "Effect");
    check("band = \"effect\"", "band = \"order\"", "x.toml:26: claim[0].band: the order needs tasks and");
    let table = |rows: &str, expected: &str| {
        let text = format!("{GOOD}\n[[table]]\nsays = 't'\nof = 'new'\n{rows}\n");
        let got = read("x.toml", &text).map(|e| format!("{:?}", e.tables)).unwrap_or_else(|e| e.to_string());
        assert!(got.contains(expected), "{rows}: {got}");
    };
    table(
        "tasks = ['a', 'b']\n[table.counts]\nmigrated = [1, 2]\nvoluntary = [3, 0]",
        "[(Voluntary, [3.0, 0.0]), (Migrated,",
    );
    table("tasks = []\n[table.counts]", "table[0].tasks: a table has 1 to 64 tasks");
    table("tasks = ['a', 'b']\n[table.counts]\nmigrated = [1]", "table[0].counts: every task needs a count");
    table("tasks = ['a']\n[table.counts]\nmigrated = [-1]", "table[0].counts: every task needs a count");
    table("tasks = ['a']\n[table.counts]\nelapsed_s = [1]", "table[0].counts: elapsed_s is of the whole run");
    table("tasks = ['a']\n[table.counts]\nspeed = [1]", "table[0].counts: there is no measure 'speed'");
}

#[test]
fn whatever_a_file_holds_reading_it_ends() {
    use proptest::prelude::*;
    let lines: Vec<&str> = GOOD.lines().collect();
    proptest!(|(picks in prop::collection::vec(0..lines.len(), 0..60), noise in ".{0,40}")| {
        let text: Vec<&str> = picks.iter().map(|&at| lines[at]).chain([noise.as_str()]).collect();
        let _ = read("x.toml", &text.join("\n"));
    });
}
