//! Settings after a workload's name: `lu:16@nodes=1,2@after_ms=300`.
//!
//! `nodes` and `cpus` confine all of its tasks from the start, as `numactl --cpunodebind` and `taskset` do, and so the
//! tasks that these fork. `after_ms` delays its start.

use keel_abi::task::Workload;
use keel_abi::{CpuId, CpuSet, Span, Topology};

/// The sign before each setting.
const SIGN: char = '@';
/// All settings, for messages.
const FORMS: &str = "@nodes=0,1, @cpus=0-7,16 or @after_ms=300";
/// The maximum delay of a workload: a day.
const MOST_MS: u64 = 86_400_000;

/// A setting of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Its tasks may use only the CPUs of these NUMA nodes.
    Nodes(Vec<u32>),
    /// Its tasks may use only these CPUs.
    Cpus(Vec<u32>),
    /// It starts this much later.
    After(Span),
}

/// Splits a workload's own name from the settings after it. A file takes precedence over the sign in its name. The
/// error is a sentence about an unknown setting.
pub fn settings(name: &str, is_file: impl Fn(&str) -> bool) -> Result<(&str, Vec<Setting>), String> {
    let mut own = name;
    let mut settings = Vec::new();
    while !is_file(own) {
        let Some((before, setting)) = own.rsplit_once(SIGN) else { break };
        let read = read(setting)
            .ok_or_else(|| format!("'{SIGN}{setting}' is not a setting of a workload; write {FORMS}"))?;
        settings.push(read);
        own = before;
    }
    settings.reverse();
    Ok((own, settings))
}

fn read(setting: &str) -> Option<Setting> {
    let (word, value) = setting.split_once('=')?;
    match word {
        "nodes" => list(value).map(Setting::Nodes),
        "cpus" => list(value).map(Setting::Cpus),
        "after_ms" => {
            let ms = value.parse().ok().filter(|ms| *ms <= MOST_MS)?;
            Some(Setting::After(Span::from_ms(ms)))
        }
        _ => None,
    }
}

/// Parses a list such as `0-7,16`.
fn list(text: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        if first > last || last > u32::from(u16::MAX) || numbers.len() > usize::from(u16::MAX) {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

/// Applies settings to a workload on a machine of this shape. The error is a sentence about CPUs or nodes that the
/// machine lacks, or about a task that could run nowhere.
pub fn apply(workload: &mut Workload, settings: &[Setting], topology: &Topology) -> Result<(), String> {
    for setting in settings {
        match setting {
            Setting::Nodes(nodes) => {
                bound("node", nodes, topology.nodes())?;
                confine(workload, &topology.cpus_where(|place| nodes.contains(&place.node.0)))?;
            }
            Setting::Cpus(cpus) => {
                bound("CPU", cpus, topology.cpus())?;
                confine(workload, &cpus.iter().map(|&cpu| CpuId(cpu)).collect())?;
            }
            Setting::After(span) => workload.tasks.iter_mut().for_each(|task| task.delay += *span),
        }
    }
    Ok(())
}

fn bound(what: &str, numbers: &[u32], count: u32) -> Result<(), String> {
    match numbers.iter().find(|&&number| number >= count) {
        Some(number) => Err(format!("the machine has no {what} {number}: its last is {}", count - 1)),
        None => Ok(()),
    }
}

fn confine(workload: &mut Workload, cpus: &CpuSet) -> Result<(), String> {
    for task in &mut workload.tasks {
        let left: CpuSet = match task.cpus.is_empty() {
            true => cpus.clone(),
            false => task.cpus.iter().filter(|cpu| cpus.contains(*cpu)).collect(),
        };
        if left.is_empty() {
            return Err(format!("task '{}' of the workload may use none of these CPUs", task.name));
        }
        task.cpus = left;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generated;

    /// Checks the CPUs and the delay that the tasks of a name get on two nodes of four CPUs.
    fn check(name: &str, expected: Result<(&str, &str, u64), &str>) {
        let is_file = |name: &str| name == "a@cpus=1";
        let topology = Topology::regular(2, 1, 4, 1);
        let got = settings(name, is_file).and_then(|(own, settings)| {
            let mut made = generated("lu:2", 8).unwrap().unwrap();
            apply(&mut made, &settings, &topology)?;
            assert!(made.tasks.iter().all(|task| task.cpus == made.tasks[0].cpus), "all alike");
            Ok((own.to_owned(), made.tasks[0].cpus.to_string(), made.tasks[0].delay.as_ns() / 1_000_000))
        });
        let expected = expected.map(|(own, cpus, ms)| (own.to_owned(), cpus.to_owned(), ms));
        assert_eq!(got, expected.map_err(str::to_owned), "{name}");
    }

    #[test]
    fn a_workload_is_confined_and_delayed() {
        check("lu:2", Ok(("lu:2", "", 0)));
        check("lu:2@nodes=1", Ok(("lu:2", "4-7", 0)));
        check("lu:2@nodes=0,1@cpus=2-4,7", Ok(("lu:2", "2-4,7", 0)));
        check("lu:2@after_ms=300@cpus=0", Ok(("lu:2", "0", 300)));
        check("a@cpus=1", Ok(("a@cpus=1", "", 0)));
        check("a@cpus=1@cpus=2", Ok(("a@cpus=1", "2", 0)));
        check("@cpus=1", Ok(("", "1", 0)));
    }

    #[test]
    fn impossible_settings_are_refused() {
        check("lu:2@nodes=2", Err("the machine has no node 2: its last is 1"));
        check("lu:2@cpus=7-8", Err("the machine has no CPU 8: its last is 7"));
        check("lu:2@nodes=1@cpus=0", Err("task 'lu' of the workload may use none of these CPUs"));
        for bad in [
            "@",
            "@nodes",
            "@nodes=",
            "@cpus=3-1",
            "@cpus=0-99999",
            "@after_ms=-1",
            "@after_ms=86400001",
            "@x=1",
        ] {
            let problem = format!("'{bad}' is not a setting of a workload; write {FORMS}");
            check(&format!("lu:2{bad}"), Err(&problem));
        }
    }
}
