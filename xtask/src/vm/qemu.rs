//! A guest of eight emulated CPUs, from its boot to its end.
//!
//! Its time is counted in instructions and leaps over idleness, so that a busy host makes a run
//! longer but not different: no watchdog in the guest takes the host's load for a stall.

use crate::Failure;
use crate::tree::root;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

/// Boots the kernel with this file system and returns what came over the serial line until the
/// guest ended, or was silent for `limit` and was ended. It is added to `out/vm-NAME.log` too.
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
    keep(name, &log)?;
    Ok(log)
}

/// The last thing that a guest said.
pub(super) fn last_words(log: &str) -> String {
    let last = log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
    last.chars().filter(|c| !c.is_control()).collect()
}

/// Where all that a kernel's guests say is kept.
pub(super) fn kept(name: &str) -> PathBuf {
    root().join(format!("out/vm-{name}.log"))
}

fn keep(name: &str, log: &str) -> Result<(), Failure> {
    let path = kept(name);
    std::fs::create_dir_all(root().join("out")).ok();
    let file = std::fs::File::options().create(true).append(true).open(&path);
    file.and_then(|mut file| file.write_all(log.as_bytes())).map_err(|e| format!("{}: {e}", path.display()))
}

/// Everything the guest says.
fn follow(mut child: Child, limit: Duration) -> Result<String, Failure> {
    let stdout = child.stdout.take().expect("piped");
    let mut stderr = child.stderr.take().expect("piped");
    let (sender, said) = mpsc::channel();
    std::thread::spawn(move || pass_on(stdout, &sender));
    let complaints = std::thread::spawn(move || {
        let mut text = String::new();
        stderr.read_to_string(&mut text).map(|_| text)
    });
    let mut log = Vec::new();
    let silent = loop {
        match said.recv_timeout(limit) {
            Ok(bytes) => log.extend(bytes),
            Err(end) => break end == RecvTimeoutError::Timeout,
        }
    };
    if silent {
        child.kill().ok();
    }
    let status = child.wait().map_err(|e| format!("qemu is lost: {e}"))?;
    let complaints = complaints.join().expect("no panic in a read").unwrap_or_default();
    match silent || status.success() {
        true => Ok(String::from_utf8_lossy(&log).into_owned()),
        false => Err(format!("qemu failed: {}", complaints.trim())),
    }
}

fn pass_on(mut stdout: ChildStdout, to: &Sender<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(len @ 1..) = stdout.read(&mut buffer) {
        if to.send(buffer[..len].to_vec()).is_err() {
            return;
        }
    }
}
