//! Draws the document: title, legend, strips.

use super::below::Below;
use super::heat::Heat;
use super::layout::{CLOCK, LEFT, Layout, WIDTH};
use super::paths::{HATCHES, LEVELS, Paths};
use crate::run::RunReport;
use crate::verdict::sentence;
use keel_abi::Span;
use keel_check::escape_all;
use std::fmt::Write;

/// The number of characters of the title that fit on a line.
const TITLE_LINE: usize = 112;
/// Pixels between two lines of the title.
const LINE: u32 = 22;
/// Pixels between two lines of the legend.
const SMALL_LINE: u32 = 18;
/// Pixels that a row needs for the number of its CPU.
const NUMBERED: u32 = 9;

/// The text above the picture.
#[derive(Clone, Debug)]
pub struct Caption {
    /// The verdict.
    pub title: String,
    /// Scheduler, workload, machine, seed.
    pub subtitle: String,
}

impl Caption {
    /// Returns the caption of a run's picture.
    pub fn of(run: &RunReport) -> Self {
        let [scheduler, workload, machine] =
            [&run.scheduler, &run.workload, &run.machine].map(|name| escape_all(name));
        // A recording has neither a machine's name nor a seed.
        let made = match machine.as_str() {
            "" => String::new(),
            machine => format!(" · machine {machine} · seed {}", run.seed),
        };
        Self { title: sentence(run), subtitle: format!("scheduler {scheduler} · workload {workload}{made}") }
    }
}

/// Converts `text` to XML character data: escapes markup, and replaces characters that XML does not allow.
pub(crate) fn xml(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in printable_once(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// Replaces control characters in a caption, which is untrusted, but keeps what is already escaped.
fn printable_once(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Breaks a text between words.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.len() - 1;
        if !lines[line].is_empty() && lines[line].chars().count() + 1 + word.chars().count() > most {
            lines.push(word.to_owned());
            continue;
        }
        if !lines[line].is_empty() {
            lines[line].push(' ');
        }
        lines[line].push_str(word);
    }
    lines
}

macro_rules! put {
    // Writing to a string cannot fail.
    ($svg:expr, $($format:tt)*) => { let _ = writeln!($svg, $($format)*); };
}

/// Returns the whole document.
pub(super) fn document(heat: &Heat, below: impl Fn(&Layout) -> Below, caption: &Caption) -> String {
    let Some(topology) = &heat.topology else {
        return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1\" height=\"1\"/>\n".to_owned();
    };
    let layout = Layout::new(topology, heat.duration());
    let paths = Paths::new(heat, &layout);
    let lines = wrapped(&caption.title, TITLE_LINE);
    let below = below(&layout);
    let said = below.legend();
    let head = 18 + LINE * lines.len() as u32 + 64 + SMALL_LINE * said.len() as u32;
    let strip = layout.height + below.height(&layout) + CLOCK;
    let (width, height) = (LEFT + WIDTH + 30, head + strip * layout.strips as u32 + 16);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" \
         width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>{}</title>\n<desc>{}</desc>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        xml(&caption.title),
        xml(&caption.subtitle)
    );
    let stretch = f64::from(WIDTH) * paths.column_ns as f64 / layout.strip_ns as f64;
    definitions(&mut svg, &layout, &paths, stretch);
    titles(&mut svg, &lines, &caption.subtitle);
    below.define(&mut svg, &layout);
    let under = head - SMALL_LINE * said.len() as u32;
    legend(&mut svg, under - 40);
    for (line, y) in said.iter().zip((under - 8..).step_by(SMALL_LINE as usize)) {
        put!(svg, "<text x=\"16\" y=\"{y}\" fill=\"#444\">{line}</text>");
    }
    for number in 0..layout.strips {
        let top = head + strip * number as u32 + CLOCK;
        strip_at(
            &mut svg,
            heat,
            &layout,
            number,
            top,
            stretch * (layout.strip_ns as f64 / paths.column_ns as f64),
        );
        below.strips(&mut svg, &layout, number, shown_width(heat, &layout, number), top + layout.height);
    }
    svg + "</svg>\n"
}

/// Writes the definitions that the strips share: hatchings, the window of a strip, and the whole run as one long row of
/// columns. Each strip shows its part of that row.
fn definitions(svg: &mut String, layout: &Layout, paths: &Paths, stretch: f64) {
    put!(svg, "<defs>");
    for (name, width) in [("light", 1.1), ("dense", 2.4)] {
        for (suffix, scale) in [("", 1.0 / stretch), ("-legend", 1.0)] {
            put!(
                svg,
                "<pattern id=\"{name}{suffix}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
                 patternTransform=\"scale({scale:.5} 1) rotate(45)\">\
                 <path d=\"M0 3h6\" stroke=\"#1f3bff\" stroke-width=\"{width}\"/></pattern>"
            );
        }
    }
    put!(svg, "<clipPath id=\"strip\"><rect width=\"{WIDTH}\" height=\"{}\"/></clipPath>", layout.height);
    let middle = f64::from(layout.row) / 2.0;
    put!(svg, "<g id=\"run\" fill=\"none\" stroke-width=\"{}\" shape-rendering=\"crispEdges\">", layout.row);
    put!(svg, "<g transform=\"scale({stretch:.5} 1) translate(0 {middle})\">");
    for ((_, colour), path) in LEVELS.iter().zip(&paths.levels).filter(|(_, path)| !path.is_empty()) {
        put!(svg, "<path stroke=\"{colour}\" d=\"{path}\"/>");
    }
    for ((_, name), path) in HATCHES.iter().zip(&paths.hatches).filter(|(_, path)| !path.is_empty()) {
        put!(svg, "<path stroke=\"url(#{name})\" d=\"{path}\"/>");
    }
    put!(svg, "</g></g></defs>");
}

fn titles(svg: &mut String, lines: &[String], subtitle: &str) {
    let mut y = 18;
    for line in lines {
        y += LINE;
        put!(
            svg,
            "<text x=\"16\" y=\"{}\" font-size=\"17\" font-weight=\"bold\">{}</text>",
            y - 8,
            xml(line)
        );
    }
    put!(svg, "<text x=\"16\" y=\"{}\" fill=\"#444\">{}</text>", y + 12, xml(subtitle));
}

fn legend(svg: &mut String, y: u32) {
    let labels = ["half idle", "1 runnable thread", "2", "3 to 4", "5 to 8", "more"];
    let colours = LEVELS.iter().map(|level| level.1.to_owned());
    let mut entries = vec![("#fff".to_owned(), "idle")];
    entries.extend(colours.zip(labels));
    entries.push(("url(#dense-legend)".to_owned(), "idle while a thread waited for a CPU"));
    entries.push(("url(#light-legend)".to_owned(), "the same for 10 to 50 % of the time"));
    let mut x = 16;
    for (fill, label) in entries {
        put!(
            svg,
            "<rect x=\"{x}.5\" y=\"{y}.5\" width=\"22\" height=\"13\" fill=\"{fill}\" stroke=\"#000\" stroke-width=\".7\"/>"
        );
        put!(svg, "<text x=\"{}\" y=\"{}\">{label}</text>", x + 28, y + 11);
        x += 46 + (label.len() as u32 * 13).div_ceil(2);
    }
}

/// Draws one strip: its clock, its part of the run, and the nodes with their lines.
fn strip_at(svg: &mut String, heat: &Heat, layout: &Layout, number: u64, top: u32, width: f64) {
    let from = number * layout.strip_ns;
    let right = shown_width(heat, layout, number);
    put!(svg, "<g transform=\"translate({LEFT} {top})\">");
    let back = number as f64 * width;
    put!(svg, "<g clip-path=\"url(#strip)\"><use xlink:href=\"#run\" x=\"-{back:.3}\"/></g>");
    for part in 0..=4 {
        let x = f64::from(WIDTH) * f64::from(part) / 4.0;
        let clock = from + layout.strip_ns * u64::from(part as u32) / 4;
        if x > right + 1.0 {
            break;
        }
        let anchor = if part == 0 {
            "start"
        } else if part == 4 {
            "end"
        } else {
            "middle"
        };
        put!(svg, "<path d=\"M{x:.1} -5v5\" stroke=\"#000\"/>");
        put!(
            svg,
            "<text x=\"{x:.1}\" y=\"-8\" text-anchor=\"{anchor}\" fill=\"#444\">{}</text>",
            clock_text(clock, layout)
        );
    }
    frame(svg, layout, right);
    put!(svg, "</g>");
}

/// Returns how much of a strip the run fills, in pixels.
fn shown_width(heat: &Heat, layout: &Layout, number: u64) -> f64 {
    let shown = (heat.duration() - number * layout.strip_ns).min(layout.strip_ns);
    f64::from(WIDTH) * shown as f64 / layout.strip_ns as f64
}

/// Draws the nodes, their lines, the numbers of CPUs if there is enough space, and the end of the run.
pub(super) fn frame(svg: &mut String, layout: &Layout, right: f64) {
    for node in &layout.nodes {
        let (above, below) = (f64::from(node.top) - 0.5, f64::from(node.bottom) + 0.5);
        put!(
            svg,
            "<path d=\"M-6 {above}H{right:.1}M-6 {below}H{right:.1}\" stroke=\"#000\" stroke-width=\"1\"/>"
        );
        let middle = (node.top + node.bottom) / 2 + 4;
        let x = if layout.row < NUMBERED { -12 } else { -21 };
        put!(svg, "<text x=\"{x}\" y=\"{middle}\" text-anchor=\"end\">node {}</text>", node.id);
    }
    if layout.row >= NUMBERED {
        put!(svg, "<g font-size=\"9\" fill=\"#444\" text-anchor=\"end\">");
        for (cpu, top) in &layout.tops {
            put!(svg, "<text x=\"-8\" y=\"{}\">{cpu}</text>", top + layout.row / 2 + 3);
        }
        put!(svg, "</g>");
    }
    put!(svg, "<path d=\"M{right:.1} 0V{}\" stroke=\"#000\" stroke-width=\".7\"/>", layout.height);
}

/// Returns a clock time. All ticks have one unit, and just enough digits to distinguish them.
fn clock_text(ns: u64, layout: &Layout) -> String {
    let (unit, name) = match layout.strip_ns {
        0..1_000_000 => (1e3, "µs"),
        1_000_000..1_000_000_000 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    match Span::from_ns(layout.strip_ns / 4).as_ns() as f64 / unit {
        step if step >= 1.0 && step.fract() == 0.0 => format!("{:.0} {name}", ns as f64 / unit),
        _ => format!("{:.3} {name}", ns as f64 / unit),
    }
}
