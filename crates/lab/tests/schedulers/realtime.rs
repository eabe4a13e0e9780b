//! Hinted real-time tasks.

use crate::harness::{Spec, repeat, run, sleep};
use crate::scene::{hog, under};
use keel_abi::task::Hint;
use keel_abi::task::HintPolicy::{self, Fifo, Rr};

const ALL: [&str; 4] = ["goodness", "mq", "o1", "bsd"];
/// Schedulers that keep a task's place when it is preempted. `bsd` puts it behind its equals.
const KEEPING: &[&str] = ALL.split_at(3).0;

fn hinted(mut task: Spec, policy: HintPolicy, rt_priority: u8) -> Spec {
    task.0.hint = Some(Hint { rt_priority, policy });
    task
}

/// A task that works and sleeps, first come, first served.
fn fifo(name: &str, rt_priority: u8, us: [u64; 2]) -> Spec {
    hinted(repeat(name, [run(us[0]), sleep(us[1])]), Fifo, rt_priority)
}

#[test]
fn a_real_time_task_runs_at_once_wherever_there_is_something_lesser() {
    for scheduler in ALL {
        let scene = under(scheduler).cpus(4).task(hog("h").instances(12));
        let seen = scene.task(fifo("fifo50", 50, [3000, 5000]).instances(2)).millis(2000).run();
        assert!(seen.delay_us("fifo50", 99) < 100, "{scheduler}: {} us", seen.delay_us("fifo50", 99));
    }
}

#[test]
fn the_higher_priority_goes_first_and_fifo_tasks_do_not_take_turns() {
    for &scheduler in KEEPING {
        // The hog first: a task that begins while a hinted one runs has its hint.
        let scene = under(scheduler).task(hog("h")).task(hinted(hog("fifo10"), Fifo, 10).instances(2));
        let seen = scene.task(fifo("fifo90", 90, [1000, 9000])).millis(1000).run();
        assert!(seen.delay_us("fifo90", 99) < 100, "{scheduler}");
        assert!(seen.cpu_ms("h") < 20, "{scheduler}: {}", seen.cpu_ms("h"));
        // The scheduler chooses which of the two: 2.4 puts a new task before the running one.
        let tasks = seen.judgement.summary.tasks.iter().filter(|t| t.name == "fifo10");
        let mut times_ms: Vec<u64> = tasks.map(|task| task.cpu.as_ns() / 1_000_000).collect();
        times_ms.sort_unstable();
        assert!(times_ms[0] < 20 && times_ms[1] > 800, "{scheduler}: {times_ms:?}");
    }
}

#[test]
fn round_robin_tasks_take_turns() {
    for scheduler in ALL {
        let seen = under(scheduler).task(hinted(hog("rr10"), Rr, 10).instances(2)).millis(2000).run();
        for task in seen.judgement.summary.tasks.iter().filter(|t| t.name == "rr10") {
            assert!(task.cpu.as_ns() > 800_000_000, "{scheduler}: {}", task.cpu);
        }
    }
}
