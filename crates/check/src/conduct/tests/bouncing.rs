use super::*;
use std::fmt::Write;

const BOUNCES: Kind = Kind::Bouncing;

/// A task that runs for `ran_us` on one CPU after the other, of `cpus`, `rest_us` apart.
fn hops(times: u32, cpus: u32, ran_us: u32, rest_us: u32) -> String {
    let mut lines = String::from("0 0 fork A 0\n");
    let mut at = 1;
    for n in 0..times {
        let cpu = n % cpus;
        let _ = writeln!(lines, "{at} {cpu} switch - idle A\n{} {cpu} switch A blocked -", at + ran_us);
        at += ran_us + rest_us;
        let _ = writeln!(lines, "{at} {cpu} wake A {}", (n + 1) % cpus);
    }
    lines + &format!("{} end", at + 1)
}

#[test]
fn a_task_that_goes_to_and_fro_bounces() {
    let text = "task task-a (pid 1000) migrated 96 times within 9.60 ms, last among CPUs 0, 1; it ran 50.00 µs \
                on average between migrations";
    check(2, &hops(100, 2, 50, 50), BOUNCES, &[text]);
}

#[test]
fn what_keeps_one_of_its_rules_does_not_bounce() {
    let none = |lines: &str| check(8, lines, BOUNCES, &[]);
    // Too few; long enough on each CPU; too rare; across the machine.
    none(&hops(64, 2, 50, 50));
    none(&hops(100, 2, 501, 50));
    none(&hops(100, 2, 50, 10_000));
    none(&hops(100, 8, 50, 50));
}
