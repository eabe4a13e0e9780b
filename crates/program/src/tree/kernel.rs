//! What the simulated kernel shows of itself: types, symbols, the state of sched_ext, and /proc.

use super::{Tree, failed};
use crate::ProgramError;
use crate::process::RELEASE;
use crate::program::Machine;
use keel_object::Btf;
use keel_object::btf::Kind;
use std::fmt::Write;
use std::fs;

/// How the type of a tracepoint begins.
const TRACE: &str = "btf_trace_";
/// Where functions seem to lie.
const TEXT_AT: u64 = 0xffff_ffff_8100_0000;

impl Tree {
    /// Writes what the kernel shows of itself, and of the machine by way of /proc.
    pub(super) fn write_kernel(&self, machine: &Machine, kernel: &Btf) -> Result<(), ProgramError> {
        self.write("/sys/kernel/btf/vmlinux", machine.btf)?;
        self.set_enabled(false)?;
        for name in ["hotplug_seq", "enable_seq", "nr_rejected", "switch_all"] {
            self.write(&format!("/sys/kernel/sched_ext/{name}"), "0\n")?;
        }
        self.write(
            "/proc/mounts",
            "proc /proc proc rw 0 0\nsysfs /sys sysfs rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n\
             tracefs /sys/kernel/tracing tracefs rw 0 0\n",
        )?;
        self.write(&format!("/boot/config-{RELEASE}"), &machine.config)?;
        self.write("/proc/kallsyms", symbols(kernel))?;
        self.write("/proc/sys/kernel/ftrace_enabled", "1\n")?;
        self.write("/sys/kernel/tracing/available_tracers", "function nop\n")?;
        self.write("/sys/kernel/tracing/available_events", events(kernel))?;
        self.write("/proc/stat", stat(machine.topology.cpus()))?;
        self.write(
            "/proc/meminfo",
            "MemTotal:       67108864 kB\nMemFree:        33554432 kB\nMemAvailable:   33554432 kB\n",
        )?;
        self.write("/proc/sys/kernel/osrelease", format!("{RELEASE}\n"))?;
        self.write("/proc/cpuinfo", cpuinfo(machine.topology.cpus()))?;
        self.write("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu\n")?;
        self.write("/sys/fs/cgroup/cgroup.procs", "")?;
        for folder in ["/sys/fs/bpf", "/var/run", "/run", "/dev/shm"] {
            fs::create_dir_all(self.real(folder)).map_err(|e| failed(&e))?;
        }
        Ok(())
    }
}

/// `/proc/kallsyms`: the functions that the kernel's types name.
fn symbols(kernel: &Btf) -> String {
    let mut text = String::new();
    for (function, at) in kernel.functions().zip((TEXT_AT..).step_by(16)) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{at:016x} T {}", function.name);
    }
    text
}

/// `available_events`: the scheduler's tracepoints that programs can be attached to.
fn events(kernel: &Btf) -> String {
    let typedefs = kernel.types().filter(|(_, ty)| matches!(ty.kind, Kind::Typedef(_)));
    let names = typedefs.filter_map(|(id, _)| kernel.name(id).strip_prefix(TRACE));
    names.filter(|name| name.starts_with("sched_")).map(|name| format!("sched:{name}\n")).collect()
}

/// `/proc/stat` of a machine that has just booted.
fn stat(cpus: u32) -> String {
    let times = "0 0 0 0 0 0 0 0 0 0";
    let each: String = (0..cpus).map(|cpu| format!("cpu{cpu} {times}\n")).collect();
    format!(
        "cpu  {times}\n{each}intr 0\nctxt 0\nbtime 1767225600\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n"
    )
}

fn cpuinfo(cpus: u32) -> String {
    (0..cpus).map(|cpu| format!("processor\t: {cpu}\nmodel name\t: simulated\n\n")).collect()
}
