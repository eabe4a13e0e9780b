//! Describes a recording's problems and what it lacks, in one sentence each.

use crate::source::{Damage, Facts};
use crate::survey::Survey;
use keel_abi::{CpuId, CpuSet};
use keel_trace::story::Counts;

/// With more than this share of unseen switches, the recording is considered one of only some tasks.
const UNSEEN_SHARE: f64 = 0.02;

/// Returns what is missing or invalid, and then what a recording of this kind lacks.
pub(crate) fn notes(
    facts: &Facts,
    damage: &Damage,
    survey: &Survey,
    counts: &Counts,
) -> (Vec<String>, Vec<String>) {
    let (mut notes, mut limits) = (Vec::new(), Vec::new());
    of_damage(damage, survey, &mut notes);
    of_time(survey, &mut notes);
    of_cpus(facts, survey, &mut notes);
    of_hotplug(survey, &mut limits);
    if survey.lost > 0 || facts.lost > 0 {
        let lost = survey.lost.saturating_add(facts.lost);
        notes.push(format!("{} lost during recording, so all figures are estimates", were(lost, "event")));
    }
    if survey.wakeups == 0 {
        limits.push(
            "it contains no wakeups: keel knows how long tasks waited only after preemptions, and wasted cores \
             are a lower bound"
                .to_owned(),
        );
    } else if counts.unwoken > 0 {
        let times = times(counts.unwoken);
        limits
            .push(format!("{times} a task ran without a recorded wakeup: how long it had waited is unknown"));
    }
    if counts.made_up > 0 {
        let made_up = were(counts.made_up, "switch");
        limits.push(format!("{made_up} missing and inferred from later events"));
        if counts.made_up as f64 > survey.switches as f64 * UNSEEN_SHARE && survey.lost == 0 {
            notes.push(
                "many switches are missing though none was reported lost: it seems to cover only some tasks or \
                 CPUs, and says little about the machine (perf record needs -a)"
                    .to_owned(),
            );
        }
    }
    limits.push(
        "it does not show which CPUs tasks may use or when they are throttled: pinned and throttled tasks look like waste"
            .to_owned(),
    );
    (notes, limits)
}

/// Returns why there is nothing to judge.
pub(crate) fn without_switches(survey: &Survey) -> String {
    match survey.records {
        0 => "no event could be read; record with perf sched record, or with trace-cmd record -e sched"
            .to_owned(),
        records => format!(
            "{} of other kinds; record with perf sched record, or with trace-cmd record -e sched",
            many(records, "event")
        ),
    }
}

fn of_damage(damage: &Damage, survey: &Survey, notes: &mut Vec<String>) {
    let place = if damage.lines { "line" } else { "byte" };
    if let Some((at, why)) = damage.ends {
        notes.push(format!("it cannot be read beyond {place} {at}: {why}; keel judges the part before it"));
    }
    if let Some((at, why)) = damage.first {
        let skipped = were(damage.skipped, "record");
        notes.push(format!("{skipped} damaged and skipped, the first at {place} {at}: {why}"));
    }
    if damage.unknown > 0 {
        notes.push(format!(
            "{} of events that the file does not describe, and skipped",
            were(damage.unknown, "record")
        ));
    }
    if survey.impossible > 0 {
        let were = were(survey.impossible, "record");
        notes.push(format!("{were} about impossible CPUs or tasks, and skipped"));
    }
}

fn of_time(survey: &Survey, notes: &mut Vec<String>) {
    let clock = survey.clock;
    if clock.wild > 0 {
        notes.push(format!("{} skipped because of impossible times", were(clock.wild, "record")));
    }
    if clock.backwards > 0 {
        let (times, furthest) = (times(clock.backwards), clock.furthest);
        notes.push(format!(
            "time ran backwards {times}, by up to {furthest}: such records get the time of the one before"
        ));
    }
    if clock.leaps > 0 {
        let (times, longest) = (times(clock.leaps), clock.longest);
        notes.push(format!(
            "time jumped ahead {times}, by up to {longest}, without a record from any CPU: figures assume that \
             nothing changed meanwhile"
        ));
    }
}

fn of_cpus(facts: &Facts, survey: &Survey, notes: &mut Vec<String>) {
    let all = facts.cpus.max(survey.cpu_limit);
    let silent: CpuSet = (0..all).filter(|cpu| !survey.cpus.contains_key(cpu)).map(CpuId).collect();
    match silent.len() {
        0 => {}
        1 => notes.push(format!("CPU {silent} has no record, so it is left out")),
        _ => notes.push(format!("CPUs {silent} have no record, so they are left out")),
    }
    let late: CpuSet = survey
        .cpus
        .iter()
        .filter(|(_, reported)| (reported.begins_late || facts.overwritten) && reported.at > survey.begins)
        .map(|(&cpu, _)| CpuId(cpu))
        .collect();
    if !late.is_empty() {
        let who = if late.len() == 1 { "CPU" } else { "CPUs" };
        notes.push(match facts.begins_with_switch {
            true => format!("what {who} {late} did before the first recorded switch is unknown"),
            false => format!(
                "older records of {who} {late} were overwritten: what happened there before the first remaining one is \
                 unknown"
            ),
        });
    }
}

fn of_hotplug(survey: &Survey, notes: &mut Vec<String>) {
    let (changed, who) = (&survey.changed, if survey.changed.len() == 1 { "CPU" } else { "CPUs" });
    if !changed.is_empty() && !survey.has_hotplug {
        notes.push(format!(
            "{who} {changed} went online or offline at an unknown time: an offline CPU looks idle (record cpuhp events, too)"
        ));
    }
}

fn many(count: u64, what: &str) -> String {
    let plural = match (count, what) {
        (1, _) => "",
        (_, "switch") => "es",
        _ => "s",
    };
    format!("{count} {what}{plural}")
}

/// Returns `1 record was` or `2 records were`.
fn were(count: u64, what: &str) -> String {
    format!("{} {}", many(count, what), if count == 1 { "was" } else { "were" })
}

fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}
