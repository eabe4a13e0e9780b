//! One command in one guest, which is booted for it and ended after it.

use crate::console::Tail;
use crate::error::{GuestError, at};
use crate::folder;
use crate::initramfs::{self, Job};
use crate::machine::{Accel, Machine};
use crate::process::{Next, Running, Stream};
use crate::qemu::{Boot, Qemu, escaped};
use crate::store::Kernel;
use std::io::{self, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Everything about a guest.
#[derive(Debug)]
pub struct Guest<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Its machine.
    pub machine: &'a Machine,
    /// What it runs.
    pub job: &'a Job,
    /// Additional kernel arguments.
    pub append: &'a str,
    /// Its time limits.
    pub limits: Limits,
}

/// The time limits of a guest, in wall time.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Until the command begins.
    pub boot: Duration,
    /// Without a sign of life.
    pub silence: Duration,
    /// In total.
    pub total: Option<Duration>,
}

/// Where the command's output goes.
pub struct Outputs<'a> {
    /// Its stdout.
    pub out: &'a mut dyn Write,
    /// Its stderr.
    pub err: &'a mut dyn Write,
    /// The kernel's console, if requested.
    pub console: Option<&'a mut dyn Write>,
}

/// How a guest ended without trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The command ended with this code: 128 plus the signal's number if a signal ended it.
    Code(u8),
    /// The caller stopped it.
    Stopped,
    /// Nobody reads the command's output any more.
    Unread,
}

/// Why a guest did not end well.
#[derive(Debug)]
pub struct Trouble {
    /// Whether its command had begun. If not, the same may succeed elsewhere.
    pub begun: bool,
    /// What happened.
    pub error: GuestError,
}

/// Makes Linux leave the clock chip alone, which ends the turns of CPUs whose time is counted in instructions
/// (`init.sh`).
const NO_CLOCK_CHIP: &str = "initcall_blacklist=cmos_init ";

/// How often the caller is asked whether to stop.
const GLANCE: Duration = Duration::from_millis(100);

impl Guest<'_> {
    /// Boots, runs the command, ends the guest. Calls `stop` regularly.
    ///
    /// # Errors
    /// [`Trouble`]: the guest did not boot, died, hung or took too long.
    pub fn run(
        &self,
        qemu: &Qemu,
        accel: Accel,
        outputs: &mut Outputs<'_>,
        stop: &dyn Fn() -> bool,
    ) -> Result<End, Trouble> {
        let mut watch = Watch::default();
        let end = self.attempt(qemu, accel, outputs, stop, &mut watch);
        end.map_err(|error| Trouble { begun: watch.begun, error })
    }

    fn attempt(
        &self,
        qemu: &Qemu,
        accel: Accel,
        outputs: &mut Outputs<'_>,
        stop: &dyn Fn() -> bool,
        watch: &mut Watch,
    ) -> Result<End, GuestError> {
        let folder = folder::make()?;
        let initramfs = folder.path().join("initramfs");
        // Several signs of life fit into the longest allowed silence, even if the guest's time is slow.
        let counted = self.machine.icount_shift.is_some();
        let slowness = if counted { 30 } else { 6 };
        let beat_s = (self.limits.silence.as_secs() / slowness).clamp(1, 10);
        let archive = initramfs::build(self.kernel, self.job, beat_s, counted)?;
        std::fs::write(&initramfs, archive).map_err(at(&initramfs))?;
        let vmlinuz = self.kernel.vmlinuz();
        let boot = Boot { vmlinuz: &vmlinuz, initramfs: &initramfs, append: &self.append(outputs) };
        let mut command = qemu.command(self.machine, accel, boot);
        self.share(&mut command)?;
        let ports = ports(&mut command, folder.path())?;
        let mut running = Running::start(command, ports)?;
        watch.follow(&mut running, self.limits, outputs, stop)
    }

    fn append(&self, outputs: &Outputs<'_>) -> String {
        let level = if outputs.console.is_some() { 7 } else { 4 };
        // QEMU's CPUs have one clock on all sockets, which Linux would not assume by itself.
        let clock_chip = if self.machine.icount_shift.is_some() { NO_CLOCK_CHIP } else { "" };
        format!("console=ttyS0 loglevel={level} panic=-1 oops=panic tsc=reliable {clock_chip}{}", self.append)
    }

    /// The host's files to read, the folder to write.
    fn share(&self, command: &mut Command) -> Result<(), GuestError> {
        let folder = escaped(&self.job.folder)?;
        for (tag, path, rights) in [("root", "/", ",readonly=on"), ("folder", folder.as_str(), "")] {
            command.arg("-fsdev");
            command.arg(format!("local,id={tag},path={path},security_model=none,multidevs=remap{rights}"));
            command.args(["-device", &format!("virtio-9p-pci,fsdev={tag},mount_tag={tag}")]);
        }
        Ok(())
    }
}

/// Returns a socket for each of the guest's ports.
fn ports(command: &mut Command, folder: &Path) -> Result<Vec<(Stream, UnixListener)>, GuestError> {
    command.args(["-device", "virtio-serial-pci"]);
    let mut ports = Vec::new();
    for (name, stream) in [("out", Stream::Out), ("err", Stream::Err), ("facts", Stream::Facts)] {
        let path = folder.join(name);
        ports.push((stream, UnixListener::bind(&path).map_err(at(&path))?));
        command.args(["-chardev", &format!("socket,id={name},path={}", escaped(&path)?)]);
        command.args(["-device", &format!("virtserialport,chardev={name},name=keel.{name}")]);
    }
    Ok(ports)
}

/// The state of a running guest.
#[derive(Default)]
struct Watch {
    begun: bool,
    code: Option<u8>,
    facts: Vec<u8>,
    console: Tail,
}

impl Watch {
    fn follow(
        &mut self,
        running: &mut Running,
        limits: Limits,
        outputs: &mut Outputs<'_>,
        stop: &dyn Fn() -> bool,
    ) -> Result<End, GuestError> {
        let start = Instant::now();
        let mut last_output = start;
        loop {
            if stop() {
                return Ok(End::Stopped);
            }
            match running.next(GLANCE) {
                Next::Said(stream, bytes) => {
                    last_output = Instant::now();
                    if !self.receive(stream, &bytes, outputs)? {
                        return Ok(End::Unread);
                    }
                    if self.code.is_some() {
                        // All output is complete, and the folder's files are written.
                        running.kill();
                    }
                }
                Next::Silence => {}
                Next::Ended => return self.ended(),
            }
            if self.code.is_none() {
                self.in_time(limits, start, last_output)?;
            }
        }
    }

    /// Passes bytes on. Returns whether they were read.
    fn receive(
        &mut self,
        stream: Stream,
        bytes: &[u8],
        outputs: &mut Outputs<'_>,
    ) -> Result<bool, GuestError> {
        match stream {
            Stream::Out => pass(outputs.out, bytes, "stdout"),
            Stream::Err => pass(outputs.err, bytes, "stderr"),
            Stream::Facts => {
                self.facts.extend_from_slice(bytes);
                self.read_facts();
                Ok(true)
            }
            Stream::Console | Stream::Emulator => {
                self.console.add(bytes);
                match &mut outputs.console {
                    Some(to) => pass(*to, bytes, "stderr"),
                    None => Ok(true),
                }
            }
        }
    }

    fn read_facts(&mut self) {
        while let Some(end) = self.facts.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.facts.drain(..=end).collect();
            match String::from_utf8_lossy(&line).trim() {
                "begun" => self.begun = true,
                other => {
                    let code = other.strip_prefix("code ").and_then(|code| code.parse().ok());
                    self.code = self.code.or(code);
                }
            }
        }
    }

    fn ended(&self) -> Result<End, GuestError> {
        let when = if self.begun { "died" } else { "does not boot" };
        self.code.map(End::Code).ok_or_else(|| {
            GuestError::Guest(format!("the guest {when}; its last output: {}", self.console.verdict()))
        })
    }

    fn in_time(&self, limits: Limits, start: Instant, last_output: Instant) -> Result<(), GuestError> {
        let last = || self.console.verdict();
        let (total, silence) = (start.elapsed(), last_output.elapsed());
        let fault = match () {
            () if limits.total.is_some_and(|limit| total > limit) => {
                format!("the guest took longer than {} s and was stopped", total.as_secs())
            }
            () if silence > limits.silence => format!(
                "the guest hangs: no output for {} s; its console's last output: {}",
                silence.as_secs(),
                last()
            ),
            () if !self.begun && total > limits.boot => {
                format!("the guest did not boot within {} s; its last output: {}", total.as_secs(), last())
            }
            () if !self.begun && self.console.verdict().contains("internal error") => {
                format!("the guest does not boot: {}", last())
            }
            () => return Ok(()),
        };
        Err(GuestError::Guest(fault))
    }
}

/// Passes bytes on. A reader that went away is not an error; a full disk is.
fn pass(to: &mut dyn Write, bytes: &[u8], name: &str) -> Result<bool, GuestError> {
    match to.write_all(bytes).and_then(|()| to.flush()) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(source) => Err(GuestError::File { path: name.into(), source }),
    }
}
