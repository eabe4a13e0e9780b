//! A program on a machine: two runs and their results.

use super::Program;
use crate::Failure;
use crate::tree::root;
use serde_json::Value;
use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The columns' names.
pub(super) const HEAD: &str =
    "program\tversion\tmachine\tend\tsame twice\tthroughput\tmigrations\twasted share\twall s\n";
/// How long a run is, in virtual time.
const DURATION: &str = "10s";

/// A row of the table.
pub(super) struct Row {
    program: Program,
    machine: String,
    /// How it ended, or `none` if the scheduler stayed to the end.
    end: String,
    is_same: bool,
    throughput: f64,
    migrations: u64,
    wasted_share: f64,
    wall_s: f64,
}

/// One run: keel's output, the events, and the program's output.
struct Run {
    report: Value,
    code: Option<i32>,
    last_line: String,
    trace: Vec<u8>,
    log: Vec<u8>,
}

impl Row {
    /// Runs the program twice.
    pub(super) fn of(keel: &Path, program: &Program, path: &Path, machine: &str) -> Result<Self, Failure> {
        let first = once(keel, program, path, machine)?;
        let second = once(keel, program, path, machine)?;
        let number = |name: &str| first.report[name].as_f64().unwrap_or(0.0);
        let end = match (first.code, first.report["exit"]["kind"].as_str()) {
            (Some(0), Some(kind)) => kind.to_owned(),
            (code, _) => {
                format!("{} ({})", first.last_line, code.map_or("killed".into(), |code| code.to_string()))
            }
        };
        Ok(Self {
            program: program.clone(),
            machine: Path::new(machine).file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            end,
            is_same: first.trace == second.trace && first.log == second.log && !first.trace.is_empty(),
            throughput: number("throughput"),
            migrations: number("migrations") as u64,
            wasted_share: number("wasted_share"),
            wall_s: number("wall_ns") / 1e9,
        })
    }

    /// Whether the scheduler stayed to the end and gave the same result twice.
    pub(super) fn is_good(&self) -> bool {
        self.end == "none" && self.is_same
    }
}

fn once(keel: &Path, program: &Program, path: &Path, machine: &str) -> Result<Run, Failure> {
    let folder = tempfile::tempdir().map_err(|e| format!("no scratch folder: {e}"))?;
    let (trace, log) = (folder.path().join("trace"), folder.path().join("log"));
    let mut command = Command::new(keel);
    command.args(["sim", "--json", "--machine", machine, "--duration", DURATION, "--trace"]).arg(&trace);
    command.arg("--program-log").arg(&log).arg("--").arg(path).args(&program.arguments);
    let output = command.current_dir(root()).stdin(Stdio::null()).output();
    let output = output.map_err(|e| format!("cannot run keel: {e}"))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    Ok(Run {
        // `None` if the program attached nothing.
        report: serde_json::from_slice(&output.stdout).unwrap_or_default(),
        code: output.status.code(),
        last_line: stderr.lines().next().unwrap_or_default().chars().take(200).collect(),
        trace: std::fs::read(&trace).unwrap_or_default(),
        log: std::fs::read(&log).unwrap_or_default(),
    })
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Program { name, version, .. } = &self.program;
        let same = if self.is_same { "yes" } else { "no" };
        writeln!(
            f,
            "{name}\t{version}\t{}\t{}\t{same}\t{:.0}\t{}\t{:.5}\t{:.1}",
            self.machine, self.end, self.throughput, self.migrations, self.wasted_share, self.wall_s
        )
    }
}
