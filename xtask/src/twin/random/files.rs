//! A workload as files: for the guest, a file of rt-app for each process, and the script that starts them; and a file
//! for the simulated kernel.

use super::workload::{Body, Class, Task, Workload};
use std::fmt::Write;

/// How long a workload lasts.
pub(super) const RUN_S: u32 = 4;

/// The folder of the guest's cgroups.
const CGROUPS: &str = "/sys/fs/cgroup";

/// rt-app's own CPU time, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RtApp {
    /// After it has kept a CPU busy.
    pub(super) between_us: u32,
    /// Its main thread, before the first thread: work and wait.
    pub(super) main_us: u32,
    pub(super) main_waits_us: u32,
    /// Its main thread, before it makes a thread.
    pub(super) apart_us: u32,
    /// A new thread, before it waits for the others.
    pub(super) before_us: u32,
    /// A thread, from then until it begins.
    pub(super) after_us: u32,
    /// A process that the player has just forked: the page faults of its first steps, and those of its exit.
    pub(super) child_us: u32,
}

/// A file and its contents.
pub(super) type File = (String, String);

/// What rt-app's files and keel's have in common.
fn global(text: &mut String) {
    write!(
        text,
        "\t\"global\": {{\"duration\": {RUN_S}, \"calibration\": 1000, \"default_policy\": \"SCHED_OTHER\", \
         \"lock_pages\": false}}\n}}\n"
    )
    .expect("a string takes all");
}

/// Groups tasks by process: those of one cgroup, or of no cgroup.
fn processes(workload: &Workload) -> Vec<(Option<usize>, Vec<&Task>)> {
    let groups = std::iter::once(None).chain((0..workload.groups.len()).map(Some));
    let of = |group| workload.tasks.iter().filter(move |task| task.group == group && !task.body.is_played());
    groups
        .map(|group| (group, of(group).collect()))
        .filter(|(_, tasks): &(_, Vec<_>)| !tasks.is_empty())
        .collect()
}

/// The guest's files: rt-app's, and `start.sh`, which returns when the workload has ended.
pub(super) fn real(workload: &Workload, player: &str) -> Vec<File> {
    let mut files = Vec::new();
    let mut script = String::from(
        "# Starts a drawn workload and waits for its end. Logs are left where it stands.\nat=${0%/*}\n",
    );
    for (group, weight) in workload.groups.iter().enumerate() {
        writeln!(script, "mkdir -p {CGROUPS}/{0} && echo {weight} > {CGROUPS}/{0}/cpu.weight", path(group))
            .expect("a string takes all");
    }
    for (group, tasks) in processes(workload) {
        let name = group.map_or("root".to_owned(), path);
        let enter = group.map_or(String::new(), |g| format!("echo 0 > {CGROUPS}/{}/cgroup.procs; ", path(g)));
        writeln!(script, "({enter}exec rt-app $at/{name}.json > /dev/null) &").expect("a string takes all");
        files.push((format!("{name}.json"), rt_app(&tasks)));
    }
    for task in &workload.tasks {
        if let Some(words) = played(task, workload) {
            writeln!(script, "{player} {RUN_S} {words} &").expect("a string takes all");
        }
    }
    script += "wait\n";
    for group in 0..workload.groups.len() {
        writeln!(script, "rmdir {CGROUPS}/{}", path(group)).expect("a string takes all");
    }
    files.push(("start.sh".to_owned(), script));
    files
}

fn path(group: usize) -> String {
    format!("group{}", group + 1)
}

fn rt_app(tasks: &[&Task]) -> String {
    let lines: Vec<String> = tasks.iter().map(|task| line(task, "", 0)).collect();
    let mut text = format!("{{\n\t\"tasks\": {{\n{}\n\t}},\n", lines.join(",\n"));
    global(&mut text);
    text
}

/// The player's arguments, for the first task of each pair.
fn played(task: &Task, workload: &Workload) -> Option<String> {
    let name = &task.name;
    match &task.body {
        Body::Sender { pipe, run_us, sleep_us } => {
            workload.tasks.iter().find_map(|other| match &other.body {
                Body::Receiver { pipe: same, run_us: taken_us } if same == pipe => {
                    Some(format!("pipe {name} {run_us} {sleep_us} {} {taken_us}", other.name))
                }
                _ => None,
            })
        }
        Body::Parent { child, sleep_us } => workload.tasks.iter().find_map(|other| match &other.body {
            Body::Child { run_us } if other.name == *child => {
                Some(format!("fork {name} {sleep_us} {child} {run_us}"))
            }
            _ => None,
        }),
        _ => None,
    }
}

/// The workload as `keel sim` reads it: the tasks of all processes.
pub(super) fn simulated(workload: &Workload, own: RtApp) -> String {
    let mut text = String::from("{\n");
    let RtApp { between_us, main_us, main_waits_us, apart_us, before_us, after_us, child_us } = own;
    let mut extensions = Vec::new();
    if apart_us + before_us + after_us > 0 {
        extensions.push(format!(
            "\"starter\": {{\"main_us\": {main_us}, \"main_waits_us\": {main_waits_us}, \"apart_us\": {apart_us}, \"before_us\": {before_us}, \"after_us\": {after_us}}}"
        ));
    }
    if !workload.groups.is_empty() {
        let groups = workload.groups.iter().enumerate();
        let groups: Vec<_> =
            groups.map(|(at, weight)| format!("\"/{}\": {{\"weight\": {weight}}}", path(at))).collect();
        extensions.push(format!("\"cgroups\": {{{}}}", groups.join(", ")));
    }
    let pipes = workload.tasks.iter().filter_map(|task| match &task.body {
        Body::Sender { pipe, .. } => Some(format!("\"{pipe}\": {{\"kind\": \"pipe\", \"bytes\": 65536}}")),
        _ => None,
    });
    let pipes: Vec<_> = pipes.collect();
    if !pipes.is_empty() {
        extensions.push(format!("\"channels\": {{{}}}", pipes.join(", ")));
    }
    if !extensions.is_empty() {
        writeln!(text, "\t\"evenkeel\": {{{}}},", extensions.join(", ")).expect("a string takes all");
    }
    let order = processes(workload).into_iter().flat_map(|(_, tasks)| tasks);
    let played = workload.tasks.iter().filter(|task| task.body.is_played());
    let lines: Vec<_> = order
        .map(|task| line(task, &rt_app_extension(task), between_us))
        .chain(played.enumerate().map(|(at, task)| line(task, &played_extension(task, at, child_us), 0)))
        .collect();
    writeln!(text, "\t\"tasks\": {{\n{}\n\t}},", lines.join(",\n")).expect("a string takes all");
    global(&mut text);
    text
}

/// What keel reads about an rt-app task besides its events.
fn rt_app_extension(task: &Task) -> String {
    let group =
        task.group.map(|group| format!("\"process\": {}, \"cgroup\": \"/{}\"", group + 1, path(group)));
    group.map_or(String::new(), |group| format!("\"evenkeel\": {{{group}}}"))
}

/// What keel reads about a task of the player: a process of its own, and the events between its times.
fn played_extension(task: &Task, at: usize, child_us: u32) -> String {
    let steps = match &task.body {
        Body::Child { .. } if child_us > 0 => return format!("\"run\": {child_us}"),
        Body::Sender { pipe, .. } => format!("{{\"send\": {{\"channel\": \"{pipe}\", \"bytes\": 64}}}}"),
        Body::Receiver { pipe, .. } => format!("{{\"receive\": {{\"channel\": \"{pipe}\", \"bytes\": 64}}}}"),
        Body::Parent { child, .. } => format!("{{\"spawn\": \"{child}\"}}, \"wait_child\""),
        _ => return String::new(),
    };
    format!("\"evenkeel\": {{\"process\": {}, \"steps\": [{steps}]}}", 10 + at)
}

/// A task's line, without the separators. An extension is at the place of its steps.
fn line(task: &Task, extension: &str, between_us: u32) -> String {
    let mut fields = Vec::new();
    let instances = if matches!(task.body, Body::Child { .. }) { 0 } else { task.instances };
    if instances != 1 {
        fields.push(format!("\"instance\": {instances}"));
    }
    fields.push(format!("\"loop\": {}", if instances == 0 { 1 } else { -1 }));
    match task.class {
        Class::Other(0) => {}
        Class::Other(nice) => fields.push(format!("\"priority\": {nice}")),
        Class::Fifo(priority) => fields.push(format!("\"policy\": \"SCHED_FIFO\", \"priority\": {priority}")),
        Class::RoundRobin(priority) => {
            fields.push(format!("\"policy\": \"SCHED_RR\", \"priority\": {priority}"))
        }
    }
    if !task.cpus.is_empty() {
        let cpus: Vec<_> = task.cpus.iter().map(u32::to_string).collect();
        fields.push(format!("\"cpus\": [{}]", cpus.join(", ")));
    }
    fields.extend(events(task, extension, between_us).into_iter().filter(|event| !event.is_empty()));
    format!("\t\t\"{}\": {{{}}}", task.name, fields.join(", "))
}

/// The same events once more in a task. Their keys get a number.
fn nth(events: String, number: u32) -> String {
    events
        .replace("\"runtime\"", &format!("\"runtime{number}\""))
        .replace("\"run\"", &format!("\"run{number}\""))
}

/// A task's events, in order.
fn events(task: &Task, extension: &str, between_us: u32) -> Vec<String> {
    let run = |us: &u32| match between_us {
        0 => format!("\"runtime\": {us}"),
        own => format!("\"runtime\": {us}, \"run\": {own}"),
    };
    let sleep = |us: &u32| format!("\"sleep\": {us}");
    let extension = extension.to_owned();
    match &task.body {
        Body::Hog => vec![extension, run(&100_000)],
        Body::Sleeper { run_us, sleep_us } => vec![extension, run(run_us), sleep(sleep_us)],
        Body::Timer { run_us, period_us } => {
            let timer = format!("\"timer\": {{\"ref\": \"unique\", \"period\": {period_us}}}");
            vec![extension, run(run_us), timer]
        }
        Body::Locker { lock, run_us, held_us, sleep_us } => vec![
            extension,
            format!("{}, \"lock\": \"{lock}\"", nth(run(run_us), 1)),
            format!("{}, \"unlock\": \"{lock}\"", nth(run(held_us), 2)),
            sleep(sleep_us),
        ],
        Body::Giver { to, run_us, sleep_us } => {
            vec![extension, run(run_us), format!("\"resume\": \"{to}\""), sleep(sleep_us)]
        }
        Body::Taker { run_us } => vec![extension, format!("\"suspend\": \"{}\"", task.name), run(run_us)],
        Body::Member { barrier, run_us, sleep_us } => {
            vec![extension, run(run_us), format!("\"barrier\": \"{barrier}\""), sleep(sleep_us)]
        }
        Body::Sender { run_us, sleep_us, .. } => vec![run(run_us), extension, sleep(sleep_us)],
        Body::Receiver { run_us, .. } => vec![extension, run(run_us)],
        Body::Parent { sleep_us, .. } => vec![extension, sleep(sleep_us)],
        Body::Child { run_us } => vec![extension, run(run_us)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::twin::random::shape::Shape;
    use crate::twin::random::workload::Level;

    fn task(name: &str, class: Class, group: Option<usize>, body: Body) -> Task {
        Task { name: name.to_owned(), instances: 1, class, cpus: Vec::new(), group, body }
    }

    #[test]
    fn a_workload_becomes_files_for_both_kernels() {
        let sleeper = Body::Sleeper { run_us: 5_000, sleep_us: 9_000 };
        let hog =
            Task { instances: 2, cpus: vec![0, 1], ..task("hog1", Class::Other(5), Some(0), Body::Hog) };
        let tasks = vec![
            hog,
            task("urgent1", Class::Fifo(7), None, sleeper),
            task("taker1", Class::Other(0), None, Body::Taker { run_us: 4_000 }),
            task("parent1", Class::Other(0), None, Body::Parent { child: "child1".into(), sleep_us: 6_000 }),
            task("child1", Class::Other(0), None, Body::Child { run_us: 7_000 }),
        ];
        let shape = Shape { cpus: 4, nodes: 1 };
        let workload = Workload { level: Level::Light, shape, groups: vec![300], tasks };
        let end = "\t\"global\": {\"duration\": 4, \"calibration\": 1000, \"default_policy\": \"SCHED_OTHER\", \
                   \"lock_pages\": false}\n}\n";
        let root = "{\n\t\"tasks\": {\n\
            \t\t\"urgent1\": {\"loop\": -1, \"policy\": \"SCHED_FIFO\", \"priority\": 7, \"runtime\": 5000, \"sleep\": 9000},\n\
            \t\t\"taker1\": {\"loop\": -1, \"suspend\": \"taker1\", \"runtime\": 4000}\n\t},\n";
        let group = "{\n\t\"tasks\": {\n\
            \t\t\"hog1\": {\"instance\": 2, \"loop\": -1, \"priority\": 5, \"cpus\": [0, 1], \"runtime\": 100000}\n\t},\n";
        let script = "# Starts a drawn workload and waits for its end. Logs are left where it stands.\nat=${0%/*}\n\
            mkdir -p /sys/fs/cgroup/group1 && echo 300 > /sys/fs/cgroup/group1/cpu.weight\n\
            (exec rt-app $at/root.json > /dev/null) &\n\
            (echo 0 > /sys/fs/cgroup/group1/cgroup.procs; exec rt-app $at/group1.json > /dev/null) &\n\
            player 4 fork parent1 6000 child1 7000 &\nwait\nrmdir /sys/fs/cgroup/group1\n";
        let expected = [
            ("root.json", format!("{root}{end}")),
            ("group1.json", format!("{group}{end}")),
            ("start.sh", script.to_owned()),
        ];
        assert_eq!(real(&workload, "player"), expected.map(|(name, text)| (name.to_owned(), text)));
        let simulated = simulated(&workload, RtApp::default());
        for part in [
            "\"evenkeel\": {\"cgroups\": {\"/group1\": {\"weight\": 300}}},\n",
            "\"cpus\": [0, 1], \"evenkeel\": {\"process\": 1, \"cgroup\": \"/group1\"}, \"runtime\": 100000}",
            "\"parent1\": {\"loop\": -1, \"evenkeel\": {\"process\": 10, \"steps\": [{\"spawn\": \"child1\"}, \"wait_child\"]}, \"sleep\": 6000}",
            "\"child1\": {\"instance\": 0, \"loop\": 1, \"runtime\": 7000}",
        ] {
            assert!(simulated.contains(part), "{part} is not in {simulated}");
        }
    }
}
