//! A scheduler's own user-space program beside the simulated kernel.
//!
//! It runs alone until it attaches its scheduler: what it has loaded until then is what the run begins with. From
//! then on it is a task of the machine, a companion, which makes its next system call whenever that task runs. When
//! the run is over it gets SIGINT, and goes on alone until it has ended.

use crate::error::LabError;
use crate::lines;
use crate::load;
use crate::outcome::{Outcome, ProgramEnd};
use crate::run::{self, Ended, Progress};
use crate::spec::RunSpec;
use keel_abi::bpf::{Ea, Engine, Entry, Errno, MapId, MapKey, World};
use keel_abi::companion::{Act, Companion};
use keel_abi::{CpuId, Instant, Span, Stop};
use keel_kernel::{Beside, KERNEL_BTF, Setup, SetupError, Sim, UserProgram};
use keel_object::Object;
use keel_program::{Desk, Event, Fill, Loaded, Machine, NoDesk, Program, ProgramError, RingView, TestRun};
use keel_trace::Sink;
use keel_vm::Vm;
use keel_vm::memory::VmWorld;
use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::rc::Rc;

/// What a system call is charged, with the user code before it, in nanoseconds.
const CALL_NS: u64 = 2000;
/// So many calls a program may make before it attaches a scheduler, and after its end.
const MOST_CALLS: u64 = 2_000_000;
/// How long it may take until it attaches a scheduler, in nanoseconds of its clock.
const MOST_SETUP_NS: u64 = 300_000_000_000;
/// How long it may take to end after SIGINT.
const MOST_END_NS: u64 = 60_000_000_000;
/// How long a program has to notice by itself that its scheduler is gone.
const NOTICE_NS: u64 = 5_000_000_000;
/// Bytes of a context that a program of the object can have here.
const MOST_CONTEXT: usize = 128;
/// How long a program sleeps of which every thread waits for another.
const FOREVER: Span = Span::from_ms(3_600_000);
/// Last words that are quoted.
const MOST_WORDS: usize = 400;

/// The program and what the run must know of it.
struct Half {
    program: Program,
    /// What its clock shows when the run's is 0.
    since_ns: u64,
    is_attached: bool,
    output: Vec<u8>,
    /// The addresses of the object's programs.
    addresses: Vec<u64>,
    /// The context of the program that it runs now, and its bytes.
    context: Option<(Ea, u64)>,
}

/// The program as a task.
struct Task {
    half: Rc<RefCell<Half>>,
    name: String,
}

/// Makes a run with a program.
pub(crate) fn make(
    spec: &RunSpec,
    argv: &[OsString],
    sink: &mut dyn Sink,
    gone: &Cell<bool>,
    progress: &mut dyn FnMut(Progress),
    stop: &Stop,
) -> Result<Outcome, LabError> {
    let name = spec.scheduler.name.clone();
    if !spec.settings.is_empty() {
        return Err(LabError::BadInput(format!("--set: {name} is a program; give it arguments instead")));
    }
    let mut program = Program::start(argv, machine_of(spec)).map_err(|e| failed(&name, &e))?;
    let loaded = set_up(&name, &mut program)?;
    let (since_ns, output) = (program.now_ns(), program.take_output());
    let half = Rc::new(RefCell::new(Half {
        program,
        since_ns,
        is_attached: false,
        output,
        addresses: Vec::new(),
        context: None,
    }));
    let (mut sim, object) = match boot(spec, loaded, &half, sink)? {
        Booted::Running(sim, object) => (*sim, *object),
        Booted::Refused(why) => {
            half.borrow_mut().program.attached(Some(Errno::EINVAL.0)).map_err(|e| failed(&name, &e))?;
            let end = finish(&half, None).map_err(|e| failed(&name, &e))?;
            return Ok(Outcome { program: Some(end), ..run::refused(why) });
        }
    };
    sim.stop_when_asked(stop.clone());
    let again = &mut |_: &mut Sim<Vm>| -> Result<(), LabError> { unreachable!("no restart was asked for") };
    let ended = run::go_on(&mut sim, spec.duration, sink, gone, stop, again, progress)?;
    sim.finish(sink);
    if let Some(failure) = sim.failed_program() {
        return Err(run::program_failed(spec, failure));
    }
    let lines = lines::read(&object, &mut sim);
    let outcome = run::outcome(&mut sim);
    let end = finish(&half, Some(&mut sim)).map_err(|e| failed(&name, &e))?;
    Ok(Outcome { stopped: ended == Ended::Stopped, lines, program: Some(end), ..outcome })
}

fn machine_of(spec: &RunSpec) -> Machine {
    Machine {
        topology: spec.machine.topology.clone(),
        capacity: spec.machine.capacity.clone(),
        btf: KERNEL_BTF,
        seed: spec.seed,
        call_ns: CALL_NS,
    }
}

fn failed(name: &str, error: &ProgramError) -> LabError {
    let text = format!("{name}: {error}");
    match error {
        ProgramError::Unsupported(_) => LabError::Unsupported(text),
        ProgramError::Start { .. } | ProgramError::Host(_) => LabError::BadInput(text),
    }
}

/// Runs the program until it attaches a scheduler.
fn set_up(name: &str, program: &mut Program) -> Result<Loaded, LabError> {
    let mut now_ns = 0;
    loop {
        match program.step(now_ns, &mut NoDesk).map_err(|e| failed(name, &e))? {
            Event::Attach(loaded) => return Ok(*loaded),
            Event::Called => now_ns += CALL_NS,
            Event::Idle { until_ns: Some(until) } => now_ns = now_ns.max(until),
            Event::Idle { until_ns: None } => {
                return Err(never(name, program, "all its threads wait for one another"));
            }
            Event::Exited(code) => {
                return Err(never(name, program, &format!("it ended with exit code {code}")));
            }
            Event::Run(_) | Event::Detach => {}
        }
        if program.calls() > MOST_CALLS || now_ns > MOST_SETUP_NS {
            return Err(never(name, program, "it takes too long"));
        }
    }
}

/// It attached nothing: why, and its last words.
fn never(name: &str, program: &mut Program, why: &str) -> LabError {
    let output = program.take_output();
    let words = String::from_utf8_lossy(&output[output.len().saturating_sub(MOST_WORDS)..]).trim().to_owned();
    let refused: Vec<&str> = program.refused().collect();
    let mut text = format!("{name} attached no scheduler: {why}");
    if !refused.is_empty() {
        text += &format!("; keel refused it {}", refused.join(", "));
    }
    if !words.is_empty() {
        text += &format!("; it said last: {words}");
    }
    LabError::Program(text)
}

enum Booted {
    Running(Box<Sim<Vm>>, Box<Object>),
    Refused(String),
}

/// A kernel with what the program has loaded, about to enable its scheduler.
fn boot(
    spec: &RunSpec,
    loaded: Loaded,
    half: &Rc<RefCell<Half>>,
    sink: &mut dyn Sink,
) -> Result<Booted, LabError> {
    let name = &spec.scheduler.name;
    let Loaded { object, fills, runs, shared } = loaded;
    let scheduler = load::defined(name, &object)?;
    let code = load::code(name, &object)?;
    half.borrow_mut().addresses =
        (0..object.programs.len() as u32).map(|program| code.entry_address(Entry(program))).collect();
    let mut vm = load::engine_for(code, spec, &object, None)?;
    for (map, file) in &shared {
        vm.world().share_pages(MapId(*map), file.as_fd()).map_err(|e| {
            let map = &object.maps[*map as usize].name;
            LabError::BadInput(format!("{name}: the pages of map {map} cannot be shared: {e}"))
        })?;
    }
    for fill in &fills {
        put(&mut vm, fill).ok_or_else(|| {
            let map = &object.maps[fill.map as usize].name;
            LabError::BadInput(format!("{name}: map {map} does not take what the program puts into it"))
        })?;
    }
    let programs = runs.into_iter().map(|run| early_run(name, &object, run)).collect::<Result<_, _>>()?;
    let setup = Setup {
        machine: spec.machine.clone(),
        workload: spec.workload.clone(),
        scheduler: Some(scheduler),
        programs,
        fair: load::fair_settings(spec)?,
        seed: spec.seed,
        noise: spec.noise,
    };
    let task = Task { half: half.clone(), name: name.clone() };
    let beside =
        Beside { name: half.borrow().program.name().chars().take(15).collect(), companion: Box::new(task) };
    match Sim::with_companions(vm, setup, vec![beside], sink.wants()) {
        Ok(sim) => Ok(Booted::Running(Box::new(sim), Box::new(object))),
        Err(SetupError::Refused(why)) => Ok(Booted::Refused(why)),
        Err(SetupError::Program(failure)) => Err(run::program_failed(spec, &failure)),
        Err(e @ (SetupError::NoRoom(_) | SetupError::NoRoomForCgroups(_))) => {
            Err(LabError::BadInput(e.to_string()))
        }
    }
}

/// A run that the program has asked for before it attached its scheduler: the kernel makes it right before.
fn early_run(name: &str, object: &Object, run: TestRun) -> Result<UserProgram, LabError> {
    let program = &object.programs[run.program as usize].name;
    if run.context.len() > MOST_CONTEXT {
        return Err(LabError::Unsupported(format!(
            "{name}: it runs {program} with a context of {} bytes; simulated ones take {MOST_CONTEXT}",
            run.context.len()
        )));
    }
    let args = run.context.chunks(8).map(|bytes| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    });
    Ok(UserProgram { name: program.clone(), entry: Entry(run.program), args: args.collect(), every: None })
}

fn put(vm: &mut Vm, fill: &Fill) -> Option<()> {
    let mut maps = Maps { world: vm.world(), cpu: CpuId(0) };
    for (cpu, value) in (0..).zip(&fill.values) {
        maps.update(fill.map, &fill.key, value, 0, cpu).ok()?;
    }
    Some(())
}

impl Companion<VmWorld> for Task {
    fn go_on(&mut self, world: &mut VmWorld, cpu: CpuId, now: Instant) -> Act {
        let half = &mut *self.half.borrow_mut();
        match half.step(world, cpu, now) {
            Ok(act) => act,
            Err(error) => Act::Fail(format!("{}: {error}", self.name)),
        }
    }

    fn ran(&mut self, world: &mut VmWorld, value: Option<u64>) {
        let half = &mut *self.half.borrow_mut();
        let Some((at, len)) = half.context.take() else { return };
        let context = world.slice(at, len).unwrap_or_default().to_vec();
        world.free(at);
        // Where the host fails, the next step says so.
        let _ = half.program.ran(value.unwrap_or(0) as u32, &context);
    }
}

impl Half {
    fn step(&mut self, world: &mut VmWorld, cpu: CpuId, now: Instant) -> Result<Act, ProgramError> {
        if !self.is_attached {
            self.program.attached(None)?;
            self.is_attached = true;
        }
        let now_ns = self.since_ns + now.as_ns();
        let event = self.program.step(now_ns, &mut Maps { world, cpu })?;
        self.output.append(&mut self.program.take_output());
        Ok(match event {
            Event::Called => Act::Work { insns: 0, stall_ps: CALL_NS * 1000 },
            Event::Idle { until_ns: Some(until) } => {
                Act::Sleep(Span::from_ns(until.saturating_sub(now_ns).max(1)))
            }
            Event::Idle { until_ns: None } => Act::Sleep(FOREVER),
            Event::Run(run) => {
                let len = run.context.len() as u64;
                let Some(context) = world.alloc(len.max(8)) else {
                    self.program.ran(0, &run.context)?;
                    return Ok(Act::Fail("there is no memory for a program's context".into()));
                };
                world.put(context, &run.context);
                self.context = Some((context, len));
                Act::Run { function: self.addresses[run.program as usize], context }
            }
            Event::Attach(_) => Act::Fail("it attaches a second scheduler".into()),
            Event::Detach => Act::Fail(self.last("it detached its scheduler before the run's end")),
            Event::Exited(code) => {
                Act::Fail(self.last(&format!("it ended before the run did, with exit code {code}")))
            }
        })
    }

    fn last(&self, why: &str) -> String {
        let from = self.output.len().saturating_sub(MOST_WORDS);
        let words = String::from_utf8_lossy(&self.output[from..]).trim().to_owned();
        if words.is_empty() { why.to_owned() } else { format!("{why}; it said last: {words}") }
    }
}

/// The run is over: the program gets SIGINT, and ends.
fn finish(half: &RefCell<Half>, sim: Option<&mut Sim<Vm>>) -> Result<ProgramEnd, ProgramError> {
    let half = &mut *half.borrow_mut();
    let has_ended = sim.as_ref().is_none_or(|sim| sim.exit().is_some());
    let run_ns = sim.as_ref().map_or(0, |sim| sim.now().as_ns());
    let mut world = sim.map(|sim| sim.engine().world());
    let mut now_ns = (half.since_ns + run_ns).max(half.program.now_ns());
    if !half.is_attached && world.is_some() {
        half.program.attached(None)?;
    }
    let start_ns = now_ns;
    let first_calls = half.program.calls();
    // A scheduler that has ended is something that its program notices by itself.
    let mut is_told = !has_ended;
    if is_told {
        half.program.interrupt()?;
    }
    while half.program.exit_code().is_none() {
        let event = match &mut world {
            Some(world) => half.program.step(now_ns, &mut Maps { world, cpu: CpuId(0) })?,
            None => half.program.step(now_ns, &mut NoDesk)?,
        };
        match event {
            Event::Idle { until_ns } => match until_ns {
                Some(until) if until <= start_ns + MOST_END_NS => now_ns = until,
                _ if !is_told => now_ns = start_ns + NOTICE_NS + 1,
                _ => break,
            },
            Event::Run(run) => half.program.ran(0, &run.context)?,
            Event::Attach(_) => half.program.attached(Some(Errno::EBUSY.0))?,
            Event::Called | Event::Detach | Event::Exited(_) => now_ns += CALL_NS,
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
    })
}

/// The maps in the simulated memory, as bpf(2) shows them.
struct Maps<'a> {
    world: &'a mut VmWorld,
    cpu: CpuId,
}

impl Maps<'_> {
    /// A copy of bytes in the simulated memory, while something is done with it.
    fn with<T>(&mut self, bytes: &[u8], act: impl FnOnce(&mut Self, Ea) -> T) -> Result<T, Errno> {
        let at = self.world.alloc(bytes.len() as u64).ok_or(Errno::ENOMEM)?;
        if let Some(to) = self.world.slice_mut(at, bytes.len() as u64) {
            to.copy_from_slice(bytes);
        }
        let done = act(self, at);
        self.world.free(at);
        Ok(done)
    }
}

impl Desk for Maps<'_> {
    fn lookup(&mut self, map: u32, key: &[u8], cpu: u32) -> Result<Vec<u8>, Errno> {
        let len = u64::from(self.world.map_info(MapId(map)).value_size);
        let found = self.with(key, |maps, at| maps.world.map_lookup(MapId(map), at, CpuId(cpu)))?;
        let found = found.ok_or(Errno::ENOENT)?;
        Ok(self.world.slice(found, len).ok_or(Errno::EFAULT)?.to_vec())
    }

    fn update(&mut self, map: u32, key: &[u8], value: &[u8], flags: u64, cpu: u32) -> Result<(), Errno> {
        self.with(key, |maps, key| {
            maps.with(value, |maps, value| maps.world.map_update(MapId(map), key, value, flags, CpuId(cpu)))?
        })?
    }

    fn delete(&mut self, map: u32, key: &[u8]) -> Result<(), Errno> {
        self.with(key, |maps, at| maps.world.map_delete(MapId(map), at))?
    }

    fn next_key(&mut self, map: u32, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        let len = u64::from(self.world.map_info(MapId(map)).key_size);
        let mut from = 0;
        let mut is_next = key.is_none();
        let mut first = None;
        while let Some(entry) = self.world.maps().walk(MapId(map), from, self.cpu) {
            from = entry.next;
            let own = match entry.key {
                MapKey::Index(index) => index.to_le_bytes().to_vec(),
                MapKey::At(at) => self.world.slice(at, len).ok_or(Errno::EFAULT)?.to_vec(),
            };
            if is_next {
                return Ok(own);
            }
            is_next = key == Some(&own[..]);
            first.get_or_insert(own);
        }
        // After a key that is not there the walk begins again; after the last one it is over.
        if is_next { Err(Errno::ENOENT) } else { first.ok_or(Errno::ENOENT) }
    }

    fn ring(&mut self, map: u32) -> Option<RingView<'_>> {
        let (producer, data) = self.world.ring_pages(MapId(map))?;
        Some(RingView { producer, data })
    }

    fn ring_read(&mut self, map: u32, consumer: u64) {
        self.world.ring_read(MapId(map), consumer);
    }
}
