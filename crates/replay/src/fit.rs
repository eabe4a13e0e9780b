//! Fits a recording to a machine that may have fewer CPUs.

use keel_abi::CpuSet;
use keel_abi::task::{Step, Workload};
use keel_abi::timeline::Change;

/// Removes the CPUs that a machine with `cpus` CPUs does not have. Tasks that may use none of the rest may then use
/// all.
pub fn fit(workload: &mut Workload, cpus: u32) {
    let all = CpuSet::first(cpus);
    let within = |cpus: &mut CpuSet| *cpus = cpus.and(&all);
    workload.tasks.iter_mut().for_each(|task| within(&mut task.cpus));
    for step in workload.tasks.iter_mut().flat_map(|task| &mut task.steps) {
        if let Step::Affinity(cpus) = step {
            within(cpus);
        }
    }
    // An entry after a removed one does not follow the entry before that.
    let mut is_first_gone = false;
    workload.timeline.retain_mut(|happening| {
        happening.follows &= !is_first_gone;
        let stays = match &mut happening.change {
            Change::Affinity { cpus, .. } | Change::Offline(cpus) | Change::Online(cpus) => {
                within(cpus);
                !cpus.is_empty()
            }
            _ => true,
        };
        is_first_gone = !stays && !happening.follows;
        stays
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::task::TaskSpec;
    use keel_abi::timeline::Happening;
    use keel_abi::{CpuId, Span};

    #[test]
    fn what_a_machine_lacks_is_left_out() {
        let only = |cpus: &[u32]| CpuSet::from_iter(cpus.iter().copied().map(CpuId));
        let task = |cpus| TaskSpec { cpus, ..TaskSpec::default() };
        let off = |cpus| Happening {
            at: Span::ZERO,
            every: None,
            times: None,
            follows: false,
            change: Change::Offline(cpus),
        };
        let mut workload = Workload {
            tasks: vec![task(only(&[0, 5])), task(only(&[5]))],
            timeline: vec![off(only(&[1, 7])), off(only(&[7]))],
            ..Workload::default()
        };
        fit(&mut workload, 4);
        let cpus: Vec<_> = workload.tasks.iter().map(|task| task.cpus.clone()).collect();
        assert_eq!(cpus, [only(&[0]), CpuSet::new()]);
        assert_eq!(workload.timeline, [off(only(&[1]))]);
    }
}
