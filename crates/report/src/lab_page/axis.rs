//! Draws one claim on one axis: the published value and ours, the range in which ours must be, the difference between
//! two runs of the same scheduler, and the value with the mechanism off. The axis is logarithmic: 2 and 1/2 are equally
//! far from 1.
//!
//! Each mark has its own line with its name and its figure, so marks never overlap and no reader needs the colour.

use super::put;
use crate::experiment::ClaimReport;
use keel_abi::numbers::figures;
use std::fmt::Write;

const WIDTH: f64 = 416.0;
const LEFT: f64 = 104.0;
const RIGHT: f64 = 336.0;
const TOP: f64 = 8.0;
const LINE: f64 = 20.0;
/// The minimum distance of two figures below the axis, in pixels.
const APART: f64 = 36.0;
/// The narrowest axis: from its middle divided by this to its middle times this.
const NARROW: f64 = 1.25;

/// Draws the claim. Returns `None` if no figure has a logarithm.
pub(super) fn svg(claim: &ClaimReport) -> Option<String> {
    let is_ratio = claim.to.is_some();
    let rows = rows(claim);
    let mut values: Vec<f64> = rows.iter().flat_map(|row| row.mark.values()).chain(claim.band).collect();
    values.extend(is_ratio.then_some(1.0));
    values.retain(|value| value.is_finite() && *value > 0.0);
    let scale = Scale::over(&values)?;
    let bottom = TOP + LINE * rows.len() as f64;
    let mut svg = String::new();
    put!(
        svg,
        "<svg class=\"axis\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"published {}, ours {}\">",
        bottom + 24.0,
        figures(claim.published),
        claim.ours.map_or("not measured".to_owned(), figures)
    );
    let [from, to] = claim.band.map(|value| scale.at(value));
    put!(
        svg,
        "<rect class=\"band\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\"><title>our result must be in this band</title></rect>",
        (to - from).max(1.0),
        bottom - TOP
    );
    if is_ratio {
        let one = scale.at(1.0);
        put!(svg, "<path class=\"one\" d=\"M{one:.1} {TOP}V{bottom}\"/>");
    }
    put!(svg, "<path class=\"line\" d=\"M{LEFT} {bottom}H{RIGHT}\"/>");
    for tick in scale.ticks() {
        let at = scale.at(tick);
        put!(svg, "<path class=\"line\" d=\"M{at:.1} {bottom}v4\"/>");
        put!(
            svg,
            "<text class=\"note\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            bottom + 17.0,
            round(tick)
        );
    }
    for (at, row) in rows.iter().enumerate() {
        let y = TOP + LINE * (at as f64 + 0.5);
        put!(svg, "<text x=\"0\" y=\"{:.1}\">{}</text>", y + 4.0, row.name);
        row.mark.draw(&mut svg, &scale, y);
        put!(
            svg,
            "<text x=\"{WIDTH}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            y + 4.0,
            row.mark.figure()
        );
    }
    put!(svg, "</svg>");
    Some(svg)
}

struct Row {
    name: &'static str,
    mark: Mark,
}

enum Mark {
    Theirs(f64),
    Ours(f64),
    Off(f64),
    Itself([f64; 2]),
}

fn rows(claim: &ClaimReport) -> Vec<Row> {
    let row = |name, mark| Row { name, mark };
    let mut rows = vec![row("published", Mark::Theirs(claim.published))];
    rows.extend(claim.ours.map(|ours| row("ours", Mark::Ours(ours))));
    rows.extend(claim.off.map(|off| row("mechanism off", Mark::Off(off))));
    let itself = if claim.to.is_some() { "A/A" } else { "our runs" };
    rows.extend(claim.spread.map(|spread| row(itself, Mark::Itself(spread))));
    rows
}

impl Mark {
    fn values(&self) -> Vec<f64> {
        match self {
            Self::Theirs(value) | Self::Ours(value) | Self::Off(value) => vec![*value],
            Self::Itself(range) => range.to_vec(),
        }
    }

    fn figure(&self) -> String {
        match self {
            Self::Theirs(value) | Self::Ours(value) | Self::Off(value) => short(*value),
            Self::Itself([low, high]) => format!("{}–{}", short(*low), short(*high)),
        }
    }

    fn draw(&self, svg: &mut String, scale: &Scale, y: f64) {
        match *self {
            Self::Theirs(value) => {
                let x = scale.at(value);
                put!(svg, "<path class=\"theirs\" d=\"M{x:.1} {:.1}l6 6l-6 6l-6 -6z\"/>", y - 6.0);
            }
            Self::Ours(value) => {
                put!(svg, "<circle class=\"ours\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"5.5\"/>", scale.at(value));
            }
            Self::Off(value) => {
                put!(svg, "<circle class=\"off\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4.5\"/>", scale.at(value));
            }
            Self::Itself([low, high]) => {
                let (from, to) = (scale.at(low), scale.at(high));
                let width = (to - from).max(2.0);
                put!(
                    svg,
                    "<rect class=\"self\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"8\"/>",
                    y - 4.0
                );
            }
        }
    }
}

/// Shortens a number to fit next to the axis.
fn short(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{:.3}M", v / 1e6),
        v if v >= 1e4 => format!("{:.0}k", v / 1e3),
        v => figures(v),
    }
}

/// Returns a round value without trailing zeros.
fn round(value: f64) -> String {
    let text = short(value);
    match text.contains('.') && !text.contains('e') && !text.ends_with('M') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Converts values to pixels.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn over(values: &[f64]) -> Option<Self> {
        let low = values.iter().copied().reduce(f64::min)?;
        let high = values.iter().copied().reduce(f64::max)?;
        let middle = (low * high).sqrt();
        Some(Self { low: low.min(middle / NARROW) / 1.05, high: high.max(middle * NARROW) * 1.05 })
    }

    /// Returns a value's pixel. A value to the left of the axis, such as 0, is drawn at its left end.
    fn at(&self, value: f64) -> f64 {
        let share = (value.max(self.low) / self.low).ln() / (self.high / self.low).ln();
        LEFT + (RIGHT - LEFT) * share.min(1.0)
    }

    /// Returns round values, as many as fit.
    fn ticks(&self) -> Vec<f64> {
        let all = |steps: &[f64]| -> Vec<f64> {
            let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
            let ticks = decades.flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
            ticks.filter(|tick| (self.low..=self.high).contains(tick)).collect()
        };
        let fine: &[f64] = &[1.0, 1.1, 1.2, 1.4, 1.6, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
        let choices = [fine, &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0], &[1.0, 2.0, 5.0], &[1.0]];
        let fits =
            |ticks: &Vec<f64>| ticks.windows(2).all(|pair| self.at(pair[1]) - self.at(pair[0]) >= APART);
        let mut fitting = choices.iter().map(|steps| all(steps)).filter(fits);
        let last = || all(&[1.0]).into_iter().step_by(3).collect();
        fitting.find(|ticks| !ticks.is_empty()).unwrap_or_else(last)
    }
}
