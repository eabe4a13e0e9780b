//! Shows cgroupfs: the cgroups with their settings, processes and threads. Before the run, it contains the workload's.

use super::{Tree, is_below};
use crate::ProgramError;
use crate::watches::Changes;
use keel_abi::Span;
use keel_abi::cgroup::{Bandwidth, Cgroup, CgroupNow, QUOTA_NONE, WEIGHT_DFL, kernfs_id};

const ROOT: &str = "/sys/fs/cgroup";

impl Tree {
    /// Shows the workload's cgroups at the start of the run, numbered in the order in which the kernel creates them.
    pub(super) fn begin_cgroups(&mut self, cgroups: &[Cgroup]) -> Result<(), ProgramError> {
        let root = CgroupNow {
            path: String::new(),
            number: 0,
            weight: WEIGHT_DFL,
            bandwidth: Bandwidth::default(),
            idle: false,
            processes: Vec::new(),
            threads: Vec::new(),
            used: Span::ZERO,
        };
        let there = cgroups.iter().filter(|cgroup| cgroup.is_there);
        let below = there.zip(1..).map(|(cgroup, number)| CgroupNow {
            path: cgroup.path.clone(),
            number,
            weight: cgroup.weight,
            bandwidth: cgroup.bandwidth,
            idle: cgroup.idle,
            ..root.clone()
        });
        let all = [root.clone()].into_iter().chain(below).collect();
        self.show_cgroups(all).map(|_| ())
    }

    /// Returns whether the path is in cgroupfs.
    pub(crate) fn is_in_cgroups(&self, path: &str) -> bool {
        is_below(path, ROOT)
    }

    /// Shows exactly these cgroups. Returns which have been created and removed: removed children before their parents,
    /// and new parents before their children.
    pub(crate) fn show_cgroups(&mut self, cgroups: Vec<CgroupNow>) -> Result<Changes, ProgramError> {
        let before = std::mem::take(&mut self.cgroups);
        let mut changes = Changes::default();
        for gone in before.iter().rev() {
            if !cgroups.iter().any(|cgroup| cgroup.number == gone.number) {
                let folder = format!("{ROOT}{}", gone.path);
                self.store.remove_folder(&folder);
                self.inodes.remove(&folder);
                changes.gone.push(folder);
            }
        }
        for cgroup in &cgroups {
            let shown = before.iter().find(|shown| shown.number == cgroup.number);
            self.show_cgroup(cgroup, shown)?;
            if shown.is_none() {
                changes.made.push(format!("{ROOT}{}", cgroup.path));
            }
        }
        self.cgroups = cgroups;
        Ok(changes)
    }

    /// Writes a cgroup's files, except unchanged ones.
    fn show_cgroup(&mut self, cgroup: &CgroupNow, shown: Option<&CgroupNow>) -> Result<(), ProgramError> {
        let folder = format!("{ROOT}{}", cgroup.path);
        let before = shown.map(files);
        for (place, (file, text)) in files(cgroup).into_iter().enumerate() {
            if before.as_ref().is_none_or(|before| before[place].1 != text) {
                self.write(&format!("{folder}/{file}"), text)?;
            }
        }
        self.inodes.insert(folder, kernfs_id(cgroup.number));
        Ok(())
    }
}

/// Returns a cgroup's files: their names and texts. The root has no settings.
fn files(cgroup: &CgroupNow) -> Vec<(&'static str, String)> {
    let Bandwidth { period_us, quota_us, burst_us } = cgroup.bandwidth;
    let quota = if quota_us == QUOTA_NONE { "max".to_owned() } else { quota_us.to_string() };
    let is_root = cgroup.number == 0;
    let list = |pids: &[i32]| pids.iter().map(|pid| format!("{pid}\n")).collect();
    let mut files = vec![
        ("cgroup.controllers", if is_root { "cpuset cpu\n" } else { "cpu\n" }.to_owned()),
        ("cgroup.subtree_control", "cpu\n".to_owned()),
        ("cgroup.procs", list(&cgroup.processes)),
        ("cgroup.threads", list(&cgroup.threads)),
        ("cpu.stat", stat(cgroup)),
    ];
    if !is_root {
        files.extend([
            ("cpu.weight", format!("{}\n", cgroup.weight)),
            ("cpu.max", format!("{quota} {period_us}\n")),
            ("cpu.max.burst", format!("{burst_us}\n")),
            ("cpu.idle", format!("{}\n", u8::from(cgroup.idle))),
            ("cgroup.type", "domain\n".to_owned()),
        ]);
    }
    files
}

/// `cpu.stat`. The simulated kernel does not distinguish time in the kernel from a task's own.
fn stat(cgroup: &CgroupNow) -> String {
    let us = cgroup.used.as_ns() / 1000;
    format!("usage_usec {us}\nuser_usec {us}\nsystem_usec 0\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Machine;
    use keel_abi::Topology;
    use keel_object::Btf;

    /// BTF without a type: a header, and the empty string.
    const NO_TYPES: &[u8] =
        &[0x9f, 0xeb, 1, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];

    fn cgroup(path: &str, number: u32, weight: u32, pids: &[i32]) -> CgroupNow {
        CgroupNow {
            path: path.into(),
            number,
            weight,
            bandwidth: Bandwidth::default(),
            idle: false,
            processes: pids[..pids.len().min(1)].to_vec(),
            threads: pids.to_vec(),
            used: Span::from_ms(u64::from(number)),
        }
    }

    #[test]
    fn cgroups_come_change_and_go() {
        let made = |path: &str, is_there: bool| Cgroup {
            path: path.into(),
            parent: keel_abi::cgroup::CgroupId::ROOT,
            is_there,
            weight: 200,
            bandwidth: Bandwidth { quota_us: 5000, ..Bandwidth::default() },
            idle: false,
        };
        let machine = Machine {
            topology: Topology::flat(1),
            capacity: Vec::new(),
            btf: NO_TYPES,
            symbols: &[],
            config: String::new(),
            cgroups: vec![made("/a", true), made("/later", false), made("/b", true)],
            tick_ns: 4_000_000,
            seed: 1,
            call_ns: 1,
            pid: 2,
        };
        let mut tree = Tree::new(&machine, &Btf::parse(NO_TYPES).unwrap()).unwrap();
        let check = |tree: &mut Tree, file: &str, expected: Option<&str>| {
            let place = tree.real(&format!("{ROOT}/{file}")).unwrap();
            assert_eq!(std::fs::read_to_string(place).ok().as_deref(), expected, "{file}");
        };
        check(&mut tree, "a/cpu.max", Some("5000 100000\n"));
        check(&mut tree, "b/cgroup.procs", Some(""));
        check(&mut tree, "later/cpu.weight", None);
        assert_eq!(tree.inode("/sys/fs/cgroup/b"), Some(kernfs_id(2)));
        // One is removed, one created, and one has new threads.
        let root = cgroup("", 0, 100, &[1, 2]);
        let now = vec![root, cgroup("/b", 2, 300, &[7, 8]), cgroup("/later", 3, 100, &[])];
        let changes = tree.show_cgroups(now).unwrap();
        assert_eq!((changes.gone, changes.made), (vec![format!("{ROOT}/a")], vec![format!("{ROOT}/later")]));
        check(&mut tree, "a/cpu.max", None);
        assert!(!tree.is_folder("/sys/fs/cgroup/a"));
        check(&mut tree, "cgroup.threads", Some("1\n2\n"));
        check(&mut tree, "b/cgroup.procs", Some("7\n"));
        check(&mut tree, "b/cgroup.threads", Some("7\n8\n"));
        check(&mut tree, "b/cpu.weight", Some("300\n"));
        check(&mut tree, "later/cpu.weight", Some("100\n"));
        check(&mut tree, "b/cpu.stat", Some("usage_usec 2000\nuser_usec 2000\nsystem_usec 0\n"));
        // A folder that is created again has another number.
        tree.show_cgroups(vec![cgroup("", 0, 100, &[]), cgroup("/b", 4, 100, &[])]).unwrap();
        check(&mut tree, "b/cpu.weight", Some("100\n"));
        assert_eq!(tree.inode("/sys/fs/cgroup/b"), Some(kernfs_id(4)));
    }
}
