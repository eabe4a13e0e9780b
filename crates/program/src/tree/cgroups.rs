//! cgroupfs: the workload's cgroups as the run begins, with their settings.

use super::{Tree, failed};
use crate::ProgramError;
use keel_abi::cgroup::{Bandwidth, Cgroup, QUOTA_NONE, kernfs_id};
use std::fs;

const ROOT: &str = "/sys/fs/cgroup";

impl Tree {
    /// Writes each cgroup's folder. Their inode numbers are their ids, in the order in which the kernel makes them.
    pub(super) fn write_cgroups(&mut self, cgroups: &[Cgroup]) -> Result<(), ProgramError> {
        self.write(&format!("{ROOT}/cgroup.controllers"), "cpuset cpu\n")?;
        self.write(&format!("{ROOT}/cgroup.subtree_control"), "cpu\n")?;
        self.write(&format!("{ROOT}/cgroup.procs"), "")?;
        self.inodes.insert(ROOT.to_owned(), kernfs_id(0));
        let there = cgroups.iter().filter(|cgroup| cgroup.is_there);
        for (cgroup, number) in there.zip(1..) {
            let folder = format!("{ROOT}{}", cgroup.path);
            fs::create_dir_all(self.real(&folder)).map_err(|e| failed(&e))?;
            for (file, text) in files(cgroup) {
                self.write(&format!("{folder}/{file}"), text)?;
            }
            self.inodes.insert(folder, kernfs_id(number));
        }
        Ok(())
    }
}

fn files(cgroup: &Cgroup) -> [(&'static str, String); 8] {
    let Bandwidth { period_us, quota_us, burst_us } = cgroup.bandwidth;
    let quota = if quota_us == QUOTA_NONE { "max".to_owned() } else { quota_us.to_string() };
    [
        ("cgroup.controllers", "cpu\n".to_owned()),
        ("cgroup.subtree_control", "cpu\n".to_owned()),
        ("cgroup.procs", String::new()),
        ("cgroup.threads", String::new()),
        ("cpu.weight", format!("{}\n", cgroup.weight)),
        ("cpu.max", format!("{quota} {period_us}\n")),
        ("cpu.max.burst", format!("{burst_us}\n")),
        ("cpu.idle", format!("{}\n", u8::from(cgroup.idle))),
    ]
}
