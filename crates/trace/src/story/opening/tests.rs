use super::*;
use crate::story::script::{Lines, records, snapshot, trimmed};

/// Checks the stream's beginning at 100 on four CPUs, the last of which is offline.
fn check(tasks: &str, events: &str, expected: &str) {
    let (mut story, mut lines) = (Story::new(100, 4), Lines::default());
    let offline: CpuSet = [CpuId(3)].into_iter().collect();
    open(&mut story, 100, &snapshot(tasks), &records(events), &offline, &mut lines);
    story.flush(&mut lines);
    assert_eq!(lines.text, "0 3 online 3 down\n".to_owned() + &trimmed(expected), "{tasks}\n{events}");
}

#[test]
fn without_records_the_snapshot_decides() {
    check(
        "A 1 A asleep
         B 2 B waiting 0
         C 3 C running 0
         D 4 D running 2",
        "",
        "0 task 0 3 C on 4 CPUs
         0 0 switch - idle C
         0 task 1 4 D on 4 CPUs
         0 2 switch - idle D
         0 task 2 2 B on 4 CPUs
         0 0 fork B 0 B",
    );
}

#[test]
fn the_first_record_of_a_task_shows_what_it_was_doing() {
    // The snapshot came after these.
    check(
        "A 1 A running 1
         B 2 B asleep
         C 3 C waiting 2",
        "110 0 switch B blocked -
         120 0 wakeup A 1 -
         130 1 switch - idle A
         140 0 migrate C 1 2",
        "0 task 0 2 B on 4 CPUs
         0 0 switch - idle B
         0 task 1 3 C on 4 CPUs
         0 1 fork C 1 C",
    );
}

#[test]
fn tasks_that_start_or_exit_meanwhile_are_in_order() {
    // D is new, E existed but has exited when the snapshot reaches it, F exited before the start.
    check(
        "A 1 A running 0
         D 4 D asleep",
        "90 0 first F 6 F
         95 0 switch F exited A
         105 2 first E 5 E
         110 0 first D 4 D
         110 0 fork D 1 A
         120 2 switch E exited -",
        "0 task 0 1 A on 4 CPUs
         0 0 switch - idle A
         0 task 1 5 E on 4 CPUs
         0 2 switch - idle E",
    );
}

#[test]
fn one_cpu_has_one_task() {
    // Two tasks claim CPU 0, because the snapshot took a while. The first switch decides, or else the first task.
    let tasks = "A 1 A running 0
                 B 2 B running 0";
    check(
        tasks,
        "",
        "0 task 0 1 A on 4 CPUs
         0 0 switch - idle A",
    );
    check(
        tasks,
        "110 0 switch B blocked -",
        "0 task 0 2 B on 4 CPUs
         0 0 switch - idle B",
    );
}
