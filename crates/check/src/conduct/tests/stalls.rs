use super::*;

#[test]
fn a_cpu_that_does_not_switch_while_somebody_waits_stalls() {
    let lines = |us: u32| {
        format!(
            "0      0 fork A 0
             0      0 switch - idle A
             100000 0 fork B 0
             {us}   0 switch A preempted B
             700000 end"
        )
    };
    let text = "CPU 0 ran task task-a (pid 1000) without a break for 500.00 ms while task task-b (pid 1001) waited in its queue";
    check(1, &lines(600_001), Kind::Stall, &[text]);
    check(1, &lines(600_000), Kind::Stall, &[]);
}

#[test]
fn a_stall_ends_with_the_last_waiter_or_the_stream() {
    let text = |ms: &str| {
        format!(
            "CPU 0 ran task task-a (pid 1000) without a break for {ms} while task task-b (pid 1001) waited in its queue"
        )
    };
    let begin = "0 0 fork A 0\n0 0 switch - idle A\n0 0 fork B 0\n";
    let moved = format!("{begin}700000 1 migrate B 0 1\n700001 1 switch - idle B\n2000000 end");
    check(
        2,
        &moved,
        Kind::Stall,
        &["CPU 0 ran task task-a (pid 1000) without a break for 700.00 ms while a task waited in its queue"],
    );
    check(2, &format!("{begin}800000 end"), Kind::Stall, &[&text("800.00 ms")]);
}

#[test]
fn a_real_time_task_may_hold_its_cpu_and_idle_cpus_are_no_stall() {
    let begin = "0 0 fork A 0\n0 0 prio A 50\n0 0 switch - idle A\n0 0 fork B 0\n";
    check(1, &format!("{begin}800000 end"), Kind::Stall, &[]);
    check(1, "0 0 fork A 0\n900000 end", Kind::Stall, &[]);
}

#[test]
fn a_cpu_that_switches_does_not_stall_however_long_somebody_waits() {
    let lines = "0 0 fork A 0
         0 0 switch - idle A
         0 0 fork B 0
         0 0 fork C 0
         300000 0 switch A preempted B
         600000 0 switch B preempted A
         900000 0 switch A preempted C
         1000000 end";
    check(1, lines, Kind::Stall, &[]);
}
