//! Writes steps in which a task requests changes, as in a workload file.

use crate::export::named;
use keel_abi::cgroup::{Bandwidth, Cgroup, CgroupId, CgroupStep, QUOTA_NONE};
use keel_abi::task::{Policy, Step};
use serde_json::{Value, json};

/// Returns a step of a task whose tape refers to it.
pub(crate) fn of(step: &Step, cgroups: &[Cgroup]) -> Value {
    match step {
        // The file format can express it only as work.
        Step::RunFor(span) => json!({ "run": span.as_ns() as f64 / 1000.0 }),
        Step::Nice(nice) => json!({ "nice": nice }),
        Step::Affinity(cpus) if cpus.is_empty() => json!("every_cpu"),
        Step::Affinity(cpus) => json!({ "cpus": cpus.iter().map(|cpu| cpu.0).collect::<Vec<_>>() }),
        Step::Policy(policy @ (Policy::Fifo(priority) | Policy::RoundRobin(priority))) => {
            json!({ "policy": { "name": named(*policy), "priority": priority } })
        }
        Step::Policy(policy) => json!({ "policy": named(*policy) }),
        Step::MigrateDisable => json!("migrate_disable"),
        Step::MigrateEnable => json!("migrate_enable"),
        Step::Exec => json!("exec"),
        Step::Setsid => json!("setsid"),
        Step::AutogroupNice(nice) => json!({ "autogroup_nice": nice }),
        Step::Cgroup(step) => of_cgroup(*step, cgroups),
        _ => json!("syscall"),
    }
}

fn of_cgroup(step: CgroupStep, cgroups: &[Cgroup]) -> Value {
    let path = |id: CgroupId| match id.place().and_then(|place| cgroups.get(place)) {
        Some(cgroup) => cgroup.path.as_str(),
        None => "/",
    };
    let path = path(step.id());
    match step {
        CgroupStep::Join(_) => json!({ "cgroup": path }),
        CgroupStep::JoinProcess(_) => json!({ "cgroup_process": path }),
        CgroupStep::Make(_) => json!({ "make_cgroup": path }),
        CgroupStep::Remove(_) => json!({ "remove_cgroup": path }),
        CgroupStep::Weight(_, weight) => json!({ "set_cgroup": { "path": path, "weight": weight } }),
        CgroupStep::Idle(_, idle) => json!({ "set_cgroup": { "path": path, "idle": idle } }),
        CgroupStep::Bandwidth(_, Bandwidth { period_us, quota_us, burst_us }) => {
            let quota_us = if quota_us == QUOTA_NONE { 0 } else { quota_us };
            json!({ "set_cgroup": {
                "path": path, "quota_us": quota_us, "period_us": period_us, "burst_us": burst_us
            } })
        }
    }
}
