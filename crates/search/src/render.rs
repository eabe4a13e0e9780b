//! An input as the files that define a run: an rt-app workload with the project's extensions, and a machine file.
//!
//! `keel sim` with these files gives the same run as the search: both read the same text.

use crate::genome::{Act, GROUPS, Genome, MAX_CPUS, Policy, Step, Task};
use std::fmt::Write;

/// Weights of the cgroups.
const WEIGHTS: [u32; GROUPS as usize] = [100, 20, 1000];

/// Returns the workload file.
pub fn workload(genome: &Genome) -> String {
    let mut extensions = Vec::new();
    if let Some(groups) = groups(genome) {
        extensions.push(groups);
    }
    if let Some(timeline) = timeline(genome) {
        extensions.push(timeline);
    }
    let top = match extensions.as_slice() {
        [] => String::new(),
        some => format!("\t\"evenkeel\" : {{\n\t\t{}\n\t}},\n", some.join(",\n\t\t")),
    };
    let tasks: Vec<String> = (0..genome.tasks.len()).map(|at| task(genome, at)).collect();
    format!("{{\n{top}\t\"tasks\" : {{\n{}\n\t}}\n}}\n", tasks.join(",\n"))
}

/// Returns the machine file, with this name.
pub fn machine(genome: &Genome, name: &str) -> String {
    let shape = genome.machine;
    format!(
        "name = \"{name}\"\n\n[topology]\nnodes = {}\nllcs_per_node = {}\ncores_per_llc = {}\nthreads_per_core = {}\n",
        shape.nodes, shape.llcs, shape.cores, shape.threads
    )
}

/// Returns the name of task number `at` in the steps of others.
fn name(at: usize) -> String {
    format!("t{at}")
}

fn groups(genome: &Genome) -> Option<String> {
    let used = |group: u8| genome.tasks.iter().any(|task| task.group == Some(group));
    let of = |group: u8| format!("\"/g{group}\" : {{ \"weight\" : {} }}", WEIGHTS[usize::from(group)]);
    let used: Vec<String> = (0..GROUPS).filter(|&group| used(group)).map(of).collect();
    (!used.is_empty()).then(|| format!("\"cgroups\" : {{ {} }}", used.join(", ")))
}

fn timeline(genome: &Genome) -> Option<String> {
    let mut entries = Vec::new();
    for happening in &genome.timeline {
        let at = happening.at_us;
        let every = match happening.every_us {
            0 => String::new(),
            us => format!(", \"every\" : {us}"),
        };
        let mut entry = |at: u32, what: String| entries.push(format!("{{ \"at\" : {at}{every}, {what} }}"));
        match happening.what {
            Act::Offline(cpu, back_us) => {
                entry(at, format!("\"offline\" : [{cpu}]"));
                entry(at.saturating_add(back_us), format!("\"online\" : [{cpu}]"));
            }
            Act::Cpus(task, mask) => {
                let list = cpus(mask, genome.machine.cpus()).unwrap_or_else(|| all(genome.machine.cpus()));
                entry(at, format!("\"task\" : \"{}\", \"cpus\" : {list}", name(task.into())));
            }
            Act::Nice(task, nice) => {
                entry(at, format!("\"task\" : \"{}\", \"nice\" : {nice}", name(task.into())));
            }
        }
    }
    (!entries.is_empty()).then(|| format!("\"timeline\" : [\n\t\t\t{} ]", entries.join(",\n\t\t\t")))
}

fn all(cpus: u32) -> String {
    list((0..cpus).collect())
}

/// Returns the CPUs of a mask on a machine with this many CPUs. `None` for all of them.
fn cpus(mask: u32, cpus: u32) -> Option<String> {
    let mut on: Vec<u32> = (0..MAX_CPUS).filter(|cpu| mask >> cpu & 1 == 1).map(|cpu| cpu % cpus).collect();
    on.sort_unstable();
    on.dedup();
    (!on.is_empty()).then(|| list(on))
}

fn list(cpus: Vec<u32>) -> String {
    let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
    format!("[{}]", cpus.join(", "))
}

fn task(genome: &Genome, at: usize) -> String {
    let task = &genome.tasks[at];
    let mut fields = vec![format!("\"instance\" : {}", task.instances)];
    let mut field = |text: String| fields.push(text);
    if task.delay_us > 0 {
        field(format!("\"delay\" : {}", task.delay_us));
    }
    field(format!("\"loop\" : {}", if task.passes == 0 { -1 } else { i64::from(task.passes) }));
    match task.policy {
        Policy::Other => {}
        Policy::Batch => field("\"policy\" : \"SCHED_BATCH\"".to_owned()),
        Policy::Idle => field("\"policy\" : \"SCHED_IDLE\"".to_owned()),
        Policy::Fifo => field("\"policy\" : \"SCHED_FIFO\"".to_owned()),
    }
    if task.nice != 0 && !is_fixed(task) {
        field(format!("\"priority\" : {}", task.nice));
    }
    if let Some(cpus) = cpus(task.cpus, genome.machine.cpus()) {
        field(format!("\"cpus\" : {cpus}"));
    }
    if let Some(group) = task.group {
        field(format!("\"evenkeel\" : {{ \"cgroup\" : \"/g{group}\" }}"));
    }
    let phases = phases(genome, at);
    let mut text =
        format!("\t\t\"{}\" : {{\n\t\t\t{},\n\t\t\t\"phases\" : {{\n", name(at), fields.join(", "));
    for (nth, phase) in phases.iter().enumerate() {
        let comma = if nth + 1 == phases.len() { "" } else { "," };
        let _ = writeln!(text, "\t\t\t\t\"p{nth:02}\" : {{ {phase} }}{comma}");
    }
    text + "\t\t\t}\n\t\t}"
}

/// Returns whether its priority is fixed: not a nice value, or the policy's own.
fn is_fixed(task: &Task) -> bool {
    matches!(task.policy, Policy::Fifo | Policy::Idle)
}

/// Returns a task's phases: it waits to be woken, does its steps, wakes others, and replies.
fn phases(genome: &Genome, at: usize) -> Vec<String> {
    let task = &genome.tasks[at];
    let extension = |step: String| format!("\"evenkeel\" : {{ \"steps\" : [{step}] }}");
    let mut phases = Vec::new();
    if task.waker.is_some() {
        phases.push(extension(format!("{{ \"await\" : \"w{at}\" }}")));
    }
    phases.extend(task.steps.iter().map(|&one| step(genome, task, one)));
    for (wakee, other) in genome.tasks.iter().enumerate() {
        if other.waker.map(usize::from) == Some(at) {
            let wait =
                if other.replies { format!(", {{ \"await\" : \"r{wakee}\" }}") } else { String::new() };
            phases.push(extension(format!("{{ \"post\" : \"w{wakee}\" }}{wait}")));
        }
    }
    if let Some(forked) = task.forks {
        phases.push(format!("\"fork\" : \"{}\"", name(forked.into())));
    }
    if task.replies {
        phases.push(extension(format!("{{ \"post\" : \"r{at}\" }}")));
    }
    phases
}

fn step(genome: &Genome, task: &Task, step: Step) -> String {
    match step {
        Step::Run(us) => format!("\"run\" : {us}"),
        Step::Sleep(us) => format!("\"sleep\" : {us}"),
        Step::Timer(us) => {
            format!("\"timer\" : {{ \"ref\" : \"unique\", \"period\" : {us}, \"mode\" : \"absolute\" }}")
        }
        Step::Locked(mutex, us) => {
            format!("\"lock\" : \"m{mutex}\", \"run\" : {us}, \"unlock\" : \"m{mutex}\"")
        }
        Step::Pinned(us) => format!(
            "\"evenkeel\" : {{ \"steps\" : [\"migrate_disable\", {{ \"run\" : {us} }}, \"migrate_enable\"] }}"
        ),
        Step::Yield => "\"yield\" : \"\"".to_owned(),
        Step::Touch(kib) => {
            format!("\"evenkeel\" : {{ \"steps\" : [{{ \"touch\" : {} }}] }}", u64::from(kib) * 1024)
        }
        Step::Nice(nice) if !is_fixed(task) => format!("\"priority\" : {nice}, \"run\" : 1"),
        Step::Nice(_) => "\"run\" : 1".to_owned(),
        Step::Cpus(mask) => match cpus(mask, genome.machine.cpus()) {
            Some(cpus) => format!("\"cpus\" : {cpus}, \"run\" : 1"),
            None => "\"run\" : 1".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_reads_like_a_workload_by_hand() {
        let genome = Genome {
            tasks: vec![
                Task { instances: 2, steps: vec![Step::Run(100), Step::Sleep(50)], ..Task::default() },
                Task { instances: 1, waker: Some(0), cpus: 1, steps: vec![Step::Yield], ..Task::default() },
            ],
            ..Genome::default()
        };
        let expected = r#"{
	"tasks" : {
		"t0" : {
			"instance" : 2, "loop" : -1,
			"phases" : {
				"p00" : { "run" : 100 },
				"p01" : { "sleep" : 50 },
				"p02" : { "evenkeel" : { "steps" : [{ "post" : "w1" }] } }
			}
		},
		"t1" : {
			"instance" : 1, "loop" : -1, "cpus" : [0],
			"phases" : {
				"p00" : { "evenkeel" : { "steps" : [{ "await" : "w1" }] } },
				"p01" : { "yield" : "" },
				"p02" : { "run" : 100 }
			}
		}
	}
}
"#;
        assert_eq!(workload(&genome.repaired(&[])), expected);
    }
}
