//! Draws the strip that shows which CPUs a decision looked at, at each moment. A blue bar marks the row of each CPU, a
//! thin line goes from the deciding CPU (a black dot) to all of them, and a red ring marks the chosen CPU. Pointing the
//! mouse at a decision shows it as text.

use super::MOMENTS;
use super::draw::xml;
use super::layout::{Layout, WIDTH};
use crate::notable::{Kept, Notable, Worth};
use crate::policy::{group_lines, sentence};
use keel_abi::CpuId;
use keel_abi::numbers::count;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The maximum size of all decisions together, in bytes.
const MOST_BYTES: usize = 300_000;
/// The colours of decisions made while there was waste, and of others.
const COLOURS: [&str; 2] = ["#1f3bff", "#a9b6cf"];

/// All decisions to draw, by strip.
#[derive(Debug, Default)]
pub(super) struct Considered {
    strips: BTreeMap<u64, Vec<(u64, String)>>,
    shown: u64,
    received: u64,
}

impl Considered {
    /// Returns the most informative decisions, as many as fit.
    pub(super) fn new(decisions: &Notable<MOMENTS>, layout: &Layout) -> Self {
        let tops: BTreeMap<CpuId, u32> = layout.tops.iter().copied().collect();
        let mut drawn = Self { received: decisions.received(), ..Self::default() };
        let mut bytes = 0;
        for kept in decisions.best_first() {
            let mark = mark(kept, layout, &tops);
            bytes += mark.len();
            if bytes > MOST_BYTES {
                break;
            }
            drawn.shown += 1;
            drawn.strips.entry(kept.at / layout.strip_ns).or_default().push((kept.at, mark));
        }
        drawn.strips.values_mut().for_each(|marks| marks.sort_by_key(|(at, _)| *at));
        drawn
    }

    /// Returns whether there is nothing to draw.
    pub(super) fn is_empty(&self) -> bool {
        self.strips.is_empty()
    }

    /// Returns their lines in the legend.
    pub(super) fn legend(&self) -> [String; 2] {
        let which = match self.shown < self.received {
            true => {
                format!("the {} most interesting of {} decisions", count(self.shown), count(self.received))
            }
            false if self.received == 1 => "1 decision".to_owned(),
            false => format!("{} decisions", count(self.received)),
        };
        [
            format!("under each strip: bars mark the CPUs that the scheduler looked at when it decided ({which})"),
            "blue: a CPU idled while a task waited; dot: the deciding CPU; red ring: the CPU chosen, or the busiest"
                .to_owned(),
        ]
    }

    /// Draws one strip, `right` pixels wide, with its top at 0.
    pub(super) fn strip(&self, svg: &mut String, layout: &Layout, number: u64, right: f64) {
        for node in &layout.nodes {
            let (top, height) = (node.top, node.bottom - node.top);
            // Writing to a string cannot fail.
            let _ = writeln!(
                svg,
                "<rect y=\"{top}\" width=\"{right:.1}\" height=\"{height}\" fill=\"#f4f4f4\"/>"
            );
        }
        let marks = self.strips.get(&number).map_or(&[][..], Vec::as_slice);
        marks.iter().for_each(|(_, mark)| svg.push_str(mark));
    }
}

fn mark(kept: &Kept, layout: &Layout, tops: &BTreeMap<CpuId, u32>) -> String {
    let within = kept.at % layout.strip_ns;
    let x = f64::from(WIDTH) * within as f64 / layout.strip_ns as f64;
    let middle = |cpu: CpuId| tops.get(&cpu).map(|top| f64::from(*top) + f64::from(layout.row) / 2.0);
    let policy = &kept.policy;
    let bars = bars(kept, layout);
    let reported = std::iter::once(sentence(policy)).chain(group_lines(policy)).map(|line| xml(&line));
    let reported = reported.collect::<Vec<_>>().join("\n");
    let colour = COLOURS[usize::from(kept.worth < Worth::AtWaste)];
    let mut svg = format!("<g stroke=\"{colour}\"><title>{:.6} s: {reported}</title>", kept.at as f64 / 1e9);
    let decider = middle(policy.cpu).unwrap_or_default();
    let ends = policy.considered.iter().chain(policy.chosen).filter_map(middle);
    let (low, high) = ends.fold((decider, decider), |(low, high), y| (low.min(y), high.max(y)));
    // Writing to a string cannot fail.
    let _ = write!(svg, "<path stroke-width=\".5\" d=\"M{x:.1} {low:.1}V{high:.1}\"/>");
    let _ = write!(svg, "<path stroke-width=\"2\" d=\"");
    for (top, height) in bars {
        let _ = write!(svg, "M{x:.1} {top}v{height}");
    }
    let _ = write!(svg, "\"/><circle cx=\"{x:.1}\" cy=\"{decider:.1}\" r=\"1.8\" stroke=\"none\"/>");
    if let Some(y) = policy.chosen.and_then(middle) {
        let _ =
            write!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\" fill=\"none\" stroke=\"#d40000\"/>");
    }
    svg + "</g>\n"
}

/// Returns the rows that were looked at, with neighbours joined into one bar: the top and height of each bar.
fn bars(kept: &Kept, layout: &Layout) -> Vec<(u32, u32)> {
    let mut bars: Vec<(u32, u32)> = Vec::new();
    for &(_, top) in layout.tops.iter().filter(|(cpu, _)| kept.policy.considered.contains(*cpu)) {
        match bars.last_mut() {
            Some((from, height)) if *from + *height == top => *height += layout.row,
            _ => bars.push((top, layout.row)),
        }
    }
    bars
}
