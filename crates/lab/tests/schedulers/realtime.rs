//! Hinted real-time tasks.

use crate::harness::{Spec, repeat, run, sleep};
use crate::scene::{hog, under};
use keel_abi::task::Hint;
use keel_abi::task::HintPolicy::{self, Fifo, Rr};

const ALL: [&str; 4] = ["goodness", "mq", "o1", "bsd"];
/// Those that keep a task's place when it is preempted; `bsd` puts it behind its equals.
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
        let scene = under(scheduler).task(hinted(hog("fifo10"), Fifo, 10).instances(2)).task(hog("h"));
        let seen = scene.task(fifo("fifo90", 90, [1000, 9000])).millis(1000).run();
        assert!(seen.delay_us("fifo90", 99) < 100, "{scheduler}");
        assert_eq!(seen.cpu_ms("h"), 0, "{scheduler}");
        let first = seen.ids("fifo10")[0];
        let times = seen.judgement.summary.tasks.iter().filter(|t| t.name == "fifo10");
        for task in times {
            assert_eq!(task.task == first, task.cpu.as_ns() > 800_000_000, "{scheduler}");
        }
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
