//! The results under load, a row for each scheduler on each kernel.

use super::load::{LOADS, Turn};
use std::fmt::Write;

/// The table.
pub(super) fn text(turns: &[Turn]) -> String {
    let mut text = String::new();
    line(&mut text, ["kernel", "scheduler", "in charge"], LOADS.iter().map(|&load| load.to_owned()), "");
    for turn in turns {
        let (in_charge, fault) = match &turn.fault {
            None => (format!("{} s", turn.loaded_s), String::new()),
            Some(fault) => ("FAIL".to_owned(), format!("  {fault}")),
        };
        let loops = turn.loops.iter().map(u64::to_string);
        line(&mut text, [&turn.kernel, &turn.scheduler, &in_charge], loops, &fault);
    }
    text
}

fn line(text: &mut String, first: [&str; 3], loops: impl Iterator<Item = String>, end: &str) {
    let [kernel, scheduler, in_charge] = first;
    write!(text, "{kernel:8}{scheduler:10}{in_charge:>9}").expect("a string takes all");
    for number in loops {
        write!(text, "{number:>10}").expect("a string takes all");
    }
    writeln!(text, "{end}").expect("a string takes all");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_stand_in_their_line() {
        let turn = |scheduler: &str, fault: Option<&str>| Turn {
            kernel: "7.2".into(),
            scheduler: scheduler.into(),
            loaded_s: 63,
            loops: vec![1, 20, 300],
            fault: fault.map(str::to_owned),
        };
        let text = text(&[turn("fifo", None), turn("o1", Some("it stalls"))]);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "7.2     fifo           63 s         1        20       300",
                "7.2     o1             FAIL         1        20       300  it stalls",
            ]
        );
    }
}
