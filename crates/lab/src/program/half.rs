//! Runs the program as a task on the machine.

use super::begin::take_context;
use super::last_words;
use super::maps::Maps;
use keel_abi::bpf::{Ea, World};
use keel_abi::companion::{Act, Companion, View};
use keel_abi::{CpuId, CpuSet, Instant, Span};
use keel_program::{Event, Program, ProgramError};
use keel_vm::memory::VmWorld;
use std::cell::RefCell;
use std::rc::Rc;

/// How long a program sleeps if each of its threads waits for another.
const FOREVER: Span = Span::from_ms(3_600_000);

/// The program, and its state in the run.
pub(super) struct Half {
    pub(super) program: Program,
    /// The time on its clock when the run's clock is 0.
    pub(super) since_ns: u64,
    pub(super) is_attached: bool,
    /// The charge for each of its system calls, in nanoseconds.
    pub(super) call_ns: u64,
    pub(super) output: Vec<u8>,
    /// The addresses of the object's programs.
    pub(super) addresses: Vec<u64>,
    /// Its request to the run's owner, and the event that follows.
    pub(super) asked: Option<Event>,
    pub(super) next: Option<Event>,
    /// The CPUs to which it confined itself before it was a task.
    pub(super) confined: Option<CpuSet>,
    /// Whether it yields its CPU next.
    yields: bool,
    /// The context of the program that it currently runs, and its size in bytes.
    context: Option<(Ea, u64)>,
}

/// The program as a task.
pub(super) struct Task {
    pub(super) half: Rc<RefCell<Half>>,
    pub(super) name: String,
}

impl Companion<VmWorld> for Task {
    fn see_cpus(&mut self, cpus: &mut dyn Iterator<Item = (bool, Span)>) {
        if let Ok(mut half) = self.half.try_borrow_mut() {
            half.program.see_cpus(&mut cpus.map(|(online, idle)| (online, idle.as_ns())));
        }
    }

    fn see_events(&mut self, events: &mut dyn Iterator<Item = (&'static str, u64)>) {
        if let Ok(mut half) = self.half.try_borrow_mut() {
            half.program.see_events(events);
        }
    }

    fn asks(&self) -> bool {
        self.half.try_borrow().is_ok_and(|half| half.asked.is_some())
    }

    fn go_on(&mut self, world: &mut VmWorld, cpu: CpuId, now: Instant, view: &dyn View) -> Act {
        // It is in the call that detaches its scheduler, which returns when the scheduler has exited.
        let Ok(mut half) = self.half.try_borrow_mut() else { return Act::Sleep(FOREVER) };
        match half.step(Maps { world, cpu, view: Some(view) }, now) {
            Ok(act) => act,
            Err(error) => Act::Fail(format!("{}: {error}", self.name)),
        }
    }

    fn ran(&mut self, world: &mut VmWorld, value: Option<u64>) {
        let Ok(mut half) = self.half.try_borrow_mut() else { return };
        // If the host fails, the next step reports it.
        let _ = half.ran(world, value.unwrap_or(0) as u32);
    }
}

impl Half {
    pub(super) fn new(program: Program, call_ns: u64) -> Self {
        let (since_ns, is_attached, output, addresses) = Default::default();
        // Otherwise it could make calls that take no time forever.
        let (asked, next, context) = (None, None, None);
        Self {
            program,
            since_ns,
            is_attached,
            call_ns: call_ns.max(1),
            output,
            addresses,
            asked,
            next,
            confined: None,
            yields: false,
            context,
        }
    }

    /// Called when the program of the object that it runs, if any, has returned.
    pub(super) fn ran(&mut self, world: &mut VmWorld, value: u32) -> Result<(), ProgramError> {
        let Some((at, len)) = self.context.take() else { return Ok(()) };
        let context = take_context(world, at, len);
        self.program.ran(value, &context)
    }

    fn step(&mut self, mut maps: Maps<'_>, now: Instant) -> Result<Act, ProgramError> {
        if !self.is_attached {
            self.program.attached(None)?;
            self.is_attached = true;
        }
        let now_ns = self.since_ns + now.as_ns();
        if let Some(cpus) = self.confined.take() {
            return Ok(Act::Confine(cpus));
        }
        if std::mem::take(&mut self.yields) {
            return Ok(Act::Yield);
        }
        let call = Act::Work { insns: 0, stall_ps: self.call_ns * 1000 };
        if self.asked.is_some() {
            // Its request will be fulfilled soon.
            return Ok(call);
        }
        let event = match self.next.take() {
            Some(event) => event,
            None => self.program.step(now_ns, &mut maps)?,
        };
        self.output.append(&mut self.program.take_output());
        Ok(match event {
            Event::Called => call,
            Event::Yielded => {
                // First, let time pass for what it has done so far.
                self.yields = true;
                call
            }
            Event::Confined(cpus) => Act::Confine(cpus),
            Event::Idle { until_ns: Some(until) } => {
                Act::Sleep(Span::from_ns(until.saturating_sub(now_ns).max(1)))
            }
            Event::Idle { until_ns: None } => Act::Sleep(FOREVER),
            Event::Run(run) => {
                let len = run.context.len() as u64;
                let Some(context) = maps.world.alloc(len.max(8)) else {
                    self.program.ran(0, &run.context)?;
                    return Ok(Act::Fail("there is no memory for a program's context".into()));
                };
                maps.world.put(context, &run.context);
                self.context = Some((context, len));
                Act::Run { function: self.addresses[run.program as usize], context }
            }
            Event::Attach(_) => {
                // It is woken when the scheduler is enabled.
                self.is_attached = false;
                self.asked = Some(event);
                Act::Sleep(FOREVER)
            }
            Event::Load(..) | Event::Trace(_) | Event::Untrace(_) | Event::Detach => {
                self.asked = Some(event);
                call
            }
            Event::Exited(code) => {
                Act::Fail(self.last(&format!("it ended before the run did, with exit code {code}")))
            }
        })
    }

    /// Describes why the program ended, which requests were refused, and its last lines of output.
    pub(super) fn last(&self, why: &str) -> String {
        let mut text = why.to_owned();
        let refused: Vec<&str> = self.program.refused().collect();
        if !refused.is_empty() {
            text += &format!("; keel refused it {}", refused.join(", "));
        }
        let words = last_words(&self.output);
        if !words.is_empty() {
            text += &format!("; its last output: {words}");
        }
        text
    }
}
