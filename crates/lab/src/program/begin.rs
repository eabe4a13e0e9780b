//! Runs a program until it attaches its scheduler. It runs alone: the machine on which its object is loaded does not
//! advance.

use super::half::{Half, Task};
use super::maps::Maps;
use super::record::Record;
use super::{MOST_CALLS, failed};
use crate::error::LabError;
use crate::load;
use crate::profile;
use crate::run;
use crate::spec::RunSpec;
use keel_abi::bpf::{Ea, Engine, Entry, Errno, MapId, World};
use keel_abi::{CpuId, Span, UPTIME};
use keel_kernel::{Beside, Setup, SetupError, Sim};
use keel_object::{Object, StructOps};
use keel_program::{Desk, Event, Fill, Loaded, NoDesk, TestRun};
use keel_trace::Class;
use keel_vm::{Code, Vm};
use std::cell::RefCell;
use std::fs::File;
use std::os::fd::AsFd;
use std::rc::Rc;

/// How long a program may take to attach a scheduler, in nanoseconds of its clock.
const MOST_SETUP_NS: u64 = 300_000_000_000;

/// How a program began.
pub(super) enum Began {
    /// The scheduler is about to be enabled.
    Running(Box<Sim<Vm>>, Box<Object>),
    /// The kernel refused the scheduler.
    Refused(String),
}

/// A program that has not attached its scheduler yet, and the machine with its object once that is loaded.
struct Begin<'a> {
    spec: &'a RunSpec,
    half: &'a Rc<RefCell<Half>>,
    wants: Class,
    machine: Option<(Sim<Vm>, Object)>,
    /// The record of what the program sets up, if requested.
    record: Option<&'a mut Record>,
}

/// Runs the program until it attaches a scheduler.
pub(super) fn begin(
    spec: &RunSpec,
    half: &Rc<RefCell<Half>>,
    wants: Class,
    record: Option<&mut Record>,
) -> Result<Began, LabError> {
    let mut begin = Begin { spec, half, wants, machine: None, record };
    let (mut now_ns, call_ns) = (0, half.borrow().call_ns);
    loop {
        let mut event = begin.step(now_ns)?;
        if let Event::Load(loaded, then) = event {
            if let Some(record) = &mut begin.record {
                record.loaded(&loaded);
            }
            begin.load(*loaded)?;
            event = *then;
        }
        match event {
            Event::Attach(ops) => return begin.attach(*ops),
            Event::Called | Event::Yielded => now_ns += call_ns,
            Event::Confined(cpus) => {
                half.borrow_mut().confined = Some(cpus);
                now_ns += call_ns;
            }
            Event::Run(run) => {
                let value = begin.run(&run)?;
                if let (Some(record), Some((_, object))) = (&mut begin.record, &begin.machine) {
                    record.ran(&object.programs[run.program as usize].name, &run.context, value);
                }
                now_ns += call_ns;
            }
            Event::Trace(traced) => {
                let (sim, _) = begin.machine.as_mut().expect("what is attached was loaded");
                let is_attached = sim.trace(&traced.place, Entry(traced.program));
                half.borrow_mut().program.traced(traced, is_attached).map_err(|e| begin.failed(&e))?;
            }
            Event::Untrace(traced) => {
                let (sim, _) = begin.machine.as_mut().expect("what is detached was loaded");
                sim.untrace(&traced.place, Entry(traced.program));
            }
            Event::Idle { until_ns: Some(until) } => now_ns = now_ns.max(until),
            Event::Idle { until_ns: None } => {
                return Err(begin.never("all its threads wait for one another"));
            }
            Event::Exited(code) => {
                return Err(begin.never(&format!("it ended with exit code {code}")));
            }
            Event::Load(..) | Event::Detach => {}
        }
        if half.borrow().program.calls() > MOST_CALLS || now_ns > MOST_SETUP_NS {
            return Err(begin.never("it takes too long"));
        }
    }
}

impl Begin<'_> {
    fn failed(&self, error: &keel_program::ProgramError) -> LabError {
        failed(&self.spec.scheduler.name, error)
    }

    fn step(&mut self, now_ns: u64) -> Result<Event, LabError> {
        let half = &mut *self.half.borrow_mut();
        let stepped = match &mut self.machine {
            Some((sim, _)) => {
                let mut maps = Maps { world: sim.engine().world(), cpu: CpuId(0), view: None };
                half.program.step(now_ns, &mut maps)
            }
            None => half.program.step(now_ns, &mut NoDesk),
        };
        stepped.map_err(|e| failed(&self.spec.scheduler.name, &e))
    }

    /// Returns the error for a program that attached nothing: why, and its last lines of output.
    fn never(&self, why: &str) -> LabError {
        let half = &mut *self.half.borrow_mut();
        half.output.append(&mut half.program.take_output());
        LabError::Program(half.last(&format!("{} attached no scheduler: {why}", self.spec.scheduler.name)))
    }

    /// Loads the program's object into the machine.
    fn load(&mut self, loaded: Loaded) -> Result<(), LabError> {
        match &mut self.machine {
            Some((sim, object)) if loaded.goes_on => {
                *object =
                    extend(&self.spec.scheduler.name, &mut self.half.borrow_mut(), sim, object, loaded)?;
            }
            _ => self.machine = Some(self.boot(loaded)?),
        }
        Ok(())
    }

    /// Creates a machine on which nothing runs yet, with the program's object.
    fn boot(&self, loaded: Loaded) -> Result<(Sim<Vm>, Object), LabError> {
        let (spec, name) = (self.spec, &self.spec.scheduler.name);
        let Loaded { object, fills, shared, touched, .. } = loaded;
        let code = load::code(name, &object)?;
        self.half.borrow_mut().addresses = addresses(&code, &object);
        let mut vm = load::engine_for(code, spec, &object, None, load::Looks::default())?;
        set_up_maps(name, &object, &mut vm, &fills, &shared, &touched)?;
        let setup = Setup {
            machine: spec.machine.clone(),
            workload: spec.workload.clone(),
            scheduler: None,
            programs: Vec::new(),
            fair: load::fair_settings(spec)?,
            seed: spec.seed,
            noise: spec.noise,
        };
        let task = Task { half: self.half.clone(), name: name.clone() };
        let called = self.half.borrow().program.name().chars().take(15).collect();
        let beside = Beside { name: called, companion: Box::new(task) };
        let mut sim = Sim::unattached(vm, setup, vec![beside], self.wants)
            .map_err(|e| LabError::BadInput(e.to_string()))?;
        profile::keep(spec, &mut sim);
        Ok((sim, object))
    }

    /// Runs a program of the object and returns its result.
    fn run(&mut self, run: &TestRun) -> Result<u32, LabError> {
        let (sim, _) = self.machine.as_mut().expect("what is run was loaded");
        let function = self.half.borrow().addresses[run.program as usize];
        let len = run.context.len() as u64;
        let world = sim.engine().world();
        let full = || LabError::BadInput("there is no memory for a program's context".into());
        let context = world.alloc(len.max(8)).ok_or_else(full)?;
        world.put(context, &run.context);
        sim.set_uptime(UPTIME + Span::from_ns(self.half.borrow().program.now_ns()));
        let value = sim.run_alone(function, context).map_err(|e| run::program_failed(self.spec, &e))?;
        let after = take_context(sim.engine().world(), context, len);
        let value = value as u32;
        self.half.borrow_mut().program.ran(value, &after).map_err(|e| self.failed(&e))?;
        Ok(value)
    }

    /// Attaches the scheduler, as the program requested.
    fn attach(self, ops: StructOps) -> Result<Began, LabError> {
        let (mut sim, mut object) = self.machine.expect("what is attached was loaded");
        if let Some(record) = self.record {
            record.ops = Some(ops.clone());
        }
        object.struct_ops = vec![ops];
        let name = &self.spec.scheduler.name;
        let scheduler = load::defined(name, &object)?;
        let half = &mut *self.half.borrow_mut();
        sim.set_uptime(UPTIME + Span::from_ns(half.program.now_ns()));
        match sim.attach_first(&scheduler) {
            Ok(()) => {
                half.since_ns = half.program.now_ns();
                half.output = half.program.take_output();
                Ok(Began::Running(Box::new(sim), Box::new(object)))
            }
            Err(SetupError::Refused(why)) => {
                half.program.attached(Some(Errno::EINVAL.0)).map_err(|e| failed(name, &e))?;
                Ok(Began::Refused(why))
            }
            Err(e) => Err(LabError::BadInput(e.to_string())),
        }
    }
}

/// Returns the addresses of an object's programs.
pub(super) fn addresses(code: &Code, object: &Object) -> Vec<u64> {
    (0..object.programs.len() as u32).map(|program| code.entry_address(Entry(program))).collect()
}

/// Adds to the existing object what the program has loaded since, and returns the larger object.
pub(super) fn extend(
    name: &str,
    half: &mut Half,
    sim: &mut Sim<Vm>,
    before: &Object,
    loaded: Loaded,
) -> Result<Object, LabError> {
    let Loaded { mut object, fills, shared, touched, .. } = loaded;
    // The program may have changed its maps since, but these are as they were created.
    let known = before.maps.len();
    object.maps[..known].clone_from_slice(&before.maps);
    object.struct_ops.clone_from(&before.struct_ops);
    let code = load::code(name, &object)?;
    half.addresses = addresses(&code, &object);
    load::extend(name, code, &object, sim.engine())?;
    set_up_maps(name, &object, sim.engine(), &fills, &shared, &touched)?;
    Ok(object)
}

/// Fills the maps of a loaded object with the program's elements and the pages that it has mapped.
pub(super) fn set_up_maps(
    name: &str,
    object: &Object,
    vm: &mut Vm,
    fills: &[Fill],
    shared: &[(u32, File)],
    touched: &[(u32, u64, u64)],
) -> Result<(), LabError> {
    for (map, file) in shared {
        vm.world().share_pages(MapId(*map), file.as_fd()).map_err(|e| {
            let map = &object.maps[*map as usize].name;
            LabError::BadInput(format!("{name}: the pages of map {map} cannot be shared: {e}"))
        })?;
    }
    for &(map, first, count) in touched {
        vm.world().arena_touched(MapId(map), first, count);
    }
    for fill in fills {
        put(vm, fill).map_err(|errno| {
            let map = &object.maps[fill.map as usize].name;
            let errno = -errno.0;
            LabError::BadInput(format!(
                "{name}: map {map} does not take what the program puts into it (error {errno})"
            ))
        })?;
    }
    Ok(())
}

/// Reads what a program has left in its context, and frees it.
pub(super) fn take_context<W: World>(world: &mut W, at: Ea, len: u64) -> Vec<u8> {
    let context = world.slice(at, len).unwrap_or_default().to_vec();
    world.free(at);
    context
}

fn put(vm: &mut Vm, fill: &Fill) -> Result<(), Errno> {
    let mut maps = Maps { world: vm.world(), cpu: CpuId(0), view: None };
    for (cpu, value) in (0..).zip(&fill.values) {
        match fill.key.is_empty() {
            true => maps.push(fill.map, value, 0)?,
            false => maps.update(fill.map, &fill.key, value, 0, cpu)?,
        }
    }
    Ok(())
}
