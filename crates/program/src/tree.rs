//! Writes the files that describe the simulated machine. They are kept in memory until the program accesses them,
//! because a large machine has thousands. Then they are created in a scratch folder that is removed after the run.

mod cgroups;
mod kernel;
mod nodes;
mod store;
pub(crate) mod tasks;

use crate::ProgramError;
use crate::host::reason;
use crate::program::Machine;
use keel_abi::CpuId;
use keel_abi::cgroup::CgroupNow;
use keel_abi::topology::Place;
use keel_object::Btf;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use store::Store;

/// Paths that show only the simulated machine: a file that is not in the tree does not exist.
const SHOWN: &[&str] = &["/sys", "/proc", "/var/run", "/run", "/dev", "/boot"];
/// Devices that are the same on every machine. Random bytes come from the seed.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
/// Files of the program's own process, not of the machine.
pub(crate) const OWN: &[&str] = &["/proc/self/maps", "/proc/self/exe"];
/// The default capacity.
const FULL_CAPACITY: u16 = 1024;

/// The mounted file systems, as `statfs(2)` shows them.
const MOUNTED: &[(&str, u64)] = &[
    ("/sys/fs/bpf", 0xcafe_4a11),
    ("/sys/fs/cgroup", 0x6367_7270),
    ("/sys/kernel/tracing", 0x7472_6163),
    ("/sys/kernel/debug", 0x6462_6720),
    ("/sys", 0x6265_6572),
    ("/proc", 0x9fa0),
];
/// The kernel's event counts of the scheduler.
pub(crate) const EVENTS: &str = "/sys/kernel/sched_ext/root/events";

/// The tree.
pub(crate) struct Tree {
    store: Store,
    /// The inode numbers of folders that have one of their own.
    inodes: BTreeMap<String, u64>,
    /// The cgroups that cgroupfs shows.
    cgroups: Vec<CgroupNow>,
    /// The processes that `/proc` lists, and the threads of those that have been accessed.
    processes: BTreeSet<i32>,
    threads: tasks::Threads,
}

impl Tree {
    /// Writes the machine's files.
    pub(crate) fn new(machine: &Machine, kernel: &Btf) -> Result<Self, ProgramError> {
        let store = Store::new().map_err(|e| failed(&e))?;
        let mut tree = Self {
            store,
            inodes: BTreeMap::new(),
            cgroups: Vec::new(),
            processes: BTreeSet::new(),
            threads: BTreeMap::new(),
        };
        tree.write_cpus(machine)?;
        tree.write_nodes(machine)?;
        tree.write_kernel(machine, kernel)?;
        tree.begin_cgroups(&machine.cgroups)?;
        Ok(tree)
    }

    /// Returns whether the path belongs to the machine.
    pub(crate) fn holds(&self, path: &str) -> bool {
        SHOWN.iter().any(|root| is_below(path, root)) && ![OWN, DEVICES].iter().any(|not| not.contains(&path))
    }

    /// Returns the type of the path's file system (`f_type`), or `None` for the host's.
    pub(crate) fn magic(&self, path: &str) -> Option<u64> {
        MOUNTED.iter().find(|(root, _)| is_below(path, root)).map(|&(_, magic)| magic)
    }

    /// Returns the path's own inode number, which is not the scratch folder's.
    pub(crate) fn inode(&self, path: &str) -> Option<u64> {
        self.inodes.get(path).copied()
    }

    /// Returns the path's target on the host, which exists if the tree has it.
    pub(crate) fn real(&mut self, path: &str) -> Result<String, ProgramError> {
        match self.holds(path) {
            true => self.store.place(path).map_err(|e| failed(&e)),
            false => Ok(path.to_owned()),
        }
    }

    /// Like `real`, for a file that the program may change.
    pub(crate) fn real_to_write(&mut self, path: &str) -> Result<String, ProgramError> {
        self.store.own(path).map_err(|e| failed(&e))?;
        self.real(path)
    }

    /// Returns whether there is such a folder.
    pub(crate) fn is_folder(&self, path: &str) -> bool {
        match self.holds(path) {
            true => self.store.is_folder(path),
            false => Path::new(path).is_dir(),
        }
    }

    /// Returns whether there is such a file or folder.
    pub(crate) fn is_there(&self, path: &str) -> bool {
        match self.holds(path) {
            true => self.store.is_folder(path) || self.store.is_file(path),
            false => Path::new(path).exists(),
        }
    }

    /// Prepares a folder that the program is about to list.
    pub(crate) fn list(&mut self, path: &str) -> Result<(), ProgramError> {
        self.store.list(path).map_err(|e| failed(&e))
    }

    /// Returns whether the tree has this file. The program may write to it, as its own copy of the machine's.
    pub(crate) fn has_file(&self, path: &str) -> bool {
        self.holds(path) && self.store.is_file(path)
    }

    /// Shows which scheduler is loaded, or that none is.
    pub(crate) fn show_scheduler(&mut self, name: Option<&str>) -> Result<(), ProgramError> {
        let root = "/sys/kernel/sched_ext/root";
        match name {
            Some(name) => self.write(&format!("{root}/ops"), format!("{name}\n"))?,
            None => self.store.remove_folder(root),
        }
        let state = if name.is_some() { "enabled\n" } else { "disabled\n" };
        self.write("/sys/kernel/sched_ext/state", state)
    }

    /// Writes the scheduler's event counts.
    pub(crate) fn write_events(&mut self, events: &[(&str, u64)]) -> Result<(), ProgramError> {
        let lines: String = events.iter().map(|(name, count)| format!("{name} {count}\n")).collect();
        self.write(EVENTS, lines)
    }

    pub(crate) fn make_folder(&mut self, path: &str) -> Result<(), ProgramError> {
        self.store.make_folder(path).map_err(|e| failed(&e))
    }

    /// Removes a file, if it exists.
    pub(crate) fn remove(&mut self, path: &str) {
        self.store.remove(path);
    }

    pub(crate) fn write(&mut self, path: &str, text: impl AsRef<[u8]>) -> Result<(), ProgramError> {
        self.store.write(path, text.as_ref()).map_err(|e| failed(&e))
    }

    /// Writes a file that never changes. Files with the same text may share one file of the host.
    fn write_constant(&mut self, path: &str, text: impl AsRef<[u8]>) {
        self.store.write_constant(path, text.as_ref());
    }

    fn write_cpus(&mut self, machine: &Machine) -> Result<(), ProgramError> {
        let topology = &machine.topology;
        let cpus = "/sys/devices/system/cpu";
        let all = format!("0-{}\n", topology.cpus() - 1);
        let all = if topology.cpus() == 1 { "0\n".to_owned() } else { all };
        for name in ["online", "possible", "present"] {
            self.write(&format!("{cpus}/{name}"), &all)?;
        }
        for name in ["offline", "isolated", "nohz_full"] {
            self.write(&format!("{cpus}/{name}"), "\n")?;
        }
        self.write(&format!("{cpus}/smt/active"), if topology.has_smt() { "1\n" } else { "0\n" })?;
        self.write(
            &format!("{cpus}/smt/control"),
            if topology.has_smt() { "on\n" } else { "notsupported\n" },
        )?;
        let list =
            |wanted: &dyn Fn(Place) -> bool| ranges(topology.iter().filter(|&c| wanted(topology.place(c))));
        for cpu in topology.iter() {
            let place = topology.place(cpu);
            let at = format!("{cpus}/cpu{}", cpu.0);
            self.write(&format!("{at}/online"), "1\n")?;
            let mut put =
                |name: &str, text: String| self.write_constant(&format!("{at}/{name}"), text + "\n");
            let siblings = list(&|p| p.core == place.core);
            put("topology/core_id", place.core.0.to_string());
            put("topology/cluster_id", "-1".into());
            put("topology/die_id", "0".into());
            put("topology/physical_package_id", place.node.0.to_string());
            put("topology/thread_siblings_list", siblings.clone());
            put("topology/core_cpus_list", siblings.clone());
            put("topology/core_siblings_list", list(&|p| p.node == place.node));
            put("topology/package_cpus_list", list(&|p| p.node == place.node));
            for (index, level, kind, id, size, shared) in [
                (0, 1, "Data", place.core.0, "32K", siblings.clone()),
                (1, 1, "Instruction", place.core.0, "32K", siblings.clone()),
                (2, 2, "Unified", place.core.0, "1024K", siblings.clone()),
                (3, 3, "Unified", place.llc.0, "32768K", list(&|p| p.llc == place.llc)),
            ] {
                put(&format!("cache/index{index}/level"), level.to_string());
                put(&format!("cache/index{index}/type"), kind.into());
                put(&format!("cache/index{index}/id"), id.to_string());
                put(&format!("cache/index{index}/size"), size.into());
                put(&format!("cache/index{index}/shared_cpu_list"), shared);
            }
            let capacity = machine.capacity.get(cpu.index()).copied().unwrap_or(FULL_CAPACITY);
            put("cpu_capacity", capacity.to_string());
            for (name, khz) in [
                ("cpuinfo_min_freq", 800_000),
                ("cpuinfo_max_freq", 3_000_000),
                ("scaling_min_freq", 800_000),
                ("scaling_max_freq", 3_000_000),
                ("scaling_cur_freq", 3_000_000),
                ("base_frequency", 3_000_000),
            ] {
                let khz = khz * u64::from(capacity) / u64::from(FULL_CAPACITY);
                put(&format!("cpufreq/{name}"), khz.to_string());
            }
            put("cpufreq/scaling_governor", "schedutil".into());
            put("power/pm_qos_resume_latency_us", "0".into());
        }
        Ok(())
    }

    /// Writes which CPUs are online, once the machine has started.
    pub(crate) fn write_online(&mut self, machine: &Machine, online: &[bool]) -> Result<(), ProgramError> {
        let is_online = |cpu: &CpuId| online.get(cpu.index()).copied().unwrap_or(true);
        let cpus = "/sys/devices/system/cpu";
        self.write(&format!("{cpus}/online"), ranges(machine.topology.iter().filter(is_online)) + "\n")?;
        let offline = machine.topology.iter().filter(|cpu| !is_online(cpu));
        self.write(&format!("{cpus}/offline"), ranges(offline) + "\n")?;
        for cpu in machine.topology.iter() {
            let text = if is_online(&cpu) { "1\n" } else { "0\n" };
            self.write(&format!("{cpus}/cpu{}/online", cpu.0), text)?;
        }
        Ok(())
    }
}

/// Returns whether the path is this folder, or below it.
fn is_below(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn failed(error: &std::io::Error) -> ProgramError {
    ProgramError::Host(format!("no scratch folder: {}", reason(error)))
}

/// Formats CPUs as `0-3,8`.
fn ranges(cpus: impl Iterator<Item = CpuId>) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for CpuId(cpu) in cpus {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => parts.push((cpu, cpu)),
        }
    }
    let parts: Vec<String> = parts
        .iter()
        .map(|&(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
        .collect();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_ranges() {
        let check =
            |cpus: &[u32], expected: &str| assert_eq!(ranges(cpus.iter().copied().map(CpuId)), expected);
        check(&[], "");
        check(&[0], "0");
        check(&[0, 1, 2, 5, 7, 8], "0-2,5,7-8");
    }
}
