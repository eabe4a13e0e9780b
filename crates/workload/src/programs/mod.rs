//! Models of the programs that published benchmarks ran: `chat:10:20:100`, `lat-fork`.
//!
//! A name is the program's name followed by its numbers, separated by colons. Each program has its own file, which says
//! where its numbers come from. No two passes of a real program take equally long, so the length of each piece of work
//! is drawn again, up to a tenth shorter or longer, and runs with other seeds differ.

mod buildworld;
mod chat;
mod crowd;
mod hackbench;
mod lat_proc;
mod lu;
mod make;
mod null;
mod r;
mod ring;
mod rt_migrate;
mod schbench;
mod tpch;
mod yields;

use crate::generators::Generator;
use crate::limits::{Limit, NICE, limit};
use keel_abi::Span;
use keel_abi::task::{Amount, Step, TaskSpec, Workload};

/// A program, chosen by name.
struct Program {
    generator: Generator,
    /// Makes the workload, if these numbers are valid.
    make: fn(&[i64]) -> Option<Workload>,
}

impl Program {
    /// Returns the first word of its name.
    fn word(&self) -> &'static str {
        self.generator.form.split([':', '[']).next().unwrap_or_default()
    }
}

/// Creates a program's entry. `limits` are the valid ranges of its numbers.
const fn entry(
    form: &'static str,
    example: &'static str,
    about: &'static str,
    limits: &'static [Limit],
    make: fn(&[i64]) -> Option<Workload>,
) -> Program {
    Program { generator: Generator { form, example, about, limits, beside: "" }, make }
}

const PROGRAMS: &[Program] = &[
    entry(
        "yields:TASKS",
        "yields:16",
        "processes that do nothing but sched_yield() (loop_yield)",
        &[limit("TASKS", 1, 100_000)],
        yields::workload,
    ),
    Program {
        generator: Generator {
            form: "chat:ROOMS:USERS:MESSAGES[:NICE[:SERVER_NICE]]",
            example: "chat:10:20:20",
            about: "a chat server and its clients, four threads a user (chat_c)",
            limits: &[
                limit("ROOMS", 1, 10_000),
                limit("USERS", 1, 1_000),
                limit("MESSAGES", 1, 1_000_000),
                NICE,
                limit("SERVER_NICE", -20, 19),
            ],
            beside: "ROOMS x USERS is at most 10,000, ROOMS x USERS x USERS at most 1,000,000",
        },
        make: chat::workload,
    },
    entry(
        "lat-fork",
        "lat-fork",
        "fork and exit, again and again (lmbench's lat_proc fork)",
        &[],
        |numbers| numbers.is_empty().then(lat_proc::fork),
    ),
    entry("lat-exec", "lat-exec", "fork, execve and exit (lmbench's lat_proc exec)", &[], |numbers| {
        numbers.is_empty().then(lat_proc::exec)
    }),
    entry(
        "lat-shell",
        "lat-shell",
        "a program started through a shell (lmbench's lat_proc shell)",
        &[],
        |numbers| numbers.is_empty().then(lat_proc::shell),
    ),
    entry(
        "make:JOBS[:FILES]",
        "make:4",
        "a build: up to JOBS compiler processes at a time (0: all at once), and a final link",
        &[limit("JOBS", 0, 100_000), limit("FILES", 1, 100_000)],
        make::workload,
    ),
    entry(
        "buildworld:JOBS[:ROUNDS]",
        "buildworld:4",
        "FreeBSD's build of itself: small directories in sequence, up to JOBS compilers at a time",
        &[limit("JOBS", 1, 100_000), limit("ROUNDS", 1, 10_000)],
        buildworld::workload,
    ),
    entry(
        "ring:PROCESSES:KIB",
        "ring:2:16",
        "a token through pipes, each process with a working set (lmbench's lat_ctx)",
        &[limit("PROCESSES", 1, 10_000), limit("KIB", 0, 1 << 20)],
        ring::workload,
    ),
    entry("pipe", "pipe", "a byte back and forth through two pipes (lmbench's lat_pipe)", &[], |numbers| {
        numbers.is_empty().then(ring::pipe)
    }),
    entry(
        "context1:PAIRS",
        "context1:8",
        "pairs of processes that send four bytes back and forth (UnixBench's pipe-based context switching)",
        &[limit("PAIRS", 1, 10_000)],
        ring::context1,
    ),
    Program {
        generator: Generator {
            form: "reflex:TASKS",
            example: "reflex:16",
            about: "pairs of threads that hand a token back and forth through pipes (Nagar's reflex)",
            limits: &[limit("TASKS", 2, 10_000)],
            beside: "TASKS is even",
        },
        make: ring::reflex,
    },
    entry(
        "hackbench:GROUPS[:LOOPS]",
        "hackbench:2:10",
        "groups of 20 processes that send messages to 20 others through sockets (rt-tests' hackbench)",
        &[limit("GROUPS", 1, 250), limit("LOOPS", 1, 1_000_000)],
        hackbench::workload,
    ),
    entry(
        "schbench:MESSENGERS:WORKERS",
        "schbench:2:16",
        "threads that compute and wait for answers, which message threads give to all at once (schbench)",
        &[limit("MESSENGERS", 1, 1_000), limit("WORKERS", 1, 1_000)],
        schbench::workload,
    ),
    entry("null", "null", "system calls that do nothing (lmbench's lat_syscall null)", &[], |numbers| {
        numbers.is_empty().then(null::workload)
    }),
    entry(
        "rt-migrate:THREADS:LOCKS[:PI]",
        "rt-migrate:8:4:1",
        "SCHED_FIFO threads of different priorities that share locks; PI is 1 or 0 (Rostedt's test of 2010)",
        &[limit("THREADS", 1, 98), limit("LOCKS", 1, 1_000), limit("PI", 0, 1)],
        rt_migrate::workload,
    ),
    entry(
        "lu:THREADS[:STEPS]",
        "lu:16:20",
        "LU of the NAS benchmarks: threads in a pipeline that spin for their neighbours and at barriers",
        &[limit("THREADS", 1, 100), limit("STEPS", 1, 1_000_000)],
        lu::workload,
    ),
    entry(
        "r[:SECONDS]",
        "r:20",
        "R on one thread: it computes, and rarely touches the disk",
        &[limit("SECONDS", 1, 1_000_000)],
        r::workload,
    ),
    entry(
        "tpch[:QUERY[:BLOCKS]]",
        "tpch:18",
        "64 database workers in three pools that wake each other, running one TPC-H query or all (0)",
        &[limit("QUERY", 0, 22), limit("BLOCKS", 1, 100_000)],
        tpch::workload,
    ),
    entry(
        "crowd:TASKS",
        "crowd:1000",
        "TASKS tasks that are always runnable, and 16 that wake often",
        &[limit("TASKS", 1, 1_000_000)],
        crowd::workload,
    ),
];

/// Makes the workload for a name such as `ring:8:64`. Returns `None` if it is not a program's name. The error explains
/// the syntax.
pub fn program(name: &str) -> Option<Result<Workload, String>> {
    let mut parts = name.split(':');
    let word = parts.next()?;
    let program = PROGRAMS.iter().find(|p| p.word() == word)?;
    let numbers: Option<Vec<i64>> = parts.map(|number| number.parse().ok()).collect();
    let made = numbers.and_then(|numbers| (program.make)(&numbers));
    Some(
        made.map(|made| Workload { name: name.to_owned(), ..uneven(made) })
            .ok_or_else(|| program.generator.refusal(name)),
    )
}

/// Makes each piece of work up to a tenth shorter or longer each time.
fn uneven(mut made: Workload) -> Workload {
    for step in made.tasks.iter_mut().flat_map(|task| &mut task.steps) {
        if let Step::Run(amount) = step {
            amount.spread = Span::from_ns(amount.base.as_ns() / 10);
        }
    }
    made
}

/// Returns all programs.
pub fn programs() -> impl Iterator<Item = Generator> {
    PROGRAMS.iter().map(|p| p.generator)
}

/// Returns the number if it is within these bounds.
fn within(number: i64, least: u32, most: u32) -> Option<u32> {
    u32::try_from(number).ok().filter(|n| (least..=most).contains(n))
}

/// Returns a task that executes these steps.
fn task(name: &str, instances: u32, steps: Vec<Step>) -> TaskSpec {
    TaskSpec { name: name.to_owned(), instances, steps, ..TaskSpec::default() }
}

/// Returns work of this length.
const fn run_us(us: u64) -> Step {
    Step::Run(Amount::fixed(Span::from_us(us)))
}

/// Returns the end of a loop from step `to` that is executed `times` times.
const fn again(to: u32, times: Option<u32>, slot: u8) -> Step {
    Step::Loop { to, times, slot }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_generated_and_wrong_numbers_are_refused() {
        for p in PROGRAMS {
            let made =
                program(p.generator.example).unwrap_or_else(|| panic!("{}", p.generator.example)).unwrap();
            assert_eq!(made.name, p.generator.example);
            assert!(!made.unit.is_empty() && made.tasks.iter().any(|t| t.steps.contains(&Step::Count)));
        }
        let check = |name, expected: Option<&str>| {
            assert_eq!(program(name).map(|made| made.err().unwrap_or_default()).as_deref(), expected);
        };
        check("hogs", None);
        check("yields:0", Some("'yields:0': write yields:TASKS, as in yields:16; TASKS is 1 to 100,000"));
        check("null:1", Some("'null:1': write null, as in null"));
        let ring = "write ring:PROCESSES:KIB, as in ring:2:16; PROCESSES is 1 to 10,000, KIB 0 to 1,048,576";
        check("ring:2:x", Some(&format!("'ring:2:x': {ring}")));
        for bad in
            ["yields", "chat:1:2", "chat:1:2:3:20", "chat:9999:9999:1", "make:1:0", "ring:0:1", "pipe:", ""]
        {
            assert!(program(bad).is_none_or(|made| made.is_err()), "{bad}");
        }
    }

    #[test]
    fn steps_refer_to_what_there_is() {
        for p in PROGRAMS {
            let made = program(p.generator.example).and_then(Result::ok).unwrap();
            for step in made.tasks.iter().flat_map(|t| &t.steps) {
                match step {
                    Step::Send { channel, bytes } | Step::Receive { channel, bytes } => {
                        assert!(
                            (channel.0 as usize) < made.channels.len() && *bytes > 0,
                            "{}",
                            p.generator.example
                        );
                    }
                    Step::Post { semaphore, .. } | Step::Await(semaphore) => {
                        assert!(semaphore.0 < made.semaphores, "{}", p.generator.example);
                    }
                    Step::Raise(flag) | Step::Lower(flag) => {
                        assert!(flag.0 < made.flags, "{}", p.generator.example)
                    }
                    Step::Barrier(id) | Step::SpinBarrier { barrier: id, .. } => {
                        assert!(made.barriers[id.0 as usize] > 0, "{}", p.generator.example);
                    }
                    Step::Spawn(spec) | Step::Fork(spec) => {
                        assert!((*spec as usize) < made.tasks.len(), "{}", p.generator.example);
                    }
                    _ => {}
                }
            }
        }
    }
}
