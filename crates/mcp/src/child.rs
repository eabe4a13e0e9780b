//! One call: a `keel` process, within limits.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::process::Command;

/// The limits of a call.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The `keel` that is called.
    pub keel: PathBuf,
    /// The time limit, in wall time.
    pub time: Duration,
    /// The memory limit of each call, in bytes.
    pub memory_bytes: u64,
    /// The maximum length of an answer, in bytes.
    pub answer_bytes: usize,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its output, or why there is none.
    pub text: String,
    /// Whether it failed.
    pub failed: bool,
}

/// How often a call's memory is sampled.
const LOOK: Duration = Duration::from_millis(50);

/// Ends once a process uses more memory than this. A run reserves much more than it uses, so the kernel's limits on
/// reserved memory don't fit.
async fn outgrown(pid: u32, most_bytes: u64) {
    while resident_bytes(pid).is_none_or(|bytes| bytes <= most_bytes) {
        tokio::time::sleep(LOOK).await;
    }
}

/// Returns the memory of a process, or `None` if there is no process with this number.
fn resident_bytes(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Calls keel.
pub(crate) async fn call(limits: &Limits, args: Vec<String>) -> Answer {
    let failed = |text: String| Answer { text, failed: true };
    let mut command = Command::new(&limits.keel);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(e) => return failed(format!("keel cannot be started: {e}")),
    };
    let (Some(stdout), Some(stderr), Some(pid)) = (child.stdout.take(), child.stderr.take(), child.id())
    else {
        return failed("keel's output cannot be read".to_owned());
    };
    // One more byte, to detect longer output.
    let most = limits.answer_bytes as u64 + 1;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut errors = stderr.take(most);
    let work = async {
        let answer = async {
            let mut answer = stdout.take(most);
            answer.read_to_end(&mut out).await?;
            // Nobody reads the rest.
            drop(answer);
            if out.len() > limits.answer_bytes { child.start_kill() } else { Ok(()) }
        };
        let (answered, told) = tokio::join!(answer, errors.read_to_end(&mut err));
        answered.and(told)?;
        drop(errors);
        child.wait().await
    };
    let limited = async {
        tokio::select! {
            done = work => Some(done),
            () = outgrown(pid, limits.memory_bytes) => None,
        }
    };
    let status = match tokio::time::timeout(limits.time, limited).await {
        Ok(None) => {
            let most = limits.memory_bytes >> 20;
            return failed(format!("it took more than {most} MiB of memory; ask for less"));
        }
        Err(_) => return failed(format!("it took more than {} s; ask for less", limits.time.as_secs())),
        Ok(Some(Err(e))) => return failed(format!("keel's output cannot be read: {e}")),
        Ok(Some(Ok(status))) => status,
    };
    if out.len() > limits.answer_bytes {
        return failed(format!("the answer has more than {} bytes; ask for less", limits.answer_bytes));
    }
    match out.is_empty() {
        false => Answer { text: String::from_utf8_lossy(&out).into_owned(), failed: false },
        true => failed(format!("{} ({status})", String::from_utf8_lossy(&err).trim())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// Returns the answer of a program with this script, with limits of this many bytes and milliseconds.
    fn answer(script: &str, answer_bytes: usize, time_ms: u64) -> Answer {
        answer_within(script, answer_bytes, time_ms, u64::MAX)
    }

    fn answer_within(script: &str, answer_bytes: usize, time_ms: u64, memory_bytes: u64) -> Answer {
        let folder = tempfile::tempdir().unwrap();
        let keel = folder.path().join("keel");
        std::fs::write(&keel, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&keel, std::fs::Permissions::from_mode(0o755)).unwrap();
        let limits = Limits { keel, time: Duration::from_millis(time_ms), memory_bytes, answer_bytes };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(call(&limits, vec!["x".to_owned()]))
    }

    #[test]
    fn answers_are_bounded() {
        let check = |script: &str, bytes, text: &str, failed| {
            let got = answer(script, bytes, 20_000);
            assert_eq!((got.text.as_str(), got.failed), (text, failed), "{script}");
        };
        check("echo \"$1\"", 10, "x\n", false);
        // A scheduler that fails gives an answer, too.
        check("echo '{}'; exit 3", 10, "{}\n", false);
        check("echo 12345678901", 10, "the answer has more than 10 bytes; ask for less", true);
        check("echo 'keel: no' >&2; exit 2", 100, "keel: no (exit status: 2)", true);
        check("yes", 10, "the answer has more than 10 bytes; ask for less", true);
    }

    #[test]
    fn a_call_that_outgrows_its_memory_is_ended() {
        let got = answer_within("sleep 1000", 10, 60_000, 4096);
        assert!(got.failed && got.text.contains("MiB of memory"), "{got:?}");
    }

    #[test]
    fn a_call_that_takes_too_long_is_ended() {
        let got = answer("sleep 1000", 10, 50);
        assert!(got.failed && got.text.starts_with("it took more than"), "{got:?}");
    }
}
