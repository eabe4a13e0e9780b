//! A scheduler's output is recorded with the time, the CPU and the current task.

use crate::harness::*;

#[test]
fn a_line_has_its_task_cpu_and_time() {
    let run = with("tracer").cpus(1).task(hog("first")).task(hog("second")).millis(100).survives();
    let lines = &run.outcome.printed.lines;
    assert!(!lines.is_empty() && run.outcome.printed.dropped == 0);
    assert!(lines.windows(2).all(|pair| pair[0].cpu != pair[1].cpu || pair[0].at <= pair[1].at));
    let mut reported = 0;
    for line in lines.iter().filter(|line| line.text.starts_with("stopping ")) {
        // "op pid cpu value": a task that stops is still current.
        let words: Vec<u32> =
            line.text.split(' ').skip(1).take(2).map(|word| word.parse().unwrap()).collect();
        assert_eq!((line.pid.0, line.cpu.0), (words[0], words[1]), "{line:?}");
        assert!(["first", "second", "init"].contains(&&*line.task), "{line:?}");
        reported += 1;
    }
    assert!(reported > 0, "{}", run.log());
}
