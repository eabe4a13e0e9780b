//! Hinted real-time tasks. The objects here are the built-in ones, but for where hints come from: a
//! task's name.

use crate::harness::{repeat, run, sleep};
use crate::scene::{Scene, hog, under_source};

const BOTH: [&str; 2] = ["goodness_realtime", "o1_realtime"];

fn under_hints(scheduler: &str) -> Scene {
    under_source(&format!("tests/sim/realtime/{scheduler}"))
}

#[test]
fn a_real_time_task_runs_at_once_wherever_there_is_something_lesser() {
    for scheduler in BOTH {
        let scene = under_hints(scheduler).cpus(4).task(hog("h").instances(12));
        let seen = scene.task(repeat("fifo50", [run(3000), sleep(5000)]).instances(2)).millis(2000).run();
        assert!(seen.delay_us("fifo50", 99) < 100, "{scheduler}: {} us", seen.delay_us("fifo50", 99));
    }
}

#[test]
fn the_higher_priority_goes_first_and_fifo_tasks_do_not_take_turns() {
    for scheduler in BOTH {
        let scene = under_hints(scheduler).task(hog("fifo10").instances(2)).task(hog("h"));
        let seen = scene.task(repeat("fifo90", [run(1000), sleep(9000)])).millis(1000).run();
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
    for scheduler in BOTH {
        let seen = under_hints(scheduler).task(hog("rr10").instances(2)).millis(2000).run();
        for task in seen.judgement.summary.tasks.iter().filter(|t| t.name == "rr10") {
            assert!(task.cpu.as_ns() > 800_000_000, "{scheduler}: {}", task.cpu);
        }
    }
}
