//! Writes the simulated kernel's own files: types, symbols, the state of sched_ext, and /proc.

use super::Tree;
use crate::ProgramError;
use crate::process::RELEASE;
use crate::program::{Machine, Program};
use crate::usage::TICK_NS;
use keel_abi::UPTIME;
use keel_object::Btf;
use keel_object::btf::Kind;
use std::fmt::Write;

/// The mounted file systems that concern the machine: their kinds and folders.
const MOUNTS: &[(&str, &str)] = &[
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("cgroup2", "/sys/fs/cgroup"),
    ("bpf", "/sys/fs/bpf"),
    ("tracefs", "/sys/kernel/tracing"),
    ("debugfs", "/sys/kernel/debug"),
];
/// The prefix of a tracepoint's type.
const TRACE: &str = "btf_trace_";
/// The value on machines of up to 4096 CPUs (64-bit systems set `PID_MAX_LIMIT` at boot).
const PID_MAX: &str = "4194304\n";
/// The apparent address of functions.
const TEXT_AT: u64 = 0xffff_ffff_8100_0000;

impl Tree {
    /// Writes the kernel's own files, and what /proc shows of the machine.
    pub(super) fn write_kernel(&mut self, machine: &Machine, kernel: &Btf) -> Result<(), ProgramError> {
        self.write("/sys/kernel/btf/vmlinux", machine.btf)?;
        self.show_scheduler(None)?;
        for name in ["hotplug_seq", "enable_seq", "nr_rejected", "switch_all"] {
            self.write(&format!("/sys/kernel/sched_ext/{name}"), "0\n")?;
        }
        self.write("/proc/mounts", mounts())?;
        let kinds: String = MOUNTS.iter().map(|(kind, _)| format!("nodev\t{kind}\n")).collect();
        self.write("/proc/filesystems", kinds)?;
        self.write("/proc/version", format!("Linux version {RELEASE} (keel) #1 SMP PREEMPT_DYNAMIC\n"))?;
        self.write("/proc/uptime", "")?;
        self.write(&format!("/boot/config-{RELEASE}"), &machine.config)?;
        self.write("/proc/kallsyms", symbols(kernel, machine.symbols))?;
        self.write("/proc/sys/kernel/ftrace_enabled", "1\n")?;
        self.write("/proc/sys/kernel/pid_max", PID_MAX)?;
        self.write("/proc/sys/kernel/threads-max", PID_MAX)?;
        self.write("/sys/kernel/tracing/available_tracers", "function nop\n")?;
        self.write("/sys/kernel/tracing/available_events", events(kernel))?;
        self.write_times(machine, 0, &[])?;
        self.write(
            "/proc/meminfo",
            "MemTotal:       67108864 kB\nMemFree:        33554432 kB\nMemAvailable:   33554432 kB\n",
        )?;
        self.write("/proc/sys/kernel/osrelease", format!("{RELEASE}\n"))?;
        self.write("/proc/cpuinfo", cpuinfo(machine.topology.cpus()))?;
        for folder in
            ["/sys/fs/bpf", "/sys/kernel/debug", "/sys/class/net/lo", "/var/run", "/run", "/dev/shm"]
        {
            self.make_folder(folder)?;
        }
        Ok(())
    }

    /// Writes `/proc/stat` at a time since the machine's start, given the CPUs' idle times.
    pub(crate) fn write_times(
        &mut self,
        machine: &Machine,
        since_ns: u64,
        idle_ns: &[u64],
    ) -> Result<(), ProgramError> {
        self.write("/proc/stat", stat(machine.topology.cpus(), since_ns, idle_ns))
    }
}

impl Program {
    /// Writes how long the machine has been up, and the total idle time of its CPUs, in hundredths of a second.
    pub(crate) fn show_uptime(&mut self) -> Result<(), ProgramError> {
        let seconds = |ns: u64| format!("{}.{:02}", ns / 1_000_000_000, ns / TICK_NS % 100);
        let (up, idle) = (UPTIME.as_ns() + self.now_ns, self.idle_ns.iter().sum());
        self.tree.write("/proc/uptime", format!("{} {}\n", seconds(up), seconds(idle)))
    }

    /// Writes the CPUs' times up to now, if that has not been done yet.
    pub(crate) fn show_times(&mut self) -> Result<(), ProgramError> {
        let since_ns = self.now_ns - self.since_ns;
        let tick = since_ns / TICK_NS;
        if self.shown_tick.replace(tick) != Some(tick) {
            self.tree.write_times(&self.machine, since_ns, &self.idle_ns)?;
        }
        Ok(())
    }
}

/// `/proc/mounts`.
pub(super) fn mounts() -> String {
    MOUNTS.iter().map(|(kind, folder)| format!("{kind} {folder} {kind} rw 0 0\n")).collect()
}

/// `/proc/PID/mountinfo`: numbers of mounts and devices, and the contents of `/proc/mounts`.
pub(super) fn mountinfo() -> String {
    let lines = MOUNTS.iter().zip(20..);
    lines.map(|((kind, folder), id)| format!("{id} 1 0:{id} / {folder} rw - {kind} {kind} rw\n")).collect()
}

/// `/proc/kallsyms`: the functions that the kernel's types name, and data.
fn symbols(kernel: &Btf, data: &[(&str, u64)]) -> String {
    let mut text = String::new();
    for (function, at) in kernel.functions().zip((TEXT_AT..).step_by(16)) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{at:016x} T {}", function.name);
    }
    for (name, at) in data {
        let _ = writeln!(text, "{at:016x} R {name}");
    }
    text
}

/// `available_events`: the scheduler's tracepoints to which programs can be attached.
fn events(kernel: &Btf) -> String {
    let typedefs = kernel.types().filter(|(_, ty)| matches!(ty.kind, Kind::Typedef(_)));
    let names = typedefs.filter_map(|(id, _)| kernel.name(id).strip_prefix(TRACE));
    names.filter(|name| name.starts_with("sched_")).map(|name| format!("sched:{name}\n")).collect()
}

/// `/proc/stat` at a time since the machine's start: non-idle time counts as the tasks' own time. A CPU whose idle time
/// is not known has not started.
fn stat(cpus: u32, since_ns: u64, idle_ns: &[u64]) -> String {
    let times = |idle_ns: Option<&u64>| match idle_ns {
        Some(&idle) => [since_ns.saturating_sub(idle) / TICK_NS, idle / TICK_NS],
        None => [0, 0],
    };
    let line = |name: String, [user, idle]: [u64; 2]| format!("{name} {user} 0 0 {idle} 0 0 0 0 0 0\n");
    let each: Vec<[u64; 2]> = (0..cpus as usize).map(|cpu| times(idle_ns.get(cpu))).collect();
    let all = each.iter().fold([0, 0], |sum, one| [sum[0] + one[0], sum[1] + one[1]]);
    let mut text = line("cpu ".into(), all);
    text.extend(each.iter().enumerate().map(|(cpu, &times)| line(format!("cpu{cpu}"), times)));
    text + "intr 0\nctxt 0\nbtime 1767225600\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n"
}

fn cpuinfo(cpus: u32) -> String {
    (0..cpus).map(|cpu| format!("processor\t: {cpu}\nmodel name\t: simulated\n\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_idle_is_busy() {
        let check = |since_ms: u64, idle_ms: &[u64], expected: &str| {
            let idle_ns: Vec<u64> = idle_ms.iter().map(|ms| ms * 1_000_000).collect();
            let text = stat(2, since_ms * 1_000_000, &idle_ns);
            assert_eq!(text.lines().take(3).collect::<Vec<_>>().join("|"), expected);
        };
        check(0, &[], "cpu  0 0 0 0 0 0 0 0 0 0|cpu0 0 0 0 0 0 0 0 0 0 0|cpu1 0 0 0 0 0 0 0 0 0 0");
        check(
            1000,
            &[400, 1000],
            "cpu  60 0 0 140 0 0 0 0 0 0|cpu0 60 0 0 40 0 0 0 0 0 0|cpu1 0 0 0 100 0 0 0 0 0 0",
        );
    }
}
