//! Traces: reads, judges and displays them as `keel check` does, first unchanged, and then with an end inserted where
//! they become invalid.

use keel_abi::{Instant, Span};
use keel_check::Judge;
use keel_report::{CheckReport, RunFacts, RunReport, Style};
use keel_trace::{Cut, Fanout, Reader, TraceError};

/// The size of the magic number and the version.
const HEAD: usize = 8;
/// The first byte of an end that belongs to the record before it.
const END: u8 = 26 | 0x20 | 0x40;

/// Runs the target on one trace.
pub fn run(input: &[u8]) {
    if check(input).is_err()
        && let Some(whole) = mended(input)
    {
        // If the repaired trace is rejected, the fault was also in the original.
        let _ = check(&whole);
    }
}

/// Does what `keel check` does, also with a part of the trace.
fn check(bytes: &[u8]) -> Result<(), TraceError> {
    show(&mut judge(bytes, Instant::ZERO..Instant::ZERO + Span::from_ns(u64::MAX))?);
    judge(bytes, Instant::ZERO + Span::from_us(3)..Instant::ZERO + Span::from_us(900))?.judgement();
    Ok(())
}

fn judge(bytes: &[u8], range: std::ops::Range<Instant>) -> Result<Judge, TraceError> {
    let mut judge = Judge::default();
    let mut sinks = Fanout::new().with(&mut judge);
    Reader::new(bytes)?.pump(&mut Cut::new(range, &mut sinks))?;
    Ok(judge)
}

fn show(judge: &mut Judge) {
    let facts = RunFacts { scheduler: "s".into(), workload: "w".into(), ..RunFacts::default() };
    let report = CheckReport::new(RunReport::new(&facts, &judge.judgement()), 1, 0);
    let shown = report.text(Style { width: 80, colour: false });
    assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "a control character: {shown:?}");
    serde_json::to_string(&report).expect("reports have only string keys");
}

/// Returns the records before the invalid one, with a matching end.
pub(crate) fn mended(input: &[u8]) -> Option<Vec<u8>> {
    // No record begins with this byte, so the last complete record is followed by an invalid one.
    let mut padded = input.to_vec();
    padded.extend_from_slice(&[0xff; 64]);
    let mut reader = Reader::new(padded.as_slice()).ok()?;
    let mut records = 0_u64;
    let wrong = loop {
        match reader.next_item() {
            Ok(Some(_)) => records += 1,
            Ok(None) => return None,
            Err(TraceError::Damaged { at, .. }) => break usize::try_from(at).ok()?,
            Err(_) => return None,
        }
    };
    if records == 0 {
        return None;
    }
    let mut whole = padded.get(..wrong.max(HEAD))?.to_vec();
    whole.push(END);
    number(&mut whole, records);
    let checksum = crc32fast::hash(&whole);
    whole.extend_from_slice(&checksum.to_le_bytes());
    Some(whole)
}

fn number(to: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        to.push(n as u8 | 0x80);
        n >>= 7;
    }
    to.push(n as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_put_where_a_trace_goes_wrong() {
        let whole = crate::seeds::trace();
        assert!(check(&whole).is_ok());
        for cut in [whole.len() / 3, whole.len() / 2, whole.len() - 3] {
            let part = &whole[..cut];
            assert!(check(part).is_err());
            assert!(check(&mended(part).expect("something is left")).is_ok(), "{cut}");
        }
    }
}
