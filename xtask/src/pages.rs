//! `./x pages` makes a page for each of the Wasted Cores paper's four bugs: with the bug and with the fix side by side,
//! the same work under `eevdf`, and the same for a real kernel's recordings, in out/pages. It also makes their small
//! pictures and the table of figures in docs/explanation/wasted-cores.md.
//!
//! keel's own commands make everything. Chromium draws the pictures, so some pixels depend on its fonts.

use crate::tree::root;
use crate::{Failure, cargo, demo, document, keel, viewer};
use serde_json::{Value, json};
use std::process::Stdio;

/// All bugs of `cfs`, as the paper's kernel had them.
const BUGS: [&str; 4] = ["group-imbalance", "group-construction", "overload-on-wakeup", "missing-domains"];

/// A bug's experiment in `keel lab`, and the milliseconds that show it best. By default, the whole second.
struct Scene {
    bug: &'static str,
    workload: &'static str,
    ms: Option<[u32; 2]>,
}

const SCENES: [Scene; 4] = [
    Scene { bug: BUGS[0], workload: "make:64:640+r+r", ms: None },
    Scene { bug: BUGS[1], workload: "lu:16:10@nodes=1,2", ms: None },
    Scene { bug: BUGS[2], workload: "tpch:18", ms: Some([505, 530]) },
    Scene { bug: BUGS[3], workload: "lu:64:10@after_ms=160+hotplug:8", ms: None },
];
const MACHINE: &str = "opteron-6272";

/// Recordings of Linux 7.2 under the project's schedulers (`./x live --bugs`), with the bug and without.
const RECORDED: [&str; 3] = ["group-construction", "missing-domains", "left-behind"];
const RECORDINGS: &str = "crates/readers/recordings/waste";

const FOLDER: &str = "out/pages";
const PICTURES: &str = "docs/explanation/pages";
const DOCUMENT: &str = "docs/explanation/wasted-cores.md";

/// Makes everything.
pub(crate) fn run() -> Result<(), Failure> {
    cargo::run(&["build", "-q", "--release", "-p", "keel-cli"])?;
    for folder in [FOLDER, PICTURES] {
        std::fs::create_dir_all(root().join(folder)).map_err(|e| format!("{folder}: {e}"))?;
    }
    let mut pictures = Vec::new();
    for scene in &SCENES {
        pictures.extend([simulated(scene)?, today(scene)?]);
    }
    for name in RECORDED {
        let page = format!("real-{name}.html");
        let [with, fixed] = ["", "-fixed"].map(|end| format!("{RECORDINGS}/{name}{end}.trc"));
        run_keel(&["report", &with, &fixed, "-o", &format!("{FOLDER}/{page}")])?;
        pictures.push(picture(&page, None));
    }
    let list = root().join(FOLDER).join("pictures.json");
    std::fs::write(&list, Value::from(pictures).to_string()).map_err(|e| format!("{FOLDER}: {e}"))?;
    for args in demo::runs(["docs/demo.svg", "docs/demo-fixed.svg"]) {
        run_keel(&args.split(' ').collect::<Vec<_>>())?;
    }
    document::renew(DOCUMENT, "pages", &table()?)?;
    match viewer::missing().or_else(viewer::no_browser) {
        Some(missing) => println!("The pictures of {PICTURES} stay as they are: {missing}."),
        None => viewer::pictures(&root().join(FOLDER))?,
    }
    println!("The pages are in {FOLDER}.");
    Ok(())
}

/// A second with all bugs and one with this one fixed, with the balancers' reports, in one page.
fn simulated(scene: &Scene) -> Result<Value, Failure> {
    let Scene { bug, workload, ms } = scene;
    let [with, fixed] = ["", "-fixed"].map(|end| format!("{FOLDER}/{bug}{end}.trc"));
    for (bugs, trace) in [(BUGS.join("+"), &with), (others(bug), &fixed)] {
        let reported = ["--set", "tell_policy=1", "--duration", "1s", "--trace", trace];
        run_keel(&[&of_cfs(workload, &format!("bug={bugs}"))[..], &reported].concat())?;
    }
    let page = format!("{bug}.html");
    run_keel(&["report", &with, &fixed, "-o", &format!("{FOLDER}/{page}")])?;
    Ok(picture(&page, *ms))
}

/// The fixed run again beside a second of `eevdf`, with its balancer's reports. Only the latter gets a picture.
fn today(scene: &Scene) -> Result<Value, Failure> {
    let Scene { bug, workload, ms } = scene;
    let [fixed, today] = ["fixed", "eevdf"].map(|end| format!("{FOLDER}/{bug}-{end}.trc"));
    let reported = ["--set", "tell_policy=1", "--duration", "1s", "--trace", &today];
    run_keel(&[&of("eevdf", workload), &reported[..]].concat())?;
    let page = format!("{bug}-eevdf.html");
    run_keel(&["report", &fixed, &today, "-o", &format!("{FOLDER}/{page}")])?;
    let to = root().join(PICTURES).join(format!("{bug}-eevdf.png"));
    Ok(json!({ "page": page, "ms": ms, "to": [null, to.display().to_string()] }))
}

/// keel's arguments to run a scheduler.
fn of<'a>(scheduler: &'a str, workload: &'a str) -> [&'a str; 8] {
    ["sim", scheduler, "--machine", MACHINE, "--workload", workload, "--noise", "none"]
}

/// keel's arguments to run `cfs` with this setting for its bugs.
fn of_cfs<'a>(workload: &'a str, bugs: &'a str) -> Vec<&'a str> {
    [&of("cfs", workload)[..], &["--set", bugs]].concat()
}

/// What is drawn from a page, and the output file. viewer/tests/pictures.spec.ts reads it.
fn picture(page: &str, ms: Option<[u32; 2]>) -> Value {
    let name = page.trim_end_matches(".html");
    let to = ["", "-fixed"].map(|end| root().join(PICTURES).join(format!("{name}{end}.png")));
    json!({ "page": page, "ms": ms, "to": to.map(|path| path.display().to_string()) })
}

/// All bugs except one.
fn others(bug: &str) -> String {
    BUGS.into_iter().filter(|other| *other != bug).collect::<Vec<_>>().join("+")
}

/// The waste in five seconds with no bug, this one, all, all others, and under `eevdf`: a row for each experiment.
fn table() -> Result<String, Failure> {
    let mut text =
        "| work | without bugs | with the bug | with all four | with the other three | `eevdf` |\n\
                    | --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
    for Scene { bug, workload, .. } in &SCENES {
        let settings = ["0".to_owned(), (*bug).to_owned(), BUGS.join("+"), others(bug)];
        let of_bugs = |bugs: &String| wasted(&of_cfs(workload, &format!("bug={bugs}")));
        let mut cells = settings.iter().map(of_bugs).collect::<Result<Vec<_>, _>>()?;
        cells.push(wasted(&of("eevdf", workload))?);
        text += &format!("| {bug}: `{workload}` | {} |\n", cells.join(" | "));
    }
    Ok(text)
}

/// The core time that five seconds of such a run waste, and the longest waste.
fn wasted(run: &[&str]) -> Result<String, Failure> {
    let args = [run, &["--duration", "5s"]].concat();
    let reported = keel::json(&args, Stdio::inherit())?;
    cell(&reported).ok_or_else(|| format!("keel {} does not report what was wasted", args.join(" ")))
}

fn cell(reported: &Value) -> Option<String> {
    let wasted = reported["wasted_core_ns"].as_f64()? / 1e9;
    let of = |finding: &Value| (finding["kind"] == "wasted_core").then(|| finding["duration_ns"].as_f64())?;
    let longest = reported["findings"].as_array()?.iter().filter_map(of).fold(0.0, f64::max) / 1e6;
    let share = reported["wasted_share"].as_f64()? * 100.0;
    Some(format!("{wasted:.2} core-s ({share:.1} %), longest {longest:.0} ms"))
}

/// Runs keel in the root folder without output.
fn run_keel(args: &[&str]) -> Result<(), Failure> {
    println!("$ keel {}", args.join(" "));
    let status = keel::command(args)?.stdout(Stdio::null()).status();
    match status.map_err(|e| format!("cannot run keel: {e}"))?.success() {
        true => Ok(()),
        false => Err("keel failed; see its message above".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_wasted_is_a_cell() {
        let finding = |kind: &str, ns: u64| json!({ "kind": kind, "duration_ns": ns });
        let findings = [finding("wasted_core", 60_400_000), finding("starvation", 9_000_000_000)];
        let reported = json!({ "wasted_core_ns": 712_000_000, "wasted_share": 0.0021, "findings": findings });
        assert_eq!(cell(&reported).as_deref(), Some("0.71 core-s (0.2 %), longest 60 ms"));
        assert_eq!(cell(&json!({})), None);
    }
}
