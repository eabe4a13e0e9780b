use super::*;
use crate::sched_record::{Name, Who};
use keel_trace::Why;
use proptest::prelude::*;

fn who(name: &str, pid: u32, prio: i32) -> Who {
    Who { pid, name: Name::new(name.as_bytes()), prio: Some(prio) }
}

/// Checks the content of one line: time, CPU, running task, interrupt, and the rest.
fn check(line: &str, head: (u64, u32, u32, bool), what: SchedEvent) {
    let mut text = Text::open(line.as_bytes());
    let seen =
        text.next().expect("memory can be read").unwrap_or_else(|| panic!("{line}: {:?}", text.damage));
    let (at, cpu, pid, interrupt) = head;
    assert_eq!(seen, SchedRecord { at, cpu, lost: 0, current: Some(pid), interrupt, what }, "{line}");
    assert_eq!(text.next().expect("memory can be read"), None);
    assert_eq!(text.damage, Damage { lines: true, ..Damage::default() });
}

#[test]
fn heads_of_all_kinds_are_read() {
    let waking = || SchedEvent::Waking { task: who("Web Content", 175, 120), target: 3 };
    let body = "sched_waking: comm=Web Content pid=175 prio=120 target_cpu=003";
    let check = |head: &str, expected| check(&format!("{head} {body}"), expected, waking());
    check("          <idle>-0       [001] d..2.    91.990599:", (91_990_599_000, 1, 0, false));
    check("          <idle>-0       [001] dNh2.    91.990599:", (91_990_599_000, 1, 0, true));
    check("          <idle>-0       [001]    91.990599:", (91_990_599_000, 1, 0, false));
    check("   my task 1-12-345 (  120) [001] d.s3.    91.990599123:", (91_990_599_123, 1, 345, true));
    check("  <idle>-0         1d..2. 286453us+:", (286_453_000, 1, 0, false));
    check("rcu_pree-15       11d.h2.      5us :", (5_000, 11, 15, true));
    check("trace-cm-174     1d.H4.    51.713415:", (51_713_415_000, 1, 174, true));
    check("            perf   148 [000]    13.233178:      ", (13_233_178_000, 0, 148, false));
    check("               7 [000]    13.233178:      ", (13_233_178_000, 0, 7, false));
    check("-7       [001] d..2.    91.990599:", (91_990_599_000, 1, 7, false));
    check("   a [007] 1.0: x   148/149 [000]    13.233178123:      ", (13_233_178_123, 0, 149, false));
}

#[test]
fn bodies_of_all_kinds_are_read() {
    let check = |body: &str, what| {
        check(&format!("a-1 [000] d..2. 1.000000: {body}"), (1_000_000_000, 0, 1, false), what)
    };
    let (make, idle) = (who("make -j", 7, 120), who("swapper/1", 0, 120));
    let switch = |why| SchedEvent::Switch { prev: make, why, next: idle };
    for (state, why) in [
        ("R", Why::Preempted),
        ("R+", Why::Preempted),
        ("S+", Why::Preempted),
        ("S", Why::Blocked),
        ("D|K", Why::Blocked),
        ("I", Why::Blocked),
        ("X", Why::Exited),
        ("Z", Why::Exited),
    ] {
        check(
            &format!(
                "sched_switch: prev_comm=make -j prev_pid=7 prev_prio=120 prev_state={state} ==> next_comm=swapper/1 \
                 next_pid=0 next_prio=120"
            ),
            switch(why),
        );
        check(&format!("sched_switch:     make -j:7 [120] {state} ==> swapper/1:0 [120]"), switch(why));
    }
    let wakeup = SchedEvent::Wakeup { task: make, target: 12 };
    check("sched_wakeup: comm=make -j pid=7 prio=120 target_cpu=012", wakeup);
    check("sched_wakeup: comm=make -j pid=7 prio=120 success=1 target_cpu=012", wakeup);
    check("sched_wakeup:         make -j:7 [120] CPU:012", wakeup);
    check("sched_wakeup:         make -j:7 [120] success=1 CPU:012", wakeup);
    check("sched_wakeup:         make -j:7 [120]<CPU:012>", wakeup);
    check(
        "sched_wakeup_new: comm=make -j pid=7 prio=120 target_cpu=012",
        SchedEvent::WakeupNew { task: make, target: 12 },
    );
    check(
        "sched_migrate_task: comm=make -j pid=7 prio=120 orig_cpu=1 dest_cpu=2",
        SchedEvent::Migrate { task: make, from: 1, to: 2 },
    );
    let bare = |name: &str, pid| Who { prio: None, ..who(name, pid, 0) };
    check(
        "sched_process_fork: comm=sh pid=1 child_comm=sh child_pid=2",
        SchedEvent::Forked { child: bare("sh", 2) },
    );
    check(
        "task_rename: pid=9 oldcomm=sh newcomm=a b oom_score_adj=0",
        SchedEvent::Named { task: bare("a b", 9) },
    );
    let online = |up| SchedEvent::Online { target: 1, up };
    check("cpuhp_enter: cpu: 0001 target:   0 step: 235 (sched_cpu_deactivate)", online(false));
    check("cpuhp_enter: cpu: 0001 target: 236 step: 235 (sched_cpu_activate)", online(true));
    check("cpuhp_enter: cpu: 0001 target: 236 step: 100 (other)", SchedEvent::Other);
    check("sched_stat_runtime: comm=perf pid=148 runtime=979595 [ns]", SchedEvent::Other);
}

/// A text's remarks besides its events: CPUs, overwritten, lost by CPU, invalid lines.
#[test]
fn remarks_are_read() {
    let check = |text: &str, cpus, overwritten, lost: &[(u32, u64)], skipped, ends: usize| {
        let mut source = Text::open(text.as_bytes());
        let mut all = Vec::new();
        while let Some(seen) = source.next().expect("memory can be read") {
            all.push(seen);
        }
        assert_eq!((source.facts.cpus, source.facts.overwritten), (cpus, overwritten), "{text}");
        let reported: Vec<_> =
            all.iter().filter(|seen| seen.lost > 0).map(|seen| (seen.cpu, seen.lost)).collect();
        assert_eq!((reported.as_slice(), source.damage.skipped, all.len()), (lost, skipped, ends), "{text}");
    };
    let event = "a-1 [003] d..2. 1.000000: other: x\n";
    check(&format!("# entries-in-buffer/entries-written: 4/4   #P:16\n{event}"), 16, false, &[], 0, 1);
    check(&format!("# entries-in-buffer/entries-written: 4/9   #P:2\r\n\r\n{event}"), 2, true, &[], 0, 1);
    check(&format!("# latency: 0 µs, #476/981, CPU#0 | (M:PREEMPT VP:0 #P:2)\n{event}"), 2, true, &[], 0, 1);
    check(&format!("cpus=8\n{event}CPU:3 [LOST 12 EVENTS]\n{event}"), 8, false, &[(3, 12)], 0, 2);
    check(&format!("CPU:3 [LOST EVENTS]\nCPU:3 [7 EVENTS DROPPED]\n{event}"), 0, false, &[(3, 8)], 0, 1);
    check(&format!("{event}CPU:4 [LOST 12 EVENTS]\n"), 0, false, &[(4, 12)], 0, 2);
    check(&format!("##### CPU 3 buffer started ####\n{event}"), 0, false, &[], 0, 2);
    check(&format!("nonsense\n{event}a-1 [003] d..2. 1.0"), 0, false, &[], 2, 1);
    check(&format!("{event}a-1 [003] d..2. 1.000000: sched_switch: prev_comm=a"), 0, false, &[], 1, 1);
    check(&format!("{}\n{event}", "x".repeat(100_000)), 0, false, &[], 1, 1);
    // perf script --show-lost-events
    let perf = "perf   148 [003]     1.000000: ";
    check(&format!("{perf}PERF_RECORD_LOST lost 12\n{event}"), 0, false, &[(3, 12)], 0, 1);
    check(&format!("{event}{perf}PERF_RECORD_LOST_SAMPLES lost 2\n"), 0, false, &[(3, 2)], 0, 2);
    check(&format!("{event}{perf}PERF_RECORD_COMM: a b:1/2\n"), 0, false, &[], 0, 2);
    check(&format!("{event}x y PERF_RECORD_LOST lost 12\n"), 0, false, &[], 1, 1);
    // perf script of perf record -g, and ftrace's stacks
    let stack = "\tffffffff81c1a1c2 __schedule+0x3d2 ([kernel.kallsyms])\n  core.c:5321\n\t    7f12 [unknown] (/usr/bin/make)\n  b (inlined)\n\n";
    check(&format!("{event}{stack}{event}{stack}"), 0, false, &[], 0, 2);
    check(
        &format!("{event}a-1 [003] d..2. 1.000000: <stack trace>\n => schedule\n => x\n{event}"),
        0,
        false,
        &[],
        0,
        2,
    );
    check(&format!("{event}\n  core.c:5321\n{event}"), 0, false, &[], 1, 2);
    check(&format!("{event}a 17 [00\n"), 0, false, &[], 1, 1);
    check("CPU:99999999999 [LOST 12 EVENTS]\ncpus=77777777", 0, false, &[], 2, 0);
}

#[test]
fn text_is_known_by_its_content() {
    let check = |text: &str, expected| assert_eq!(is(text.as_bytes()), expected, "{text}");
    check("# tracer: nop\n#\n", true);
    check("hello\na-1 [003] d..2. 1.000000: other: x\n", true);
    check("perf   148 [000]    13.233178: sched:sched_switch: prev", true);
    check("hello: you\n", false);
    check("", false);
    check("2026-01-01 12:00:00.123: started: x", false);
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(lines in prop::collection::vec(
        prop_oneof![
            "[ -~]{0,80}",
            "[a-z -]{0,9}-[0-9]{1,12} \\[[0-9]{1,6}\\] [d.h0-9]{0,5} [0-9]{0,22}\\.[0-9]{0,12}: sched_(switch|waking|migrate_task): [a-z_0-9= ]{0,60}",
            "CPU:[0-9]{0,12} \\[[A-Z0-9 ]{0,30}\\]",
        ], 0..20)) {
        let text = lines.join("\n");
        let mut source = Text::open(text.as_bytes());
        while let Some(seen) = source.next().expect("memory can be read") {
            prop_assert!(seen.cpu < MAX_CPUS);
        }
    }
}
