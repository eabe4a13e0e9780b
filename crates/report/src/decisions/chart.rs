//! Draws the chart of how the time of all callbacks together grows, with one line per scheduler and one panel per axis.
//! Both scales are logarithmic; the scale of time is the same for both panels. The chart is a static SVG that follows
//! its reader's light or dark mode.
//!
//! The name at the line's end, the mark and the colour all identify a scheduler, so no reader needs the colour.

mod marks;
mod scale;

use super::{Axis, DecisionsReport};
use crate::picture::xml;
use keel_abi::Span;
use keel_abi::numbers;
use keel_check::escape_all;
use marks::{COLOURS, mark};
use scale::Scale;
use std::fmt::Write;

const WIDTH: u32 = 1080;
const HEIGHT: u32 = 500;
/// Pixels from the top of the picture to the top of the panels.
const TOP: f64 = 112.0;
/// The inside of a panel.
const PANEL: (f64, f64) = (370.0, 310.0);
/// The left edges of the panels; names go to the right of each.
const LEFTS: [f64; 2] = [84.0, 618.0];
/// Pixels between the baselines of two names.
const LINE: f64 = 15.0;

macro_rules! put {
    // Writing to a string cannot fail.
    ($svg:expr, $($format:tt)*) => { let _ = writeln!($svg, $($format)*); };
}

/// One scheduler's line: the scheduler's number, and the points in the units that are measured.
struct Line<'r> {
    number: usize,
    name: &'r str,
    points: Vec<(f64, f64)>,
}

/// Draws it: a whole SVG document.
pub fn svg(schedulers: &[DecisionsReport]) -> String {
    let mut svg = head();
    let panels = [Axis::Tasks, Axis::Cpus].map(|axis| lines(schedulers, axis));
    let values = panels.iter().flatten().flat_map(|line| &line.points).map(|point| point.1);
    let y = Scale::decades(values, TOP + PANEL.1, TOP);
    let on = schedulers.iter().find_map(|report| report.by_tasks.together.sizes.first());
    let on = on.map_or(String::new(), |at| match at.size.cpus {
        1 => ", on one CPU".to_owned(),
        cpus => format!(", on {} CPUs", numbers::count(u64::from(cpus))),
    });
    let titles = [
        (format!("More waiting tasks{on}"), "runnable tasks"),
        ("More CPUs, with three tasks each".to_owned(), "CPUs"),
    ];
    for ((lines, left), (title, label)) in panels.iter().zip(LEFTS).zip(&titles) {
        panel(&mut svg, left, &y, lines, (title, label));
    }
    svg + "</svg>\n"
}

/// Returns the lines of this axis: each point is a size, and the time of all callbacks together in nanoseconds.
fn lines(schedulers: &[DecisionsReport], axis: Axis) -> Vec<Line<'_>> {
    let points = |report: &DecisionsReport| {
        let sizes = &report.along(axis).together.sizes;
        let point = |at: &super::TogetherSize| (f64::from(at.size.along(axis)), at.mean_ns.max(1) as f64);
        sizes.iter().map(point).collect()
    };
    let line = |(number, report)| {
        let report: &DecisionsReport = report;
        Line { number, name: &report.scheduler, points: points(report) }
    };
    schedulers.iter().enumerate().map(line).filter(|line: &Line<'_>| !line.points.is_empty()).collect()
}

fn head() -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>What a decision costs</title>\n\
         <desc>Time in all callbacks per dispatch, by waiting tasks and by CPUs, on logarithmic scales</desc>\n"
    );
    let colours = |pick: fn(&(&'static str, &'static str)) -> &'static str| -> String {
        let rule = |(at, pair)| format!(".s{at}{{color:{}}}", pick(pair));
        COLOURS.iter().enumerate().map(rule).collect()
    };
    put!(svg, "<style>");
    put!(
        svg,
        ".back{{fill:#fff}}text{{fill:#222}}.note{{fill:#555}}.grid{{stroke:#ddd}}.axis{{stroke:#555}}"
    );
    put!(svg, "{}", colours(|pair| pair.0));
    put!(svg, "@media (prefers-color-scheme: dark){{");
    put!(svg, ".back{{fill:#161b22}}text{{fill:#e6edf3}}.note{{fill:#a8b3bf}}.grid{{stroke:#30363d}}");
    put!(svg, ".axis{{stroke:#a8b3bf}}{}}}", colours(|pair| pair.1));
    put!(svg, ".line{{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round}}");
    put!(svg, ".mark{{fill:currentColor}}.lead{{fill:none;stroke:currentColor;stroke-width:.8}}");
    put!(svg, ".name{{fill:currentColor;font-weight:bold}}</style>");
    put!(svg, "<rect class=\"back\" width=\"100%\" height=\"100%\"/>");
    put!(svg, "<text x=\"16\" y=\"32\" font-size=\"17\" font-weight=\"bold\">What a decision costs</text>");
    put!(
        svg,
        "<text class=\"note\" x=\"16\" y=\"54\">Time of all callbacks for each dispatch: instructions, kfuncs, \
         cache lines and waits for locks. Both scales are logarithmic.</text>"
    );
    svg
}

/// Draws one panel: its title, grid and lines.
fn panel(svg: &mut String, left: f64, y: &Scale, lines: &[Line<'_>], (title, label): (&str, &str)) {
    let (right, bottom) = (left + PANEL.0, TOP + PANEL.1);
    put!(svg, "<g>");
    put!(
        svg,
        "<text x=\"{left}\" y=\"{}\" font-size=\"14\" font-weight=\"bold\">{}</text>",
        TOP - 20.0,
        xml(title)
    );
    for value in y.ticks() {
        let at = y.at(value);
        put!(svg, "<path class=\"grid\" d=\"M{left} {at:.1}H{right}\"/>");
        let text = Span::from_ns(value as u64).to_string().replace(".00", "");
        put!(svg, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>", left - 8.0, at + 4.0);
    }
    put!(svg, "<path class=\"axis\" fill=\"none\" d=\"M{left} {TOP}V{bottom}H{right}\"/>");
    let mut sizes: Vec<f64> = lines.iter().flat_map(|line| &line.points).map(|point| point.0).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let x = Scale::between(sizes.iter().copied(), left, right - 12.0);
    for &size in &sizes {
        let at = x.at(size);
        put!(svg, "<path class=\"axis\" d=\"M{at:.1} {bottom}v5\"/>");
        let text = numbers::count(size as u64);
        put!(svg, "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>", bottom + 20.0);
    }
    let middle = left + PANEL.0 / 2.0;
    put!(
        svg,
        "<text class=\"note\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{label}</text>",
        bottom + 42.0
    );
    for line in lines {
        drawn(svg, line, &x, y);
    }
    names(svg, lines, &x, y);
    put!(svg, "</g>");
}

/// Draws the line and a mark at each point.
fn drawn(svg: &mut String, line: &Line<'_>, x: &Scale, y: &Scale) {
    let at: Vec<(f64, f64)> = line.points.iter().map(|&(size, ns)| (x.at(size), y.at(ns))).collect();
    let path: Vec<String> = at.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
    put!(
        svg,
        "<g class=\"s{}\"><path class=\"line\" d=\"M{}\"/>",
        line.number % COLOURS.len(),
        path.join("L")
    );
    for ((x, y), (_, ns)) in at.iter().zip(&line.points) {
        let reported = format!("{}: {}", xml(&escape_all(line.name)), Span::from_ns(*ns as u64));
        put!(
            svg,
            "<path class=\"mark\" transform=\"translate({x:.1} {y:.1})\" d=\"{}\"><title>{reported}</title></path>",
            mark(line.number)
        );
    }
    put!(svg, "</g>");
}

/// Writes each line's name next to its end, as near as the other names allow.
fn names(svg: &mut String, lines: &[Line<'_>], x: &Scale, y: &Scale) {
    let end = |line: &Line<'_>| line.points.last().map_or((0.0, 0.0), |&(size, ns)| (x.at(size), y.at(ns)));
    let mut ends: Vec<(&Line<'_>, (f64, f64))> = lines.iter().map(|line| (line, end(line))).collect();
    ends.sort_by(|a, b| a.1.1.total_cmp(&b.1.1));
    let wanted: Vec<f64> = ends.iter().map(|(_, at)| at.1).collect();
    for ((line, (x, y)), at) in ends.iter().zip(scale::apart(&wanted, LINE, TOP, TOP + PANEL.1)) {
        let (from, to) = (x + 7.0, x + 20.0);
        put!(
            svg,
            "<g class=\"s{}\"><path class=\"lead\" d=\"M{from:.1} {y:.1}L{to:.1} {at:.1}\"/>",
            line.number % COLOURS.len()
        );
        put!(
            svg,
            "<path class=\"mark\" transform=\"translate({:.1} {at:.1})\" d=\"{}\"/>",
            to + 6.0,
            mark(line.number)
        );
        let name: String = escape_all(line.name).chars().take(10).collect();
        put!(
            svg,
            "<text class=\"name\" x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
            to + 15.0,
            at + 4.0,
            xml(&name)
        );
    }
}

#[cfg(test)]
mod tests;
