//! Generates tasks that run and sleep in turn, with a given load.

use keel_abi::task::{Amount, Step, TaskSpec, Workload};
use keel_abi::{CpuSet, Span};

/// How long the tasks of each kind run at a time, in microseconds.
const RUNS_US: [u64; 4] = [50, 100, 200, 400];

/// Makes `tasks` tasks that run and sleep in turn and together demand `load_percent` of `cpus` CPUs.
///
/// They are of four kinds, as equal in number as possible, which run for 50 to 400 µs at a time. All demand the same
/// share. The lengths of runs and sleeps vary uniformly by `jitter_percent`, at most 100; the run's seed determines
/// how. Each task first sleeps for part of its period, so that they do not start in step. A task cannot demand more
/// than one CPU: if the load would require that, the tasks never sleep and demand less.
pub fn mix(tasks: u32, cpus: u32, load_percent: u32, jitter_percent: u8) -> Workload {
    let kinds = RUNS_US.len() as u32;
    let specs = (0..kinds).zip(RUNS_US).filter_map(|(kind, run_us)| {
        let instances = tasks / kinds + u32::from(kind < tasks % kinds);
        let run = Span::from_us(run_us);
        let sleep = sleep_beside(run, tasks, cpus, load_percent);
        (instances > 0).then(|| spec(instances, run, sleep, jitter_percent.min(100)))
    });
    Workload {
        name: format!("mix-{tasks}-on-{cpus}-at-{load_percent}"),
        tasks: specs.collect(),
        unit: "runs".to_owned(),
        ..Workload::default()
    }
}

/// Returns how long a task sleeps after `run`, so that `tasks` such tasks load `cpus` to `load_percent`.
fn sleep_beside(run: Span, tasks: u32, cpus: u32, load_percent: u32) -> Span {
    let wanted = u128::from(cpus) * u128::from(load_percent);
    if wanted == 0 {
        return Span::from_s(1_000_000);
    }
    let period_ns = u128::from(run.as_ns()) * u128::from(tasks) * 100 / wanted;
    Span::from_ns(u64::try_from(period_ns).unwrap_or(u64::MAX)).saturating_sub(run)
}

fn spec(instances: u32, run: Span, sleep: Span, jitter_percent: u8) -> TaskSpec {
    let vary = |base: Span| {
        let spread_ns = u128::from(base.as_ns()) * u128::from(jitter_percent) / 100;
        Amount { base, spread: Span::from_ns(u64::try_from(spread_ns).unwrap_or(base.as_ns())) }
    };
    let half = Span::from_ns((run + sleep).as_ns() / 2);
    let mut steps = vec![Step::Sleep(Amount { base: half, spread: half }), Step::Run(vary(run))];
    if sleep > Span::ZERO {
        steps.push(Step::Sleep(vary(sleep)));
    }
    steps.extend([Step::Count, Step::Loop { to: 1, times: None, slot: 0 }]);
    TaskSpec {
        name: format!("mix-{}us", run.as_ns() / 1_000),
        instances,
        delay: Span::ZERO,
        nice: 0,
        cpus: CpuSet::new(),
        steps,
        ..TaskSpec::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand_percent(workload: &Workload) -> f64 {
        let share = |task: &TaskSpec| match task.steps[1..] {
            [Step::Run(run), Step::Sleep(sleep), ..] => {
                run.base.as_s_f64() / (run.base + sleep.base).as_s_f64()
            }
            _ => 1.0,
        };
        workload.tasks.iter().map(|task| 100.0 * share(task) * f64::from(task.instances)).sum()
    }

    #[test]
    fn a_mix_asks_for_the_load_that_was_wanted() {
        let check = |tasks, cpus, load| {
            let workload = mix(tasks, cpus, load, 20);
            let instances: u32 = workload.tasks.iter().map(|task| task.instances).sum();
            assert_eq!(instances, tasks);
            let wanted = f64::from(cpus * load);
            let demand = demand_percent(&workload);
            assert!((demand - wanted).abs() < wanted / 1000.0, "{tasks} on {cpus}: {demand} for {wanted}");
        };
        for load in [80, 125] {
            check(16, 4, load);
            check(1_000, 8, load);
            check(10_000, 64, load);
            check(7, 3, load);
        }
    }

    #[test]
    fn a_load_beyond_all_bounds_is_what_the_tasks_can_ask_for() {
        assert_eq!(demand_percent(&mix(2, 4, 100, 0)).round(), 200.0);
        assert_eq!(mix(1, 1, 0, 0).tasks[0].steps.len(), 5);
        mix(u32::MAX, u32::MAX, u32::MAX, 255);
        mix(0, 0, 0, 0);
    }
}
