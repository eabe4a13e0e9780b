//! Recordings of many events: how long does each replay take, and how much memory does it use?

use crate::bench::{Took, large_recordings, out, took};
use crate::keel::printed;
use crate::{Failure, cargo};
use std::path::Path;
use std::process::{Command, Stdio};

/// The limits for a replay of ten million events.
const MOST_S: f64 = 60.0;
const MOST_MIB: f64 = 256.0;
/// Files that the readers' tests write, and their descriptions.
const WRITTEN: [(&str, &str); 2] = [("large.trc", "keel record"), ("large.perf", "perf.data")];
/// A simulated run with an event about every 240 ns: tasks that sleep, and tasks that wake each other.
const SIMULATED: [&str; 6] = ["sim", "fifo", "--workload", "mix+chat:4:8:1000000", "--machine", "8"];
const NS_AN_EVENT: u64 = 240;

/// Writes recordings of `events` events, replays each, and prints the cost.
pub(super) fn run(events: u64) -> Result<(), Failure> {
    let keel = cargo::program("keel")?;
    let folder = tempfile::tempdir_in(out()?).map_err(|e| format!("out/: {e}"))?;
    let written = large_recordings(folder.path(), "written", events)?;
    let simulated = folder.path().join("simulated.keel");
    let duration = format!("{}us", (events * NS_AN_EVENT).div_ceil(1000));
    let mut command = Command::new(&keel);
    command.args(SIMULATED).args(["--duration", &duration, "--trace"]).arg(&simulated);
    quiet(&mut command, &folder.path().join("sim.txt"))?;
    took(&mut command)?;
    println!("{:<12} {:>11} {:>8} {:>8} {:>8}", "recording", "events", "wall s", "user s", "MiB");
    let mut files: Vec<_> = WRITTEN.iter().map(|(file, what)| (written.join(file), *what)).collect();
    files.push((simulated, "keel sim"));
    let mut over = 0;
    for (file, what) in files {
        let events = counted(&keel, &file)?;
        let mut command = Command::new(&keel);
        command.arg("replay").arg(&file).args(["eevdf"]);
        quiet(&mut command, &file.with_extension("txt"))?;
        let Took { wall_s, user_s, peak_kib } = took(&mut command)?;
        let mib = peak_kib as f64 / 1024.0;
        println!("{what:<12} {events:>11} {wall_s:>8.1} {user_s:>8.1} {mib:>8.0}");
        over += u32::from(wall_s > MOST_S || mib > MOST_MIB);
    }
    match over {
        0 => Ok(()),
        over => Err(format!("{over} replays took more than {MOST_S} s or {MOST_MIB} MiB")),
    }
}

/// Its output goes to a file, because a pipe would not be read until it exits.
fn quiet(command: &mut Command, file: &Path) -> Result<(), Failure> {
    let file = std::fs::File::create(file).map_err(|e| format!("{}: {e}", file.display()))?;
    command.stdin(Stdio::null()).stdout(file);
    Ok(())
}

/// The number of events in a recording.
fn counted(keel: &Path, file: &Path) -> Result<u64, Failure> {
    let args = ["check", &*file.to_string_lossy()];
    let reported = printed(Command::new(keel).args(args).stdin(Stdio::null()), &args)?;
    reported["events"].as_u64().ok_or_else(|| "keel check printed no number of events".to_owned())
}
