//! Reads a `[[claim]]` table.

use super::Text;
use crate::error::{ExperimentError, Problem};
use crate::model::{Arm, Band, Claim, Off, Published, Side};
use keel_check::Measure;
use serde::Deserialize;
use toml::{Spanned, Value};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    says: Spanned<String>,
    measure: Spanned<String>,
    #[serde(default)]
    tasks: Vec<String>,
    of: Spanned<String>,
    to: Option<Spanned<String>>,
    less: Option<Spanned<String>>,
    published: Spanned<PublishedTable>,
    band: Spanned<Value>,
    off: Option<OffTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedTable {
    ratio: Option<f64>,
    of: Option<Vec<f64>>,
    to: Option<Vec<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OffTable {
    arm: Spanned<String>,
    instead_of: Spanned<String>,
    gone: Spanned<String>,
}

/// A claim, and its position in the file.
struct Place<'a> {
    text: Text<'a>,
    at: usize,
    arms: &'a [Arm],
}

impl Place<'_> {
    fn field(&self, name: &str) -> String {
        format!("claim[{}].{name}", self.at)
    }

    fn arm(&self, label: &Spanned<String>, field: &str) -> Result<usize, ExperimentError> {
        self.arms.iter().position(|arm| arm.label == *label.get_ref()).ok_or_else(|| {
            let labels: Vec<&str> = self.arms.iter().map(|arm| arm.label.as_str()).collect();
            let problem = Problem::NoArm { name: label.get_ref().clone(), known: labels.join(", ") };
            self.text.error(label.span(), self.field(field), problem)
        })
    }
}

/// Reads the claim at index `at` of its file.
pub(super) fn read(
    text: Text<'_>,
    at: usize,
    table: &Spanned<Table>,
    arms: &[Arm],
) -> Result<Claim, ExperimentError> {
    let place = Place { text, at, arms };
    let table = table.get_ref();
    let says = text.said(&table.says, &place.field("says"), "what is claimed")?;
    let measure = measure(&place, &table.measure)?;
    let of = place.arm(&table.of, "of")?;
    let to = table.to.as_ref().map(|to| place.arm(to, "to")).transpose()?;
    if let (Some(label), true) = (&table.to, to == Some(of)) {
        let problem = Problem::Itself(label.get_ref().clone());
        return Err(text.error(label.span(), place.field("to"), problem));
    }
    let less = table.less.as_ref().map(|less| place.arm(less, "less")).transpose()?;
    let is_order = table.band.get_ref().as_str() == Some("order");
    let published = published(&place, &table.published, to.is_some(), is_order)?;
    let band = band(&place, &table.band)?;
    if !table.tasks.is_empty() && !measure.is_of_tasks() {
        let problem = Problem::NotOfTasks(measure.name());
        return Err(text.error(table.measure.span(), place.field("measure"), problem));
    }
    let listed =
        matches!(&published, Published::Samples { of, .. } if of.len() == table.tasks.len() && of.len() > 1);
    if band == Band::Order && (to.is_some() || less.is_some() || !listed) {
        return Err(text.error(table.band.span(), place.field("band"), Problem::NoOrder));
    }
    if matches!(band, Band::Effect | Band::Same) && to.is_none() {
        return Err(text.error(table.band.span(), place.field("band"), Problem::NoEffect));
    }
    let off = table.off.as_ref().map(|off| switched_off(&place, off, of, to)).transpose()?;
    let tasks = table.tasks.clone();
    Ok(Claim { says, measure, tasks, of, to, less, published, band, off })
}

pub(super) fn measure_named(name: &str) -> Result<Measure, Problem> {
    Measure::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Measure::ALL.iter().map(|measure| measure.name()).collect();
        Problem::NoMeasure { name: name.to_owned(), known: known.join(", ") }
    })
}

fn measure(place: &Place<'_>, name: &Spanned<String>) -> Result<Measure, ExperimentError> {
    measure_named(name.get_ref())
        .map_err(|problem| place.text.error(name.span(), place.field("measure"), problem))
}

fn published(
    place: &Place<'_>,
    table: &Spanned<PublishedTable>,
    compares: bool,
    is_order: bool,
) -> Result<Published, ExperimentError> {
    let bad = |why| Err(place.text.error(table.span(), place.field("published"), Problem::BadPublished(why)));
    let PublishedTable { ratio, of, to } = table.get_ref();
    let published = match (ratio, of, to, compares) {
        (Some(ratio), None, None, true) => Published::Ratio(*ratio),
        (None, Some(of), Some(to), true) => Published::Samples { of: of.clone(), to: to.clone() },
        (None, Some(of), None, false) => Published::Samples { of: of.clone(), to: Vec::new() },
        (_, _, _, true) => return bad("give either ratio, or the samples of both arms as of and to"),
        (_, _, _, false) => return bad("a claim without 'to' has samples of one arm: give of alone"),
    };
    // The counts of an order may be 0.
    let least = if is_order { 0.0 } else { f64::MIN_POSITIVE };
    let good = |n: &f64| n.is_finite() && *n >= least;
    let all_good = match &published {
        Published::Ratio(ratio) => good(ratio),
        Published::Samples { of, to } => {
            !of.is_empty() && to.is_empty() != compares && of.iter().chain(to).all(good)
        }
    };
    if all_good { Ok(published) } else { bad("every figure must be above 0, and each arm needs one") }
}

fn band(place: &Place<'_>, value: &Spanned<Value>) -> Result<Band, ExperimentError> {
    let number = |value: &Value| value.as_float().or(value.as_integer().map(|n| n as f64));
    let read = match value.get_ref() {
        Value::String(name) if name == "effect" => Some(Band::Effect),
        Value::String(name) if name == "order" => Some(Band::Order),
        Value::String(name) if name == "same" => Some(Band::Same),
        Value::Array(list) => match list.iter().map(number).collect::<Option<Vec<f64>>>().as_deref() {
            Some(&[low, high]) if low > 0.0 && low <= high && high.is_finite() => {
                Some(Band::Range(low, high))
            }
            _ => None,
        },
        Value::Table(table) if table.len() == 1 => match table.get("within").and_then(number) {
            Some(share) if share > 0.0 && share.is_finite() => Some(Band::Within(share)),
            _ => match table.get("factor").and_then(number) {
                Some(factor) if factor >= 1.0 && factor.is_finite() => Some(Band::Factor(factor)),
                _ => None,
            },
        },
        _ => None,
    };
    read.ok_or_else(|| place.text.error(value.span(), place.field("band"), Problem::BadBand))
}

fn switched_off(
    place: &Place<'_>,
    table: &OffTable,
    of: usize,
    to: Option<usize>,
) -> Result<Off, ExperimentError> {
    if to.is_none() {
        return Err(place.text.error(table.arm.span(), place.field("off"), Problem::NoMechanism));
    }
    let arm = place.arm(&table.arm, "off.arm")?;
    let side = match place.arm(&table.instead_of, "off.instead_of")? {
        stands if stands == of => Side::Of,
        stands if Some(stands) == to => Side::To,
        _ => {
            let problem = Problem::NotCompared(table.instead_of.get_ref().clone());
            return Err(place.text.error(table.instead_of.span(), place.field("off.instead_of"), problem));
        }
    };
    let gone = place.text.said(&table.gone, &place.field("off.gone"), "what must be gone")?;
    Ok(Off { arm, side, gone })
}
