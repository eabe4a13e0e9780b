//! Runs a guest with eight emulated CPUs, from its boot to its end.
//!
//! Its time is counted in instructions and skips idle time. A busy host makes a run slower but not different: no
//! watchdog in the guest mistakes the host's load for a stall.

use super::Stop;
use crate::tree::root;
use keel_guest::{Accel, Boot, Kernel, Links, Machine, Next, Qemu, Running, Stream};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

const MACHINE: Machine =
    Machine { cpus: 8, threads: 1, nodes: 1, links: Links::ALL, memory_mib: 1024, icount_shift: Some(3) };

/// Boots the kernel with this file system. Returns the output of the serial line, up to the guest's end, or until it
/// was silent for `limit` and was killed. Also appends the output to `out/vm-NAME.log`.
pub(super) fn boot(
    qemu: &Qemu,
    name: &str,
    kernel: &Kernel,
    root_fs: &[u8],
    limit: Duration,
) -> Result<String, Stop> {
    let archive = root().join(".cache/vm/root.cpio");
    std::fs::write(&archive, root_fs).map_err(|e| format!("{}: {e}", archive.display()))?;
    let vmlinuz = kernel.vmlinuz();
    // Only fatal messages may come between the script's own lines.
    let append = "console=ttyS0 loglevel=1 panic=-1";
    let boot = Boot { vmlinuz: &vmlinuz, initramfs: &archive, append };
    let running = Running::start(qemu.command(&MACHINE, Accel::OneThread, boot), Vec::new())?;
    let log = follow(running, limit)?;
    keep(name, &log)?;
    Ok(log)
}

/// The guest's last message.
pub(super) fn last_words(log: &str) -> String {
    let last = log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
    last.chars().filter(|c| !c.is_control()).collect()
}

/// The file for the output of all guests with a kernel.
pub(super) fn kept(name: &str) -> PathBuf {
    root().join(format!("out/vm-{name}.log"))
}

fn keep(name: &str, log: &str) -> Result<(), Stop> {
    let path = kept(name);
    std::fs::create_dir_all(root().join("out")).ok();
    let file = std::fs::File::options().create(true).append(true).open(&path);
    file.and_then(|mut file| file.write_all(log.as_bytes()))
        .map_err(|e| Stop::Failed(format!("{}: {e}", path.display())))
}

/// All output of the guest.
fn follow(mut running: Running, limit: Duration) -> Result<String, Stop> {
    let (mut log, mut complaints) = (Vec::new(), Vec::new());
    let silent = loop {
        match running.next(limit) {
            Next::Said(Stream::Emulator, bytes) => complaints.extend(bytes),
            Next::Said(_, bytes) => log.extend(bytes),
            Next::Silence => break true,
            Next::Ended => break false,
        }
    };
    if silent {
        running.kill();
    }
    let status = running.wait()?;
    match silent || status.success() {
        true => Ok(String::from_utf8_lossy(&log).into_owned()),
        false => Err(Stop::Failed(format!("qemu failed: {}", String::from_utf8_lossy(&complaints).trim()))),
    }
}
