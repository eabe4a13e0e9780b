//! The installed QEMU: its version, and what it supports.

use crate::error::{GuestError, why};
use crate::machine::{Accel, Machine};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The host's QEMU.
#[derive(Clone, Debug)]
pub struct Qemu {
    program: PathBuf,
    major: u32,
}

/// What to boot: a kernel, its first files, its command line.
#[derive(Clone, Copy, Debug)]
pub struct Boot<'a> {
    /// The compressed image.
    pub vmlinuz: &'a Path,
    /// A cpio archive.
    pub initramfs: &'a Path,
    /// The kernel's arguments.
    pub append: &'a str,
}

const PROGRAM: &str = "qemu-system-x86_64";

/// The first QEMU with reliable threads: 7.2's run into modified code, and the guest dies.
const SOUND_THREADS: u32 = 10;

impl Qemu {
    /// Finds it.
    ///
    /// # Errors
    /// [`GuestError::Missing`].
    pub fn find() -> Result<Self, GuestError> {
        let missing = |why: &str| {
            GuestError::Missing(format!("{PROGRAM} cannot be run ({why}); install qemu-system-x86"))
        };
        let output = Command::new(PROGRAM).arg("--version").stdin(Stdio::null()).output();
        let output = output.map_err(|e| missing(&why(&e)))?;
        let major = major(&String::from_utf8_lossy(&output.stdout));
        let major = major.ok_or_else(|| missing("it does not print its version"))?;
        Ok(Self { program: PROGRAM.into(), major })
    }

    /// Returns the best reliable way of emulation.
    pub fn emulation(&self) -> Accel {
        if self.major >= SOUND_THREADS { Accel::Threads } else { Accel::OneThread }
    }

    /// Returns the command that boots a guest with its console on stdout, and ends with the guest.
    pub fn command(&self, machine: &Machine, accel: Accel, boot: Boot<'_>) -> Command {
        let mut command = self.mortal();
        command.args(machine.args(accel));
        command.args(["-nodefaults", "-display", "none", "-no-reboot", "-serial", "stdio"]);
        command.arg("-kernel").arg(boot.vmlinuz).arg("-initrd").arg(boot.initramfs);
        command.args(["-append", &format!("{}{}", machine.boot_words(), boot.append)]);
        command
    }

    /// Returns a QEMU that does not outlive this process, if the host supports that.
    fn mortal(&self) -> Command {
        let setpriv = Path::new("/usr/bin/setpriv");
        if !setpriv.exists() {
            return Command::new(&self.program);
        }
        let mut command = Command::new(setpriv);
        command.args(["--pdeathsig", "KILL", "--"]).arg(&self.program);
        command
    }
}

/// Returns a value inside a QEMU argument that is split at commas.
pub(crate) fn escaped(path: &Path) -> Result<String, GuestError> {
    let text = path.to_str().ok_or_else(|| {
        GuestError::Input(format!("{}: QEMU takes only folders whose names are UTF-8", path.display()))
    })?;
    Ok(text.replace(',', ",,"))
}

/// Returns the first number in `QEMU emulator version 7.2.22 (Debian ...)`.
fn major(version: &str) -> Option<u32> {
    version.split("version ").nth(1)?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Links;

    #[test]
    fn threads_are_used_where_they_are_sound() {
        let check = |version: &str, expected: Option<Accel>| {
            let accel = major(version).map(|major| Qemu { program: PROGRAM.into(), major }.emulation());
            assert_eq!(accel, expected, "{version}");
        };
        check("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)\nCopyright", Some(Accel::OneThread));
        check("QEMU emulator version 10.0.2", Some(Accel::Threads));
        check("nothing", None);
    }

    #[test]
    fn guests_are_booted_in_these_words() {
        let machine = Machine {
            cpus: 2,
            threads: 1,
            nodes: 1,
            links: Links::default(),
            memory_mib: 512,
            icount_shift: Some(3),
        };
        let qemu = Qemu { program: PROGRAM.into(), major: 7 };
        let boot = Boot { vmlinuz: Path::new("k"), initramfs: Path::new("i"), append: "a b" };
        let command = qemu.command(&machine, Accel::OneThread, boot);
        let words: Vec<&str> = command.get_args().filter_map(|word| word.to_str()).collect();
        let from_icount = words.iter().position(|word| *word == "-icount").unwrap();
        assert_eq!(
            words[from_icount..].join(" "),
            "-icount shift=3,sleep=off -rtc clock=vm -cpu qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt \
             -smp 1,maxcpus=4,sockets=2,cores=2,threads=1 -device qemu64-x86_64-cpu,socket-id=1,core-id=0,thread-id=0 \
             -device qemu64-x86_64-cpu,socket-id=0,core-id=1,thread-id=0 \
             -device qemu64-x86_64-cpu,socket-id=1,core-id=1,thread-id=0 -m 512M -nodefaults -display none -no-reboot -serial stdio -kernel k -initrd i -append nr_cpus=2 a b"
        );
    }

    #[test]
    fn commas_in_folders_are_doubled() {
        assert_eq!(escaped(Path::new("/a,b")).unwrap(), "/a,,b");
    }
}
