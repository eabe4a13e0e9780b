//! A guest of eight emulated CPUs, from its boot to its end.
//!
//! Its time is counted in instructions and leaps over idleness, so that a busy host makes a run
//! longer but not different: no watchdog in the guest takes the host's load for a stall.

use crate::Failure;
use crate::tree::root;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Boots the kernel with this file system and returns what came over the serial line, which is
/// kept in `out/vm-NAME.log` too.
pub(super) fn boot(name: &str, vmlinuz: &Path, root_fs: &[u8], limit: Duration) -> Result<String, Failure> {
    let archive = root().join(".cache/vm/root.cpio");
    std::fs::write(&archive, root_fs).map_err(|e| format!("{}: {e}", archive.display()))?;
    let mut qemu = Command::new("qemu-system-x86_64");
    qemu.args(["-icount", "shift=3,sleep=off", "-smp", "8", "-m", "1G"]);
    qemu.args(["-nodefaults", "-nographic", "-no-reboot", "-serial", "stdio"]);
    qemu.arg("-kernel").arg(vmlinuz).arg("-initrd").arg(&archive);
    // Only what is fatal may come between the script's own lines.
    qemu.args(["-append", "console=ttyS0 loglevel=1 panic=-1"]);
    qemu.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = qemu
        .spawn()
        .map_err(|e| format!("qemu-system-x86_64 cannot be run ({e}); install qemu-system-x86"))?;
    let log = follow(child, limit)?;
    let kept = root().join(format!("out/vm-{name}.log"));
    std::fs::create_dir_all(root().join("out")).ok();
    std::fs::write(&kept, &log).map_err(|e| format!("{}: {e}", kept.display()))?;
    if log.contains("@@ done") {
        return Ok(log);
    }
    let last = log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
    let last: String = last.chars().filter(|c| !c.is_control()).collect();
    Err(format!(
        "the guest did not finish within {} s; it last said: {last} (all of it is in out/vm-{name}.log)",
        limit.as_secs()
    ))
}

/// Everything the guest says until it ends, or is ended at the limit.
fn follow(mut child: Child, limit: Duration) -> Result<String, Failure> {
    let mut stdout = child.stdout.take().expect("piped");
    let mut stderr = child.stderr.take().expect("piped");
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stdout.read_to_end(&mut bytes).map(|_| bytes)
    });
    let complaints = std::thread::spawn(move || {
        let mut text = String::new();
        stderr.read_to_string(&mut text).map(|_| text)
    });
    let begun = Instant::now();
    let ended = loop {
        match child.try_wait().map_err(|e| format!("qemu is lost: {e}"))? {
            Some(status) => break status.success(),
            None if begun.elapsed() < limit => std::thread::sleep(Duration::from_millis(50)),
            None => {
                child.kill().ok();
                child.wait().ok();
                break true;
            }
        }
    };
    let bytes =
        reader.join().expect("no panic in a read").map_err(|e| format!("qemu's output is lost: {e}"))?;
    let complaints = complaints.join().expect("no panic in a read").unwrap_or_default();
    match ended {
        true => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        false => Err(format!("qemu failed: {}", complaints.trim())),
    }
}
