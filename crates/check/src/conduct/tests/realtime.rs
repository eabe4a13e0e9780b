use super::*;

const INVERTED: Kind = Kind::PriorityInversion;
const MISPLACED: Kind = Kind::MisplacedRealtime;

/// B is urgent and waits on CPU 0 from 1 ms on; A runs there, C on CPU 1.
fn scene(a: i16, c: i16, then: &str) -> String {
    format!(
        "0    0 prio A {a}
         0    0 prio B 50
         0    0 prio C {c}
         0    0 fork A 0
         0    0 switch - idle A
         0    1 fork C 1
         0    1 switch - idle C
         1000 0 fork B 0
         {then}"
    )
}

const LATER: &str = "4000 0 switch A preempted B\n5000 end";

#[test]
fn something_less_urgent_on_its_cpu_inverts() {
    let text = "real-time task task-b (pid 1001) waited on CPU 0 for 3.00 ms while less urgent task task-a (pid 1000) ran there";
    check(2, &scene(120, 10, LATER), INVERTED, &[text]);
    check(2, &scene(120, 10, LATER), MISPLACED, &[]);
    // Equally urgent, more urgent, and only for a moment.
    check(2, &scene(50, 10, LATER), INVERTED, &[]);
    check(2, &scene(10, 10, LATER), INVERTED, &[]);
    check(2, &scene(120, 10, "2000 0 switch A preempted B\n5000 end"), INVERTED, &[]);
}

#[test]
fn a_task_is_misplaced_while_a_less_urgent_one_runs_elsewhere() {
    let text = "real-time task task-b (pid 1001) waited on CPU 0 for 3.00 ms while CPU 1, which it may use, ran less urgent task \
                task-c (pid 1002)";
    check(2, &scene(10, 120, LATER), MISPLACED, &[text]);
    check(2, &scene(10, 120, LATER), INVERTED, &[]);
    let idle =
        "real-time task task-b (pid 1001) waited on CPU 0 for 2.50 ms while CPU 1, which it may use, idled";
    let goes = format!("1500 1 switch C blocked -\n{LATER}");
    check(2, &scene(10, 10, &goes), MISPLACED, &[idle]);
    check(2, &scene(10, 50, LATER), MISPLACED, &[]);
    check(2, &scene(10, 120, "2000 0 switch A preempted B\n5000 end"), MISPLACED, &[]);
}

#[test]
fn what_it_may_not_use_or_is_not_there_does_not_count() {
    check(2, &format!("0 may B 0\n{}", scene(10, 120, LATER)), MISPLACED, &[]);
    check(2, &scene(10, 10, &format!("1100 1 switch C blocked -\n1100 0 off 1\n{LATER}")), MISPLACED, &[]);
    let unknown = |what: &str, a| format!("0 unknown {what}\n{}", scene(a, 120, LATER));
    check(2, &unknown("affinity", 10), MISPLACED, &[]);
    assert_eq!(found(Limits::default(), 2, &unknown("affinity", 120), INVERTED).len(), 1);
    assert_eq!(found(Limits::default(), 2, &unknown("throttling", 120), INVERTED).len(), 1);
    let deadline = |lines: String| lines.replace("prio B 50", "prio B -1");
    check(2, &deadline(unknown("throttling", 120)), INVERTED, &[]);
    assert_eq!(found(Limits::default(), 2, &deadline(scene(120, 10, LATER)), INVERTED).len(), 1);
}

#[test]
fn unknown_priorities_are_not_guessed() {
    let lines = "0 0 prio B 50\n0 0 fork A 0\n0 0 switch - idle A\n0 1 fork C 1\n0 1 switch - idle C\n1000 0 fork B 0\n";
    check(2, &format!("{lines}{LATER}"), INVERTED, &[]);
    check(2, &format!("{lines}{LATER}"), MISPLACED, &[]);
}

#[test]
fn an_inherited_priority_ends_an_inversion() {
    check(2, &scene(120, 10, &format!("1900 0 prio A 50\n{LATER}")), INVERTED, &[]);
    let text = "real-time task task-b (pid 1001) waited on CPU 0 for 2.00 ms while less urgent task task-a (pid 1000) ran there";
    check(2, &scene(50, 10, &format!("2000 0 prio A 120\n{LATER}")), INVERTED, &[text]);
}

#[test]
fn the_owner_of_a_mutex_that_does_not_run_inverts() {
    let lines = |owner: i16| {
        format!(
            "0     0 prio A {owner}
             0     0 prio B 50
             0     0 prio C 40
             0     0 fork A 0
             0     0 switch - idle A
             1000  0 fork B 0
             1000  0 switch A preempted B
             2000  0 awaits B 7 A
             2000  0 switch B blocked A
             3000  0 fork C 0
             3000  0 switch A preempted C
             9000  0 switch C blocked A
             10000 0 wake B 0 A
             10000 0 switch A preempted B
             12000 0 switch B blocked A
             20000 end"
        )
    };
    let text = "real-time task task-b (pid 1001) waited 8.00 ms for a mutex of less urgent task task-a (pid \
                1000), which did not run for 6.00 ms of that";
    check(1, &lines(120), INVERTED, &[text]);
    check(1, &lines(50), INVERTED, &[]);
}

#[test]
fn one_whose_own_cpu_idles_is_about_to_run_there() {
    let goes = format!("1500 0 switch A blocked -\n{LATER}")
        .replace("4000 0 switch A preempted B", "4000 0 switch - idle B");
    check(2, &scene(10, 120, &goes), MISPLACED, &[]);
    check(
        2,
        &scene(10, 120, &goes.replace("1500", "3500")),
        MISPLACED,
        &[
            "real-time task task-b (pid 1001) waited on CPU 0 for 2.50 ms while CPU 1, which it may use, ran less urgent task task-c (pid 1002)",
        ],
    );
}
