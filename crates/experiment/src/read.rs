//! Converts an experiment's TOML file to an [`Experiment`].

mod claim;
mod table;

use crate::error::{ExperimentError, Problem};
use crate::model::{Arm, Experiment, Until};
use keel_abi::{Noise, Span};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use toml::{Spanned, Value};

/// The range of a run's length in milliseconds, up to an hour.
const MS: RangeInclusive<u64> = 1..=3_600_000;
/// The maximum number of arms, and of claims.
const MOST: usize = 64;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    id: Spanned<String>,
    title: Spanned<String>,
    source: Spanned<String>,
    modelled: Spanned<String>,
    #[serde(default)]
    story: String,
    trend: Option<Spanned<f64>>,
    machine: Option<String>,
    workload: Option<String>,
    duration_ms: Option<Spanned<u64>>,
    ends_within_ms: Option<Spanned<u64>>,
    warm_up_ms: Option<Spanned<u64>>,
    seed: Option<u64>,
    runs: Option<Spanned<u64>>,
    noise: Option<Spanned<String>>,
    #[serde(default)]
    arm: Vec<Spanned<ArmTable>>,
    #[serde(default)]
    claim: Vec<Spanned<claim::Table>>,
    #[serde(default)]
    table: Vec<Spanned<table::TableTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ArmTable {
    label: Spanned<String>,
    scheduler: Spanned<String>,
    version: Option<Spanned<String>>,
    #[serde(default)]
    settings: BTreeMap<Spanned<String>, Value>,
    workload: Option<String>,
    machine: Option<String>,
}

/// A file's name and text, to locate errors.
#[derive(Clone, Copy)]
struct Text<'a> {
    file: &'a str,
    text: &'a str,
}

impl Text<'_> {
    fn error(self, at: Range<usize>, field: impl Into<String>, problem: Problem) -> ExperimentError {
        let line = keel_tables::line(self.text, at.start);
        ExperimentError { file: self.file.to_owned(), line, field: field.into(), problem }
    }

    /// Returns a text if it is not empty.
    fn said(
        self,
        what: &Spanned<String>,
        field: &str,
        meant: &'static str,
    ) -> Result<String, ExperimentError> {
        match what.get_ref().trim() {
            "" => Err(self.error(what.span(), field, Problem::Empty(meant))),
            text => Ok(text.to_owned()),
        }
    }

    /// Returns a name if files, JSON and command lines can contain it.
    fn name(self, what: &Spanned<String>, field: &str) -> Result<String, ExperimentError> {
        let name = what.get_ref();
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.len() > 64 || name.starts_with('-') || !name.chars().all(good) {
            return Err(self.error(what.span(), field, Problem::BadName(name.clone())));
        }
        Ok(name.clone())
    }

    /// Returns a version if it is written as for cargo. It becomes part of a folder's name.
    fn version(self, what: &Spanned<String>, field: &str) -> Result<String, ExperimentError> {
        let version = what.get_ref();
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
        if !version.starts_with(|c: char| c.is_ascii_digit()) || !version.chars().all(good) {
            return Err(self.error(what.span(), field, Problem::BadVersion(version.clone())));
        }
        Ok(version.clone())
    }

    fn span_ms(
        self,
        what: &Spanned<u64>,
        field: &str,
        range: RangeInclusive<u64>,
    ) -> Result<Span, ExperimentError> {
        let value = *what.get_ref();
        if range.contains(&value) {
            return Ok(Span::from_ms(value));
        }
        let problem = Problem::OutOfRange { value, least: *range.start(), most: *range.end() };
        Err(self.error(what.span(), field, problem))
    }

    fn counted<T>(self, list: &[Spanned<T>], field: &str, least: usize) -> Result<(), ExperimentError> {
        if (least..=MOST).contains(&list.len()) {
            return Ok(());
        }
        let at = list.first().map_or(0..0, Spanned::span);
        Err(self.error(at, field, Problem::Count { given: list.len(), least, most: MOST }))
    }
}

/// Reads an experiment. `file` is the file's name, for messages.
///
/// # Errors
/// Fails with the first error, and its position.
pub fn read(file: &str, text: &str) -> Result<Experiment, ExperimentError> {
    let place = Text { file, text };
    let tables: File =
        keel_tables::read(text).map_err(|wrong| place.error(wrong.at, "", Problem::Syntax(wrong.said)))?;
    let id = place.name(&tables.id, "id")?;
    let title = place.said(&tables.title, "title", "what the experiment is")?;
    let source = place.said(&tables.source, "source", "where it was published")?;
    let modelled = place.said(&tables.modelled, "modelled", "what is modelled, and what is not")?;
    let trend = tables.trend.as_ref().map(|least| trend(place, least)).transpose()?;
    let until = until(place, &tables)?;
    let warm_up = match &tables.warm_up_ms {
        Some(ms) => place.span_ms(ms, "warm_up_ms", 0..=(until.longest().as_ns() / 1_000_000 - 1))?,
        None => Span::ZERO,
    };
    let arms = arms(place, &tables)?;
    place.counted(&tables.claim, "claim", 1)?;
    let claim = |(at, table): (usize, &Spanned<claim::Table>)| claim::read(place, at, table, &arms);
    let claims = tables.claim.iter().enumerate().map(claim).collect::<Result<Vec<_>, _>>()?;
    if tables.table.len() > MOST {
        return Err(place.error(
            tables.table[MOST].span(),
            "table",
            Problem::BadPublished("there are too many tables"),
        ));
    }
    let table = |(at, table): (usize, &Spanned<table::TableTable>)| table::read(place, at, table, &arms);
    let published = tables.table.iter().enumerate().map(table).collect::<Result<Vec<_>, _>>()?;
    for (at, table) in tables.arm.iter().enumerate() {
        let uses = |arm: Option<usize>| arm == Some(at);
        if !claims
            .iter()
            .any(|c| uses(Some(c.of)) || uses(c.to) || uses(c.less) || uses(c.off.as_ref().map(|o| o.arm)))
        {
            let problem = Problem::Unused(arms[at].label.clone());
            return Err(place.error(table.get_ref().label.span(), format!("arm[{at}].label"), problem));
        }
    }
    let seed = tables.seed.unwrap_or(1);
    let runs = tables.runs.as_ref().map(|runs| runs_of_arm(place, runs)).transpose()?;
    let noise = noise(place, &tables)?;
    Ok(Experiment {
        id,
        title,
        source,
        modelled,
        story: tables.story.trim().to_owned(),
        trend,
        until,
        warm_up,
        seed,
        runs,
        noise,
        arms,
        claims,
        tables: published,
    })
}

/// Returns how often an arm is run. At least twice, because A/A compares two runs.
fn runs_of_arm(place: Text<'_>, runs: &Spanned<u64>) -> Result<u32, ExperimentError> {
    const RANGE: RangeInclusive<u64> = 2..=1000;
    let value = *runs.get_ref();
    match u32::try_from(value) {
        Ok(runs) if RANGE.contains(&value) => Ok(runs),
        _ => {
            let problem = Problem::OutOfRange { value, least: *RANGE.start(), most: *RANGE.end() };
            Err(place.error(runs.span(), "runs", problem))
        }
    }
}

/// Returns a rank correlation if it is above 0.
fn trend(place: Text<'_>, least: &Spanned<f64>) -> Result<f64, ExperimentError> {
    let value = *least.get_ref();
    if value > 0.0 && value <= 1.0 {
        return Ok(value);
    }
    Err(place.error(least.span(), "trend", Problem::BadTrend))
}

fn until(place: Text<'_>, tables: &File) -> Result<Until, ExperimentError> {
    match (&tables.duration_ms, &tables.ends_within_ms) {
        (Some(ms), None) => place.span_ms(ms, "duration_ms", MS).map(Until::After),
        (None, Some(ms)) => place.span_ms(ms, "ends_within_ms", MS).map(|at_most| Until::End { at_most }),
        (Some(ms), Some(_)) => Err(place.error(ms.span(), "duration_ms", Problem::NoEnd)),
        (None, None) => Err(place.error(0..0, "duration_ms", Problem::NoEnd)),
    }
}

fn noise(place: Text<'_>, tables: &File) -> Result<Noise, ExperimentError> {
    let Some(word) = &tables.noise else { return Ok(Noise::None) };
    let unknown = || place.error(word.span(), "noise", Problem::BadNoise(word.get_ref().clone()));
    Noise::named(word.get_ref()).ok_or_else(unknown)
}

fn arms(place: Text<'_>, tables: &File) -> Result<Vec<Arm>, ExperimentError> {
    place.counted(&tables.arm, "arm", 1)?;
    let mut arms: Vec<Arm> = Vec::new();
    for (at, spanned) in tables.arm.iter().enumerate() {
        let table = spanned.get_ref();
        let field = |name: &str| format!("arm[{at}].{name}");
        let label = place.name(&table.label, &field("label"))?;
        if arms.iter().any(|arm| arm.label == label) {
            return Err(place.error(table.label.span(), field("label"), Problem::Twice(label)));
        }
        let scheduler = place.said(&table.scheduler, &field("scheduler"), "who schedules")?;
        let version = match &table.version {
            Some(_) if !begins_with_name(&scheduler) => {
                return Err(place.error(table.scheduler.span(), field("scheduler"), Problem::NoProgram));
            }
            Some(version) => Some(place.version(version, &field("version"))?),
            None => None,
        };
        let given = |own: &Option<String>, all: &Option<String>, what| match own.as_ref().or(all.as_ref()) {
            Some(name) => Ok(name.clone()),
            None => Err(place.error(spanned.span(), field(what), Problem::Missing(what))),
        };
        let workload = given(&table.workload, &tables.workload, "workload")?;
        let machine = given(&table.machine, &tables.machine, "machine")?;
        let settings = settings(place, table, &field("settings"))?;
        arms.push(Arm { label, scheduler, version, settings, workload, machine });
    }
    Ok(arms)
}

/// Returns whether the first word is the name of a crate.
fn begins_with_name(command: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    command.split_whitespace().next().is_some_and(|name| name.chars().all(good))
}

fn settings(
    place: Text<'_>,
    table: &ArmTable,
    field: &str,
) -> Result<Vec<(String, String)>, ExperimentError> {
    let written = |(name, value): (&Spanned<String>, &Value)| {
        let value = match value {
            Value::Integer(n) => n.to_string(),
            Value::Boolean(b) => b.to_string(),
            Value::String(text) => text.clone(),
            _ => {
                let problem = Problem::BadSetting(name.get_ref().clone());
                return Err(place.error(name.span(), field, problem));
            }
        };
        Ok((name.get_ref().clone(), value))
    };
    table.settings.iter().map(written).collect()
}

#[cfg(test)]
mod tests;
