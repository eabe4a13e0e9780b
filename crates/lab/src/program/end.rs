//! Ends a program after the run: sends SIGINT, and runs it until it exits.

use super::MOST_CALLS;
use super::half::Half;
use super::maps::Maps;
use crate::outcome::ProgramEnd;
use keel_abi::CpuId;
use keel_abi::bpf::{Engine, Errno};
use keel_kernel::Sim;
use keel_program::{Event, NoDesk, ProgramError};
use keel_trace::NullSink;
use keel_vm::Vm;
use std::cell::RefCell;

/// How long a program may take to end after SIGINT, in nanoseconds of its clock.
const MOST_END_NS: u64 = 60_000_000_000;
/// How long a program has to notice on its own that its scheduler has exited.
const NOTICE_NS: u64 = 5_000_000_000;

/// Sends the program SIGINT after the run, and waits until it exits.
pub(super) fn finish(
    half: &RefCell<Half>,
    mut sim: Option<&mut Sim<Vm>>,
) -> Result<ProgramEnd, ProgramError> {
    let half = &mut *half.borrow_mut();
    // Its time is no longer part of the run.
    half.program.dismiss_clients();
    let has_ended = sim.as_ref().is_none_or(|sim| sim.exit().is_some());
    let run_ns = sim.as_ref().map_or(0, |sim| sim.now().as_ns());
    let mut now_ns = (half.since_ns + run_ns).max(half.program.now_ns());
    if !half.is_attached && sim.is_some() {
        half.program.attached(None)?;
    }
    if let Some(sim) = &mut sim {
        // The end of the run has interrupted a program of the object.
        half.ran(sim.engine().world(), 0)?;
    }
    let start_ns = now_ns;
    let first_calls = half.program.calls();
    // If its scheduler has exited, the program notices that on its own.
    let mut is_told = !has_ended;
    if is_told {
        half.program.interrupt()?;
    }
    while half.program.exit_code().is_none() {
        let event = match &mut sim {
            Some(sim) => {
                let mut maps = Maps { world: sim.engine().world(), cpu: CpuId(0), view: None };
                half.program.step(now_ns, &mut maps)?
            }
            None => half.program.step(now_ns, &mut NoDesk)?,
        };
        match event {
            Event::Idle { until_ns } => match until_ns {
                Some(until) if until <= start_ns + MOST_END_NS => now_ns = until,
                _ if !is_told => now_ns = start_ns + NOTICE_NS + 1,
                _ => break,
            },
            Event::Run(run) => half.program.ran(0, &run.context)?,
            Event::Load(..) | Event::Attach(_) => half.program.attached(Some(Errno::EBUSY.0))?,
            Event::Trace(traced) => half.program.traced(traced, false)?,
            Event::Detach => {
                // `ops.exit` runs before the call returns.
                if let Some(sim) = &mut sim {
                    sim.detach(&mut NullSink);
                }
                now_ns += half.call_ns;
            }
            Event::Called | Event::Yielded | Event::Confined(_) | Event::Untrace(_) | Event::Exited(_) => {
                now_ns += half.call_ns
            }
        }
        if !is_told && now_ns > start_ns + NOTICE_NS {
            half.program.interrupt()?;
            is_told = true;
        }
        if half.program.calls() - first_calls > MOST_CALLS {
            break;
        }
    }
    half.output.append(&mut half.program.take_output());
    Ok(ProgramEnd {
        output: std::mem::take(&mut half.output),
        exit_code: half.program.exit_code(),
        refused: half.program.refused().map(str::to_owned).collect(),
        calls: half.program.calls(),
        stats: half.program.take_answers(),
    })
}
