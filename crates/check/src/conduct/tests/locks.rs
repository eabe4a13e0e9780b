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
fn a_long_wait_for_a_mutex_names_its_owner() {
    let text = "task task-b (pid 1001) waited 30.00 ms for mutex 3, held by task-a (pid 1000), which ran for 30.00 ms of that time";
    check(2, &waits(30_010), LOCKED, &[text]);
    check(2, &waits(20_010), LOCKED, &[]);
}

#[test]
fn a_waiter_that_finds_the_mutex_taken_again_waits_on() {
    let again = "15000 1 wake B 1 A\n15000 1 switch - idle B\n15001 1 awaits B 3 A\n15001 1 switch B blocked -\n25010 0 wake";
    let lines = waits(25_010).replace("25010 0 wake", again);
    assert_eq!(found(Limits::default(), 2, &lines, LOCKED)[0].duration, Span::from_ms(25));
    // Another mutex is another wait.
    check(2, &lines.replace("15001 1 awaits B 3", "15001 1 awaits B 4"), LOCKED, &[]);
}

#[test]
fn a_cpu_that_spins_for_long_is_reported() {
    check(
        2,
        "5000 1 spins 0 1001\n6000 end",
        LOCKED,
        &["CPU 1 waited 1.00 ms for the runqueue lock of CPU 0"],
    );
    check(2, "5000 1 spins 0 1000\n6000 end", LOCKED, &[]);
}

/// B waits for A's mutex while A waits for its CPU, behind C, from `out_us` until `back_us`.
fn owner_waits(out_us: u32, back_us: u32) -> String {
    format!(
        "0   0 fork A 0
         0   0 switch - idle A
         0   0 fork C 0
         0   1 fork B 1
         0   1 switch - idle B
         10  1 awaits B 3 A
         10  1 switch B blocked -
         {out_us} 0 switch A preempted C
         {back_us} 0 switch C preempted A
         60000 0 wake B 1 A
         60000 1 switch - idle B
         90000 0 switch A preempted C
         95000 1 switch B blocked -
         100000 end"
    )
}

#[test]
fn what_a_program_does_to_itself_is_no_schedulers_doing() {
    let check = |lines: &str, whose: Blame| {
        let found = found(Limits::default(), 2, lines, LOCKED);
        assert_eq!(found.iter().map(|finding| finding.blame).collect::<Vec<_>>(), [whose], "{lines}");
    };
    // The owner computed while it held the mutex; it was kept off its CPU for a slice, and for longer.
    check(&waits(30_010), Blame::Program);
    check(&owner_waits(20_000, 40_000), Blame::Program);
    check(&owner_waits(20_000, 40_001), Blame::Scheduler);
    // The owner's time after B has run is not part of the wait.
    check(&owner_waits(20_000, 39_999), Blame::Program);
    // The waiter was woken in time, but ran late.
    let late = waits(30_010).replace("30010 1 switch - idle B", "55000 1 switch - idle B");
    check(&late, Blame::Scheduler);
    // A spinning CPU.
    check("5000 1 spins 0 1001\n6000 end", Blame::Scheduler);
}

#[test]
fn waits_that_the_program_causes_are_counted_separately() {
    let mut conduct = Conduct::new(Limits::default(), 3);
    play(&mut conduct, 2, &waits(30_010));
    let counts: Vec<(u64, u64)> =
        conduct.into_findings().iter().map(|found| (found.count, found.of_programs)).collect();
    assert_eq!(
        (counts.iter().map(|(all, _)| all).sum::<u64>(), counts.iter().map(|(_, own)| own).sum()),
        (1, 1)
    );
}

/// B and C wait for A's mutex. A releases it to B at 12 ms; B computes with it until 20 ms, and then wakes C.
const HANDED_ON: &str = "0 0 fork A 0
     0 0 switch - idle A
     0 1 fork B 1
     0 1 switch - idle B
     0 2 fork C 2
     0 2 switch - idle C
     10 1 awaits B 3 A
     10 1 switch B blocked -
     10 2 awaits C 3 A
     10 2 switch C blocked -
     12000 0 wake B 1 A
     12000 1 switch - idle B
     12000 0 switch A blocked -
     40000 1 wake C 2 B
     40000 2 switch - idle C
     90000 1 switch B blocked -
     90000 2 switch C blocked -
     100000 end";

#[test]
fn a_woken_waiter_owns_the_mutex() {
    let text = "task task-c (pid 1002) waited 39.99 ms for mutex 3, held by task-a (pid 1000) and then by one other \
                task, which ran for 39.99 ms of that time";
    check(3, HANDED_ON, LOCKED, &[text]);
}

#[test]
fn a_waiter_that_gets_the_mutex_on_its_cpu_has_waited_until_then() {
    // A releases it while C is still going to sleep; then C computes with it, off its CPU for a while.
    let lines = "0 0 fork A 0
         0 0 switch - idle A
         0 1 fork B 1
         0 1 switch - idle B
         0 2 fork C 2
         0 2 switch - idle C
         10 2 awaits C 3 A
         12 2 awaits C 3 C
         20 1 awaits B 3 C
         20 1 switch B blocked -
         50000 1 wake B 1 C
         50000 1 switch - idle B
         50010 2 switch C blocked -
         90000 1 switch B blocked -
         100000 end";
    let text = "task task-b (pid 1001) waited 49.98 ms for mutex 3, held by task-c (pid 1002), which ran for 49.98 ms of that time";
    check(3, lines, LOCKED, &[text]);
}

#[test]
fn an_owner_that_gave_a_mutex_back_inverts_nothing() {
    let urgent = "0 2 prio C 20\n0 1 prio B 120\n0 0 prio A 120\n10 1 awaits B";
    check(3, &HANDED_ON.replace("10 1 awaits B", urgent), Kind::PriorityInversion, &[]);
    // B does not run from 14 to 30 ms.
    let out = "14000 1 switch B preempted -\n30000 1 switch - idle B\n40000 1 wake C";
    let kept = HANDED_ON.replace("10 1 awaits B", urgent).replace("40000 1 wake C", out);
    let text = "real-time task task-c (pid 1002) waited 39.99 ms for a mutex of less urgent task task-b (pid 1001), \
                which did not run for 16.00 ms of that";
    check(3, &kept, Kind::PriorityInversion, &[text]);
}
