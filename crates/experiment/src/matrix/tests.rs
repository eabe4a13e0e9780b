use super::*;
use crate::outcome::{RunFigures, Taken};
use crate::plan::plan;
use crate::read;
use keel_check::Measured;

fn experiment(measure: &str) -> Experiment {
    let text = format!(
        "id = 'x'\ntitle = 't'\nsource = 's'\nmodelled = 'm'\nmachine = '1'\nworkload = 'w'\n\
         ends_within_ms = 3600000\nwarm_up_ms = 3\nseed = 5\n\
         [[arm]]\nlabel = 'alone'\nscheduler = 's'\nworkload = 'other'\n\
         [[arm]]\nlabel = 'bugs'\nscheduler = 's'\nsettings = {{ bug = 1 }}\nmachine = '2'\n\
         [[claim]]\nsays = 'c'\nmeasure = '{measure}'\nof = 'bugs'\nless = 'alone'\n\
         published = {{ of = [2] }}\nband = {{ within = 0.25 }}\n"
    );
    read("x.toml", &text).unwrap()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn the_first_claims_work_is_done_by_everyone() {
    let everyone = everyone(&experiment("elapsed_s"), &names(&["a", "b"]));
    let arm = |name: &str| Arm {
        label: name.into(),
        scheduler: name.into(),
        version: None,
        settings: Vec::new(),
        workload: "w".into(),
        machine: "2".into(),
    };
    assert_eq!(everyone.arms, [arm("a"), arm("b")]);
    assert_eq!(everyone.until, Until::End { at_most: MOST });
    assert_eq!((everyone.warm_up, everyone.seed), (Span::from_ms(3), 5));
    assert!(everyone.measures(Measure::Wasted), "its listener is there");
    assert_eq!(plan(std::slice::from_ref(&everyone), Some(3)).len(), 6);
}

fn run(seed: u64, result: Result<Measured, String>) -> RunFigures {
    let costs = Taken { end: Span::from_s(4), ..Taken::default() };
    RunFigures { seed, costs, result }
}

fn measured(switches: u64) -> Measured {
    let (duration, wasted) = (Span::from_s(1), Some(Span::from_s(2)));
    Measured { duration, elapsed: Some(Span::from_s(switches)), switches, wasted, ..Measured::default() }
}

#[test]
fn cells_are_shown_beside_the_best() {
    let check = |measure: &str, expected: [Option<f64>; 4]| {
        let everyone = everyone(&experiment(measure), &names(&["a", "b", "c", "d"]));
        let arm = |runs: Vec<RunFigures>| ArmFigures { runs };
        let arms = [
            arm(vec![run(1, Ok(measured(10))), run(2, Ok(measured(30)))]),
            arm(vec![run(1, Ok(measured(40))), run(2, Ok(measured(40)))]),
            arm(vec![run(1, Ok(measured(40))), run(2, Err("the scheduler failed: it stalled".into()))]),
            arm(vec![run(1, Ok(Measured { elapsed: None, ..measured(0) }))]),
        ];
        let cells = cells(&everyone, &arms);
        assert_eq!(cells.iter().map(|cell| cell.worse).collect::<Vec<_>>(), expected, "{measure}");
        assert_eq!(cells[0].value, Ok(Values { mean: 20.0, low: 10.0, high: 30.0 }));
        assert_eq!(cells[2].value, Err("seed 2: the scheduler failed: it stalled".into()));
        let wasted: Vec<_> = cells.iter().map(|cell| cell.wasted_cores).collect();
        assert_eq!(wasted, [Some(0.5), Some(0.5), None, Some(0.5)]);
        cells
    };
    let cells = check("elapsed_s", [Some(1.0), Some(2.0), None, None]);
    assert_eq!(cells[3].value, Err("seed 1: the workload did not finish".into()));
    // For 0 switches per second, the factor is not a number.
    check("switches_per_s", [Some(2.0), Some(1.0), None, None]);
}
