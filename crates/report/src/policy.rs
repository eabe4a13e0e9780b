//! Describes a decision that a scheduler reports, in a sentence.

use keel_trace::Policy;
use keel_trace::policy::{Group, Kind, Outcome};

/// Returns one decision, for example `CPU 9 balanced level 2 (16 CPUs, 2 groups: own 1024 over 8 CPUs, 1290 over 8):
/// balanced, moved 0`. Loads are in the scheduler's own unit.
pub fn sentence(policy: &Policy) -> String {
    let came = outcome(policy).map(|came| format!(": {came}")).unwrap_or_default();
    format!("{} ({}){came}", subject(policy), seen(policy))
}

/// Returns its groups, one per line, the deciding CPU's own first.
pub fn group_lines(policy: &Policy) -> Vec<String> {
    let line = |(at, group): (usize, &Group)| {
        let Group { load, first_cpu, cpus, runnable, class } = *group;
        let class = class.map(|class| format!(", {}", class.words())).unwrap_or_default();
        let own = if at == 0 { "own group" } else { "group" };
        format!(
            "{own} of {}, the first CPU {first_cpu}: load {load}, {runnable} runnable{class}",
            counted(cpus.into(), "CPU")
        )
    };
    let mut lines: Vec<String> = policy.groups.iter().enumerate().map(line).collect();
    let more = (policy.nr_groups as usize).saturating_sub(policy.groups.len());
    if more > 0 {
        lines.push(format!("and {}", counted(more, "more group")));
    }
    lines
}

/// Describes who did what.
fn subject(policy: &Policy) -> String {
    let Policy { cpu, level, pid, .. } = policy;
    match policy.kind {
        Kind::Balance => format!("CPU {cpu} balanced level {level}"),
        Kind::NewIdle => format!("CPU {cpu}, about to idle, balanced level {level}"),
        Kind::Nohz => format!("another CPU balanced level {level} for idle CPU {cpu}"),
        Kind::Wakeup => format!("CPU {cpu} looked for a CPU for woken pid {pid}"),
        Kind::Fork => format!("CPU {cpu} looked for a CPU for new pid {pid}"),
        Kind::Domains => format!("CPU {cpu} has domain level {level}"),
    }
}

/// Returns the CPUs and groups that it looked at.
fn seen(policy: &Policy) -> String {
    let cpus = match policy.kind {
        Kind::Wakeup | Kind::Fork if !policy.considered.is_empty() => {
            format!("{}: {}", counted(policy.considered.len(), "CPU"), policy.considered)
        }
        _ => counted(policy.considered.len(), "CPU"),
    };
    let Some((own, others)) = policy.groups.split_first() else { return cpus };
    let own = format!("own {} over {}", own.load, counted(own.cpus.into(), "CPU"));
    let others = others.iter().map(|group| format!("{} over {}", group.load, group.cpus));
    let mut groups: Vec<String> = std::iter::once(own).chain(others).collect();
    if policy.nr_groups as usize > policy.groups.len() {
        groups.push("...".to_owned());
    }
    format!("{cpus}, {}: {}", counted(policy.nr_groups as usize, "group"), groups.join(", "))
}

/// Returns its result.
fn outcome(policy: &Policy) -> Option<String> {
    let moved = policy.moved;
    let from = policy.chosen.map(|cpu| format!(" from CPU {cpu}")).unwrap_or_default();
    let on = policy.chosen.map(|cpu| format!(" on CPU {cpu}")).unwrap_or_default();
    Some(match policy.outcome? {
        Outcome::Moved => format!("moved {moved}{from}"),
        Outcome::Balanced => format!("balanced, moved {moved}"),
        Outcome::NotDesignated => format!("another CPU is designated, moved {moved}"),
        Outcome::Pinned => format!("pinned{on}, moved {moved}"),
        Outcome::Nobody => format!("no task waits{on}, moved {moved}"),
        Outcome::Chose => policy.chosen.map_or("chose none".to_owned(), |cpu| format!("chose CPU {cpu}")),
    })
}

fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::{CpuId, CpuSet, Pid};
    use std::fmt::Write;

    fn group(load: u64, first: u32, cpus: u16, runnable: u16) -> Group {
        Group { load, first_cpu: CpuId(first), cpus, runnable, class: None }
    }

    fn policy(kind: Kind, considered: &str, groups: Vec<Group>) -> Policy {
        let considered: CpuSet = considered.parse().unwrap_or_default();
        let nr_groups = groups.len() as u32;
        let (chosen, pid) = (Some(CpuId(17)), Pid(412));
        Policy { level: 2, pid, chosen, considered, nr_groups, groups, ..Policy::of(kind, CpuId(9)) }
    }

    #[test]
    fn decisions_are_sentences() {
        let two = || vec![group(1024, 8, 8, 2), group(1290, 16, 8, 11)];
        let balanced = |kind, outcome, moved| Policy { outcome, moved, ..policy(kind, "8-23", two()) };
        let chose = |kind, chosen| Policy {
            outcome: Some(Outcome::Chose),
            chosen,
            ..policy(kind, "8,10-12", Vec::new())
        };
        let all = [
            balanced(Kind::Balance, Some(Outcome::Balanced), 0),
            balanced(Kind::Balance, Some(Outcome::Moved), 3),
            balanced(Kind::Balance, Some(Outcome::NotDesignated), 0),
            balanced(Kind::NewIdle, Some(Outcome::Pinned), 0),
            balanced(Kind::Nohz, Some(Outcome::Nobody), 0),
            balanced(Kind::Balance, None, 0),
            chose(Kind::Wakeup, Some(CpuId(8))),
            chose(Kind::Wakeup, None),
            chose(Kind::Fork, Some(CpuId(12))),
            Policy { considered: CpuSet::new(), ..chose(Kind::Wakeup, Some(CpuId(1))) },
            Policy { nr_groups: 40, ..policy(Kind::Domains, "9", vec![group(0, 9, 1, 0); 2]) },
        ];
        let mut text = String::new();
        for policy in &all {
            writeln!(text, "{}", sentence(policy)).unwrap();
        }
        writeln!(text, "{}", group_lines(&all[0]).join("\n")).unwrap();
        writeln!(text, "{}", group_lines(&all[10]).join("\n")).unwrap();
        insta::assert_snapshot!(text);
    }
}
