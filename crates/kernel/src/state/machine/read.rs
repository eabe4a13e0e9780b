//! Converts the TOML text of a machine file to a machine.

use crate::state::cost::Costs;
use crate::state::machine::constant::Constant;
use crate::state::machine::energy::EnergyTable;
use crate::state::machine::frequency::{CapacityTable, Frequency};
use crate::state::machine::text::Text;
use crate::state::machine::text::in_range;
use crate::state::machine::{Machine, MachineError, Problem, energy, frequency, realtime, shape, timeline};
use keel_abi::lines::{LEAST_LINE_BYTES, LINE_BYTES, LineCosts};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use toml::Spanned;

/// The range of ticks per second.
const HZ: RangeInclusive<u64> = 1..=10_000;

/// The range of the cost of a cache-line transfer in picoseconds, up to a millisecond.
pub(super) const LINE_PS: RangeInclusive<u64> = 0..=1_000_000_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    hz: Option<Spanned<u64>>,
    skew_tick: Option<bool>,
    autogroup: Option<bool>,
    topology: Option<Spanned<shape::RegularTable>>,
    #[serde(default)]
    node: Vec<Spanned<shape::NodeTable>>,
    #[serde(default)]
    capacity: Vec<CapacityTable>,
    #[serde(default)]
    energy: Vec<EnergyTable>,
    #[serde(default)]
    timeline: Vec<Spanned<timeline::Entry>>,
    #[serde(default)]
    realtime: realtime::Table,
    #[serde(default)]
    frequency: Constants,
    #[serde(default)]
    costs: Constants,
    #[serde(default)]
    lines: Constants,
}

type Constants = BTreeMap<Spanned<String>, Constant>;

/// Parses a file. Constants that are missing come from `base`. Without `base`, none may be missing.
pub(super) fn parse(source: &str, base: Option<&Machine>) -> Result<Machine, MachineError> {
    let text = Text(source);
    let file: File =
        keel_tables::read(source).map_err(|wrong| text.error(wrong.at, "", Problem::Syntax(wrong.said)))?;
    let mut costs = base.map_or_else(Costs::default, |b| b.costs.clone());
    let mut lines = base.map_or_else(LineCosts::default, |b| b.lines);
    apply(text, "costs", &file.costs, Costs::NAMES, base.is_none(), |n, v| set(costs.slot(n)?, v))?;
    apply(text, "lines", &file.lines, LINE_NAMES, base.is_none(), |n, v| match n {
        "bytes" if !v.is_power_of_two() => Some(Err(Problem::NoPowerOfTwo(v))),
        _ => set(line_slot(&mut lines, n)?, v),
    })?;
    let mut frequency = base.map_or_else(Frequency::default, |b| b.frequency);
    let names = Frequency::NAMES;
    apply(text, "frequency", &file.frequency, names, base.is_none(), |n, v| set(frequency.slot(n)?, v))?;
    let hz = match &file.hz {
        None => base.map_or(1000, |b| b.hz),
        Some(hz) => {
            let value = *hz.get_ref();
            in_range(value, HZ).map_err(|problem| text.error(hz.span(), "hz", problem))?;
            value as u32
        }
    };
    let topology = shape::read(text, file.topology, &file.node)?;
    let capacity = frequency::capacities(text, &file.capacity, &topology)?;
    let energy = energy::domains(text, &file.energy, &topology, &capacity)?;
    let timeline = timeline::read(text, &file.timeline, &topology)?;
    let realtime = realtime::read(text, &file.realtime)?;
    let (skew_tick, autogroup) = (file.skew_tick, file.autogroup.unwrap_or(true));
    Ok(Machine {
        name: file.name,
        topology,
        hz,
        skew_tick,
        autogroup,
        costs,
        policy_per_mille: 1000,
        lines,
        frequency,
        realtime,
        capacity,
        energy,
        timeline,
    })
}

/// Sets the constants of a table.
fn apply(
    text: Text<'_>,
    table: &str,
    given: &Constants,
    names: &'static [&'static str],
    all: bool,
    mut set: impl FnMut(&str, u64) -> Option<Result<(), Problem>>,
) -> Result<(), MachineError> {
    for (name, constant) in given {
        let field = format!("{table}.{}", name.get_ref());
        let unknown = || Problem::UnknownConstant { known: names.join(", ") };
        let Some((value, source)) = constant.whole() else {
            let problem = match names.contains(&name.get_ref().as_str()) {
                true => Problem::Incomplete { wanted: constant.wanted(name.get_ref()) },
                false => unknown(),
            };
            return Err(text.error(name.span(), field, problem));
        };
        let Some(done) = set(name.get_ref(), *value.get_ref()) else {
            return Err(text.error(name.span(), field, unknown()));
        };
        done.map_err(|problem| text.error(value.span(), &field, problem))?;
        if source.get_ref().trim().is_empty() {
            return Err(text.error(source.span(), field, Problem::NoSource));
        }
    }
    let missing = names.iter().find(|&&n| !given.keys().any(|k| k.get_ref() == n));
    match missing {
        Some(name) if all => Err(text.error(0..0, table, Problem::MissingConstant(name))),
        _ => Ok(()),
    }
}

fn set((slot, range): (&mut u64, RangeInclusive<u64>), value: u64) -> Option<Result<(), Problem>> {
    *slot = value;
    Some(in_range(value, range))
}

pub(super) const LINE_NAMES: &[&str] =
    &["bytes", "smt_ps", "llc_ps", "node_ps", "hop_ps", "more_hops_ps", "memory_ps", "tasks_held"];

/// Returns the constant with this name, and its range.
pub(super) fn line_slot<'a>(
    lines: &'a mut LineCosts,
    name: &str,
) -> Option<(&'a mut u64, RangeInclusive<u64>)> {
    let slot = match name {
        "bytes" => return Some((&mut lines.bytes, LEAST_LINE_BYTES..=LINE_BYTES)),
        "tasks_held" => return Some((&mut lines.tasks_held, 0..=1 << 16)),
        "smt_ps" => &mut lines.smt_ps,
        "llc_ps" => &mut lines.llc_ps,
        "node_ps" => &mut lines.node_ps,
        "hop_ps" => &mut lines.hop_ps,
        "more_hops_ps" => &mut lines.more_hops_ps,
        "memory_ps" => &mut lines.memory_ps,
        _ => return None,
    };
    Some((slot, LINE_PS))
}
