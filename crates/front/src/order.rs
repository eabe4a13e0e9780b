//! Order files: the points at which callbacks of a run let others run first. `keel explore` writes them, `keel sim
//! --order` reads them.
//!
//! ```text
//! keel order 1
//! window 10000 ns
//! hold 17   # CPU 1 at 12.345 µs in ops.dispatch, before my.bpf.c:40: scx_bpf_dsq_move(...), for CPU 0
//! ```
//!
//! A hold is the number of a point, counted from 0. Text after `#` is for people.

use crate::failure::Failure;
use crate::text::shown;
use keel_abi::Span;
use keel_abi::order::Holds;

/// The first line.
const HEAD: &str = "keel order 1";
/// The longest window: no activity of a scheduler takes longer.
const MOST_WINDOW_NS: u64 = 1_000_000_000;

/// Reads a file.
///
/// # Errors
/// It can't be read, or is not an order file.
pub fn read(path: &str) -> Result<Holds, Failure> {
    let text = crate::inputs::document("order", path)?;
    parsed(&text).map_err(|(line, what)| {
        Failure::input(format!("{}:{line}: {what}", shown(path))).help("keel explore writes such files")
    })
}

fn parsed(text: &str) -> Result<Holds, (usize, &'static str)> {
    let mut window = None;
    let mut points: Vec<u64> = Vec::new();
    let mut has_head = false;
    for (at, line) in text.lines().enumerate() {
        let wrong = |what| (at + 1, what);
        let line = line.split('#').next().unwrap_or_default().trim();
        let words: Vec<&str> = line.split_whitespace().collect();
        match *words {
            [] => {}
            _ if !has_head => match line == HEAD {
                true => has_head = true,
                false => {
                    return Err(wrong("this is not an order file: its first line must be 'keel order 1'"));
                }
            },
            ["window", ns, "ns"] => {
                let ns = ns.parse().ok().filter(|ns| (1..=MOST_WINDOW_NS).contains(ns));
                window = Some(ns.ok_or(wrong("a window is 1 to 1000000000 ns"))?);
            }
            ["hold", point] => {
                let point = point.parse().map_err(|_| wrong("a hold is the number of a point"))?;
                if points.last().is_some_and(|last| *last >= point) {
                    return Err(wrong("holds must be in ascending order, each once"));
                }
                points.push(point);
            }
            _ => return Err(wrong("write 'window N ns' or 'hold N'")),
        }
    }
    match (has_head, window) {
        (true, Some(window)) => Ok(Holds { window: Span::from_ns(window), points }),
        _ => Err((text.lines().count().max(1), "the first line or the window is missing")),
    }
}

/// Returns the text of an order file, with a remark on each hold.
pub fn text(holds: &Holds, remarks: &[String]) -> String {
    let mut text = format!("{HEAD}\nwindow {} ns\n", holds.window.as_ns());
    for (at, point) in holds.points.iter().enumerate() {
        let remark = remarks.get(at).map_or(String::new(), |remark| format!("   # {}", shown(remark)));
        text += &format!("hold {point}{remark}\n");
    }
    text
}

/// Returns a sentence about the holds that a finished run with `points` points never reached, or `None` if it reached
/// all. The order was then probably found with another scheduler, workload, machine or seed.
pub fn unmet(order: &Holds, points: u64) -> Option<String> {
    let had = match points {
        1 => "1 point".to_owned(),
        _ => format!("{points} points"),
    };
    let mut unmet = order.points.iter().filter(|&&hold| hold >= points);
    let first = unmet.next()?;
    let later = match unmet.count() {
        0 => String::new(),
        later => format!(" (nor {later} after it)"),
    };
    Some(format!(
        "--order: this run had {had} where a callback could be delayed, and did not reach hold {first}{later}; give the \
         arguments that keel explore had"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_as_it_is_written() {
        let check = |points: &[u64], remarks: &[&str]| {
            let holds = Holds { window: Span::from_ns(700), points: points.to_vec() };
            let remarks: Vec<String> = remarks.iter().map(|&remark| remark.to_owned()).collect();
            assert_eq!(parsed(&text(&holds, &remarks)), Ok(holds));
        };
        check(&[], &[]);
        check(&[0, 3, 19], &["CPU 1", "hold 7 # more\nhold 9"]);
    }

    #[test]
    fn holds_that_a_run_never_reached_are_reported() {
        let check = |holds: &[u64], points, expected: Option<&str>| {
            let order = Holds { window: Span::from_ns(700), points: holds.to_vec() };
            let text = unmet(&order, points);
            assert_eq!(text.as_deref().map(|text| text.split_once(';').unwrap().0), expected);
        };
        check(&[], 0, None);
        check(&[0, 3], 4, None);
        let had = "--order: this run had";
        let reached = "where a callback could be delayed, and did not reach hold";
        check(&[0, 3], 1, Some(&format!("{had} 1 point {reached} 3")));
        check(&[7, 8, 9], 0, Some(&format!("{had} 0 points {reached} 7 (nor 2 after it)")));
    }

    #[test]
    fn nonsense_is_refused_with_its_line() {
        let check = |text: &str, line: usize, what: &str| {
            let wrong = parsed(text).unwrap_err();
            assert!(wrong.0 == line && wrong.1.contains(what), "{text}: {wrong:?}");
        };
        check("", 1, "missing");
        check("hold 1", 1, "first line");
        check("keel order 1\nhold 1", 2, "missing");
        check("keel order 1\nwindow 0 ns", 2, "a window is");
        check("keel order 1\nwindow 5 ns\nhold x", 3, "the number of a point");
        check("keel order 1\nwindow 5 ns\nhold 4\nhold 4", 4, "each once");
        check("keel order 1\nwindow 5 us", 2, "write ");
    }
}
