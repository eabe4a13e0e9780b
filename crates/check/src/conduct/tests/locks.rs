use super::*;

const LOCKED: Kind = Kind::LockWait;

fn waits(us: u32) -> String {
    format!(
        "0   0 fork A 0
         0   0 switch - idle A
         0   1 fork B 1
         0   1 switch - idle B
         10  1 awaits B 3 A
         10  1 switch B blocked -
         {us} 0 wake B 1 A
         {us} 1 switch - idle B
         90000 1 switch B blocked -
         100000 end"
    )
}

#[test]
fn a_long_wait_for_a_mutex_is_told_with_its_owner() {
    let text = "task task-b (pid 1001) waited 30.00 ms for mutex 3, which task-a (pid 1000) had when it began, which ran for 30.00 ms \
                of that";
    check(2, &waits(30_010), LOCKED, &[text]);
    check(2, &waits(20_010), LOCKED, &[]);
}

#[test]
fn who_finds_the_mutex_taken_again_waits_on() {
    let again = "15000 1 wake B 1 A\n15000 1 switch - idle B\n15001 1 awaits B 3 A\n15001 1 switch B blocked -\n25010 0 wake";
    let lines = waits(25_010).replace("25010 0 wake", again);
    assert_eq!(found(Limits::default(), 2, &lines, LOCKED)[0].duration, Span::from_ms(25));
    // Another mutex is another wait.
    check(2, &lines.replace("15001 1 awaits B 3", "15001 1 awaits B 4"), LOCKED, &[]);
}

#[test]
fn a_cpu_that_spins_for_long_is_told() {
    check(
        2,
        "5000 1 spins 0 1001\n6000 end",
        LOCKED,
        &["CPU 1 waited 1.00 ms for the runqueue lock of CPU 0"],
    );
    check(2, "5000 1 spins 0 1000\n6000 end", LOCKED, &[]);
}
