//! Programs that published benchmarks ran, made to measure: `chat:10:20:100`, `lat-fork`.
//!
//! A name is the program's, its numbers after it, each behind a colon. Each program has a file of
//! its own, which tells where its numbers are from. No two passes of a real program take equally long: each
//! piece of work is drawn anew, up to a tenth shorter or longer, so that runs from other seeds differ.

mod buildworld;
mod chat;
mod crowd;
mod lat_proc;
mod lu;
mod make;
mod null;
mod r;
mod ring;
mod rt_migrate;
mod tpch;
mod yields;

use keel_abi::Span;
use keel_abi::task::{Amount, Step, TaskSpec, Workload};

/// A program that is asked for by name.
struct Program {
    /// How it is asked for: `chat:ROOMS:USERS:MESSAGES[:NICE]`.
    form: &'static str,
    /// One way to ask for it.
    example: &'static str,
    /// One line on it.
    about: &'static str,
    /// Makes it, where these numbers are right for it.
    make: fn(&[i64]) -> Option<Workload>,
}

impl Program {
    /// What its name begins with.
    fn word(&self) -> &'static str {
        self.form.split([':', '[']).next().unwrap_or_default()
    }
}

const PROGRAMS: &[Program] = &[
    Program {
        form: "yields:TASKS",
        example: "yields:16",
        about: "processes that do nothing but sched_yield() (loop_yield)",
        make: yields::workload,
    },
    Program {
        form: "chat:ROOMS:USERS:MESSAGES[:NICE]",
        example: "chat:10:20:20",
        about: "a chat server and its clients, four threads a user (chat_c)",
        make: chat::workload,
    },
    Program {
        form: "lat-fork",
        example: "lat-fork",
        about: "fork and exit, again and again (lmbench's lat_proc fork)",
        make: |numbers| numbers.is_empty().then(lat_proc::fork),
    },
    Program {
        form: "lat-exec",
        example: "lat-exec",
        about: "fork, execve and exit (lmbench's lat_proc exec)",
        make: |numbers| numbers.is_empty().then(lat_proc::exec),
    },
    Program {
        form: "lat-shell",
        example: "lat-shell",
        about: "a program started through a shell (lmbench's lat_proc shell)",
        make: |numbers| numbers.is_empty().then(lat_proc::shell),
    },
    Program {
        form: "make:JOBS[:FILES]",
        example: "make:4",
        about: "a build: compilers as processes, so many at once (0 for all), and a final link",
        make: make::workload,
    },
    Program {
        form: "buildworld:JOBS[:ROUNDS]",
        example: "buildworld:4",
        about: "FreeBSD's build of itself: small directories one after another, so many compilers at once",
        make: buildworld::workload,
    },
    Program {
        form: "ring:PROCESSES:KIB",
        example: "ring:2:16",
        about: "a token through pipes, each process with a working set (lmbench's lat_ctx)",
        make: ring::workload,
    },
    Program {
        form: "pipe",
        example: "pipe",
        about: "a byte to and fro through two pipes (lmbench's lat_pipe)",
        make: |numbers| numbers.is_empty().then(ring::pipe),
    },
    Program {
        form: "null",
        example: "null",
        about: "system calls that do nothing (lmbench's lat_syscall null)",
        make: |numbers| numbers.is_empty().then(null::workload),
    },
    Program {
        form: "rt-migrate:THREADS:LOCKS[:PI]",
        example: "rt-migrate:8:4:1",
        about: "SCHED_FIFO threads of a priority each that share locks; PI is 1 or 0 (Rostedt's test of 2010)",
        make: rt_migrate::workload,
    },
    Program {
        form: "lu:THREADS[:STEPS]",
        example: "lu:16:20",
        about: "LU of the NAS benchmarks: threads in a pipeline that spin for their neighbours and at barriers",
        make: lu::workload,
    },
    Program {
        form: "r[:SECONDS]",
        example: "r:20",
        about: "R on one thread: it computes, and rarely touches the disk",
        make: r::workload,
    },
    Program {
        form: "tpch[:QUERY[:BLOCKS]]",
        example: "tpch:18",
        about: "a database's 64 workers in three pools that wake each other, at one of TPC-H's queries or all (0)",
        make: tpch::workload,
    },
    Program {
        form: "crowd:TASKS",
        example: "crowd:1000",
        about: "so many tasks that always want a CPU, and 16 that wake often",
        make: crowd::workload,
    },
];

/// The program that a name such as `ring:8:64` asks for; `None` where it is no program's name. The error is
/// how to ask for it.
pub fn program(name: &str) -> Option<Result<Workload, String>> {
    let mut parts = name.split(':');
    let word = parts.next()?;
    let program = PROGRAMS.iter().find(|p| p.word() == word)?;
    let numbers: Option<Vec<i64>> = parts.map(|number| number.parse().ok()).collect();
    let made = numbers.and_then(|numbers| (program.make)(&numbers));
    Some(
        made.map(|made| Workload { name: name.to_owned(), ..uneven(made) })
            .ok_or_else(|| format!("'{name}': write {}, as in {}", program.form, program.example)),
    )
}

/// The same with work that is a tenth shorter or longer each time.
fn uneven(mut made: Workload) -> Workload {
    for step in made.tasks.iter_mut().flat_map(|task| &mut task.steps) {
        if let Step::Run(amount) = step {
            amount.spread = Span::from_ns(amount.base.as_ns() / 10);
        }
    }
    made
}

/// Each program: how it is asked for, an example, and one line on it.
pub fn programs() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    PROGRAMS.iter().map(|p| (p.form, p.example, p.about))
}

/// A number within these bounds.
fn within(number: i64, least: u32, most: u32) -> Option<u32> {
    u32::try_from(number).ok().filter(|n| (least..=most).contains(n))
}

/// A task that does these steps.
fn task(name: &str, instances: u32, steps: Vec<Step>) -> TaskSpec {
    TaskSpec { name: name.to_owned(), instances, steps, ..TaskSpec::default() }
}

/// Work of this length.
const fn run_us(us: u64) -> Step {
    Step::Run(Amount::fixed(Span::from_us(us)))
}

/// Goes back to `to` until it was passed `times` times.
const fn again(to: u32, times: Option<u32>, slot: u8) -> Step {
    Step::Loop { to, times, slot }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_made_and_wrong_numbers_are_told() {
        for p in PROGRAMS {
            let made = program(p.example).unwrap_or_else(|| panic!("{}", p.example)).unwrap();
            assert_eq!(made.name, p.example);
            assert!(!made.unit.is_empty() && made.tasks.iter().any(|t| t.steps.contains(&Step::Count)));
        }
        let check = |name, expected: Option<&str>| {
            assert_eq!(program(name).map(|made| made.err().unwrap_or_default()).as_deref(), expected);
        };
        check("hogs", None);
        check("yields:0", Some("'yields:0': write yields:TASKS, as in yields:16"));
        check("null:1", Some("'null:1': write null, as in null"));
        check("ring:2:x", Some("'ring:2:x': write ring:PROCESSES:KIB, as in ring:2:16"));
        for bad in
            ["yields", "chat:1:2", "chat:1:2:3:20", "chat:9999:9999:1", "make:1:0", "ring:0:1", "pipe:", ""]
        {
            assert!(program(bad).is_none_or(|made| made.is_err()), "{bad}");
        }
    }

    #[test]
    fn steps_refer_to_what_there_is() {
        for p in PROGRAMS {
            let made = program(p.example).and_then(Result::ok).unwrap();
            for step in made.tasks.iter().flat_map(|t| &t.steps) {
                match step {
                    Step::Send { channel, bytes } | Step::Receive { channel, bytes } => {
                        assert!((channel.0 as usize) < made.channels.len() && *bytes > 0, "{}", p.example);
                    }
                    Step::Raise(flag) | Step::Lower(flag) => assert!(flag.0 < made.flags, "{}", p.example),
                    Step::Barrier(id) | Step::SpinBarrier { barrier: id, .. } => {
                        assert!(made.barriers[id.0 as usize] > 0, "{}", p.example);
                    }
                    Step::Spawn(spec) | Step::Fork(spec) => {
                        assert!((*spec as usize) < made.tasks.len(), "{}", p.example);
                    }
                    _ => {}
                }
            }
        }
    }
}
