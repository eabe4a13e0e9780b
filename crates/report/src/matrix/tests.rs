use super::*;
use crate::Style;

fn cell(scheduler: &str, value: f64, worse: f64, wasted: f64) -> CellReport {
    CellReport {
        scheduler: scheduler.into(),
        value: Some(value),
        spread: Some([value, value]),
        worse: Some(worse),
        wasted_cores: Some(wasted),
        failed: None,
    }
}

pub(crate) fn matrix() -> MatrixReport {
    let row = |id: &str, measure, more_is_better, cells: Vec<CellReport>| RowReport {
        id: id.into(),
        says: "elapsed".into(),
        measure,
        unit: "s",
        more_is_better,
        workload: "make:0".into(),
        machine: "p3-2".into(),
        real_time: cells.is_empty(),
        cells,
    };
    let failed = CellReport {
        value: None,
        spread: None,
        worse: None,
        wasted_cores: None,
        failed: Some("seed 1: the scheduler failed: worker\u{1b}[2J[1] failed to run for 30.000s".into()),
        ..cell("goodness", 0.0, 0.0, 0.0)
    };
    MatrixReport {
        schedulers: vec!["fifo".into(), "goodness".into()],
        runs: 3,
        rows: vec![
            row(
                "make-j",
                "elapsed_s",
                false,
                vec![cell("fifo", 7.5, 1.0, 0.0), cell("goodness", 9.0, 1.2, 0.25)],
            ),
            row("yield-8", "switches_per_s", true, vec![cell("fifo", 1e6, 1.0, 2.0), failed]),
            row("rt-migrate", "migrated", false, Vec::new()),
        ],
    }
}

#[test]
fn values_stand_beside_the_best() {
    insta::assert_snapshot!(table(&matrix(), Style::PLAIN));
}
