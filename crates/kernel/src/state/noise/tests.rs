use super::*;
use keel_abi::task::{Step, Workload};

fn machine(text: &str) -> Machine {
    Machine::parse(&format!(
        "name = 'm'\n{text}\n[topology]\nnodes = 2\nllcs_per_node = 1\ncores_per_llc = 2\n"
    ))
    .unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn without_noise_nothing_is_added_and_nothing_is_drawn() {
    let mut workload = Workload::default();
    add_specs(Noise::None, &machine(""), &mut workload);
    assert_eq!(workload, Workload::default());
    let state = NoiseState::new(Noise::None, &machine(""), 1);
    assert!(state.profile.is_none() && state.interrupts.is_empty() && state.ticks.is_empty());
    assert_eq!(state.tick_offset_ns, 0);
}

#[test]
fn each_cpu_and_node_has_its_kernel_threads() {
    let mut workload = Workload::default();
    add_specs(Noise::Quiet, &machine(""), &mut workload);
    let found: Vec<String> = workload
        .tasks
        .iter()
        .map(|task| {
            assert!(task.kthread && task.instances == 0, "{}", task.name);
            let cpus: Vec<u32> = task.cpus.iter().map(|cpu| cpu.0).collect();
            let deferrable = matches!(task.steps[0], Step::SleepDeferrable(_));
            format!("{} {cpus:?} deferrable {deferrable}", task.name)
        })
        .collect();
    assert_eq!(
        found,
        [
            "rcu_preempt [] deferrable false",
            "kworker/u [] deferrable false",
            "kcompactd [0, 1] deferrable false",
            "kcompactd [2, 3] deferrable false",
            "kworker [0] deferrable true",
            "kworker [1] deferrable true",
            "kworker [2] deferrable true",
            "kworker [3] deferrable true",
        ]
    );
    assert_eq!(threads(Noise::Quiet, &machine("")), 8);
}

#[test]
fn watchdogs_are_there_where_the_machines_kernel_has_them() {
    let check = |table: &str, expected: &[&str]| {
        let mut workload = Workload::default();
        add_specs(Noise::None, &machine(table), &mut workload);
        let found: Vec<String> = workload
            .tasks
            .iter()
            .map(|task| {
                let cpus: Vec<u32> = task.cpus.iter().map(|cpu| cpu.0).collect();
                format!("{} {cpus:?} {:?} {:?}", task.name, task.policy, task.steps[2])
            })
            .collect();
        assert_eq!(found, expected, "{table}");
        assert_eq!(threads(Noise::None, &machine(table)), expected.len() as u64);
    };
    check("", &[]);
    let slept = format!("{:?}", Step::Sleep(keel_abi::task::Amount::fixed(keel_abi::Span::from_s(12))));
    let expected: Vec<String> =
        (0..4).map(|cpu| format!("watchdog/{cpu} [{cpu}] Fifo(99) {slept}")).collect();
    check("[realtime]\nwatchdog_ms = 12000", &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn slow_machines_work_longer_for_the_same_instructions() {
    let run = |text: &str| {
        let mut workload = Workload::default();
        add_specs(Noise::Quiet, &machine(text), &mut workload);
        workload.tasks[0].steps.iter().find_map(|step| match step {
            Step::Run(amount) => Some(amount.base.as_ns()),
            _ => None,
        })
    };
    assert_eq!(run(""), Some(1_250));
    assert_eq!(run("costs.insn_ps = { value = 10000, source = 'a test' }"), Some(50_000));
}

#[test]
fn ticks_are_together_unless_skewed() {
    let skewed = |noise, text| NoiseState::new(noise, &machine(text), 1).skewed;
    let check = |noise, expected: [bool; 3]| {
        assert_eq!(["", "skew_tick = true", "skew_tick = false"].map(|text| skewed(noise, text)), expected);
    };
    check(Noise::None, [true, true, false]);
    check(Noise::Quiet, [false, true, false]);
}
