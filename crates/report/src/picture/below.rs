//! Draws the strips below each strip of the heat map: which CPUs the scheduler looked at, and the loads that it
//! reported. There are none if the scheduler reports nothing.

use super::MOMENTS;
use super::considered::Considered;
use super::draw::frame;
use super::heat::Heat;
use super::layout::{LEFT, Layout};
use super::loads::{Drawn, Loads};
use crate::notable::Notable;
use std::fmt::Write;

/// Pixels between a strip and the one below it.
const GAP: u32 = 20;

/// The strips below.
pub(super) struct Below {
    considered: Option<Considered>,
    loads: Option<Drawn>,
}

impl Below {
    pub(super) fn new(decisions: &Notable<MOMENTS>, loads: &Loads, heat: &Heat, layout: &Layout) -> Self {
        let considered = Some(Considered::new(decisions, layout)).filter(|considered| !considered.is_empty());
        Self { considered, loads: Drawn::new(loads, heat, layout) }
    }

    /// Returns the height of all of them together, in pixels.
    pub(super) fn height(&self, layout: &Layout) -> u32 {
        let strips = u32::from(self.considered.is_some()) + u32::from(self.loads.is_some());
        strips * (layout.height + GAP)
    }

    /// Returns their lines in the legend.
    pub(super) fn legend(&self) -> Vec<String> {
        let considered = self.considered.iter().flat_map(Considered::legend);
        considered.chain(self.loads.as_ref().map(Drawn::legend)).collect()
    }

    /// Writes the definitions that the strips share.
    pub(super) fn define(&self, svg: &mut String, layout: &Layout) {
        self.loads.iter().for_each(|loads| loads.define(svg, layout));
    }

    /// Draws the strips below the one that ends at `bottom`. The run fills `right` pixels of it.
    pub(super) fn strips(&self, svg: &mut String, layout: &Layout, number: u64, right: f64, bottom: u32) {
        let mut top = bottom + GAP;
        let mut strip = |inside: &dyn Fn(&mut String)| {
            // Writing to a string cannot fail.
            let _ = writeln!(svg, "<g transform=\"translate({LEFT} {top})\">");
            inside(svg);
            frame(svg, layout, right);
            svg.push_str("</g>\n");
            top += layout.height + GAP;
        };
        if let Some(considered) = &self.considered {
            strip(&|svg| considered.strip(svg, layout, number, right));
        }
        if let Some(loads) = &self.loads {
            strip(&|svg| loads.strip(svg, number));
        }
    }
}
