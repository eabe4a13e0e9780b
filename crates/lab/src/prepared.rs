//! Loads a scheduler once to run it often: its object is read, relocated and translated once, and each run has its own
//! world.

use crate::error::LabError;
use crate::load::Looks;
use crate::outcome::Outcome;
use crate::races::{self, Race};
use crate::run::{self, Attached, Progress};
use crate::spec::{Engine, RunSpec};
use crate::{load, recipe, variables};
use keel_abi::Stop;
use keel_abi::bpf::{CallPlace, Engine as _};
use keel_abi::order::Order;
use keel_kernel::{Scheduler, Sim};
use keel_object::{Btf, Object};
use keel_recipe::Action;
use keel_trace::Sink;
use keel_vm::{Code, Vm};
use std::cell::Cell;
use std::sync::Arc;

/// The simulated kernel's types, read once for many objects.
#[derive(Clone, Debug)]
pub struct KernelTypes(Btf);

impl KernelTypes {
    /// Reads the types.
    ///
    /// # Errors
    /// Only [`LabError::Bug`], because the types are built in.
    pub fn read() -> Result<Self, LabError> {
        load::kernel_types().map(Self)
    }
}

/// A scheduler, its settings and its recipe, loaded.
pub struct Prepared {
    actions: Vec<Action>,
    object: Object,
    scheduler: Option<Scheduler>,
    code: Arc<Code>,
}

impl Prepared {
    /// Loads the scheduler of `spec`, for machines with the same tick and topology as the spec's.
    ///
    /// # Errors
    /// Those of [`run`](crate::run()) that occur while an object is read.
    pub fn new(types: &KernelTypes, spec: &RunSpec) -> Result<Self, LabError> {
        let actions = recipe::plan(spec)?;
        let object = load::object_for(&types.0, spec, &actions)?;
        let scheduler = load::scheduler(&spec.scheduler, &object)?;
        let code = load::code(&spec.scheduler.name, &object)?;
        Ok(Self { actions, object, scheduler, code })
    }

    /// Like [`run`](crate::run()), but with this scheduler instead of the spec's. No callback executes more than
    /// `max_insns` instructions; `None` means the usual limit.
    ///
    /// # Errors
    /// Those of [`run`](crate::run()).
    pub fn run(
        &self,
        spec: &RunSpec,
        max_insns: Option<u64>,
        sink: &mut dyn Sink,
    ) -> Result<Outcome, LabError> {
        self.run_and_read(spec, max_insns, sink).map(|(outcome, _)| outcome)
    }

    /// Like [`run`](Self::run), and also returns the bytes of all global variables as the scheduler left them; empty if
    /// the kernel refused to attach it.
    ///
    /// # Errors
    /// Those of [`run`](crate::run()).
    pub fn run_and_read(
        &self,
        spec: &RunSpec,
        max_insns: Option<u64>,
        sink: &mut dyn Sink,
    ) -> Result<(Outcome, Vec<u8>), LabError> {
        let how = How { max_insns, ..How::default() };
        self.make(spec, how, sink, &mut |_| {}, |object, sim| {
            variables::bytes(object, sim.engine().world_ref())
        })
    }

    /// Like [`run`](Self::run), but interpreted, and until `stop` is set. Also returns two bytes for each operation of
    /// the object's code: the first is nonzero if a conditional jump there was not taken at some time, the second if it
    /// was taken. Returns `None` if the kernel refused to attach the scheduler. Progress is reported to `progress`.
    ///
    /// # Errors
    /// Those of [`run`](crate::run()).
    pub fn run_covered(
        &self,
        spec: &RunSpec,
        sink: &mut dyn Sink,
        stop: Stop,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Outcome, Vec<u8>), LabError> {
        let spec = RunSpec { engine: Engine::Interpreter, ..spec.clone() };
        let how = How { looks: Looks { covered: true, races: false }, stop, ..How::default() };
        self.make(&spec, how, sink, progress, |_, sim| sim.engine().branches().to_vec())
    }

    /// Like [`run`](Self::run), but in this order, and until `stop` is set. Also returns the places in the object of
    /// the calls whose numbers `calls` returns after the run.
    ///
    /// # Errors
    /// Those of [`run`](crate::run()).
    pub fn run_ordered(
        &self,
        spec: &RunSpec,
        order: Box<dyn Order>,
        sink: &mut dyn Sink,
        stop: Stop,
        calls: &dyn Fn() -> Vec<u32>,
    ) -> Result<(Outcome, Vec<Option<CallPlace>>), LabError> {
        let how = How { order: Some(order), stop, ..How::default() };
        let places = |_: &Object, sim: &mut Sim<Vm>| {
            calls().into_iter().map(|call| sim.engine().place(call)).collect()
        };
        self.make(spec, how, sink, &mut |_| {}, places)
    }

    /// Like [`run_ordered`](Self::run_ordered), but interpreted, with race detection.
    ///
    /// # Errors
    /// Those of [`run`](crate::run()).
    pub fn run_watched(
        &self,
        spec: &RunSpec,
        order: Box<dyn Order>,
        sink: &mut dyn Sink,
        stop: Stop,
    ) -> Result<(Outcome, Vec<Race>), LabError> {
        let spec = RunSpec { engine: Engine::Interpreter, ..spec.clone() };
        let looks = Looks { covered: false, races: true };
        let how = How { order: Some(order), looks, stop, ..How::default() };
        self.make(&spec, how, sink, &mut |_| {}, races::read)
    }

    /// Makes a run, and reads results from it at the end. The results are `None` if the kernel refused to attach the
    /// scheduler.
    fn make<T: Default>(
        &self,
        spec: &RunSpec,
        how: How,
        sink: &mut dyn Sink,
        progress: &mut dyn FnMut(Progress),
        read: impl FnOnce(&Object, &mut Sim<Vm>) -> T,
    ) -> Result<(Outcome, T), LabError> {
        let vm = load::engine_for(self.code.clone(), spec, &self.object, how.max_insns, how.looks)?;
        let scheduler = self.scheduler.clone();
        let attached = run::attach(spec, &self.actions, &self.object, scheduler, vm, sink.wants())?;
        let mut sim = match attached {
            Attached::Running(sim) => sim,
            Attached::Refused(outcome) => return Ok((*outcome, T::default())),
        };
        sim.stop_when_asked(how.stop.clone());
        if how.looks.races {
            sim.keep_clocks();
        }
        if let Some(order) = how.order {
            sim.take_order(order);
        }
        let again = &mut |sim: &mut Sim<Vm>| run::attach_again(spec, &self.actions, &self.object, sim);
        let ended = run::go_on(&mut sim, spec.duration, sink, &Cell::new(false), &how.stop, again, progress)?;
        sim.finish(sink);
        if let Some(failure) = sim.failed_program() {
            return Err(run::program_failed(spec, failure));
        }
        let what = read(&self.object, &mut sim);
        Ok((Outcome { stopped: ended == run::Ended::Stopped, ..run::outcome(&mut sim) }, what))
    }
}

/// How a run is made, besides its spec.
#[derive(Default)]
struct How {
    max_insns: Option<u64>,
    looks: Looks,
    order: Option<Box<dyn Order>>,
    stop: Stop,
}
