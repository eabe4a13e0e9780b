//! Short benchmarks of switches, wakeups and cache lines on this machine. They give medians, with the spread as their
//! source.
//!
//! A wakeup is a byte through a pipe, minus the cost of the pipe itself, which is measured without a switch. Each
//! benchmark is repeated, so that other activity on the machine shows up as spread. Together they take less than ten
//! seconds.

mod insn;
mod line;
mod noise;
mod pinned;
mod pipe;
mod spread;
mod switches;
mod timer;
mod turns;
mod unmeasured;

use crate::file::Machine;
use crate::shape::Shape;
use crate::tree::Tree;
use keel_abi::{CpuId, CpuSet};
use noise::Noise;
use spread::Spread;
use std::path::Path;

/// The default machine's `ipi_ns`.
const IPI_NS: u64 = 900;
/// The default machine's `irq_ns`.
const IRQ_NS: u64 = 300;

/// The distance between two CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Distance {
    Core,
    Cache,
    Node,
    Far,
}

impl Distance {
    const ALL: [Self; 4] = [Self::Core, Self::Cache, Self::Node, Self::Far];

    const fn constant(self) -> &'static str {
        match self {
            Self::Core => "smt_ps",
            Self::Cache => "llc_ps",
            Self::Node => "node_ps",
            Self::Far => "hop_ps",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Core => "threads of a core",
            Self::Cache => "CPUs of a cache",
            Self::Node => "caches of a node",
            Self::Far => "nodes",
        }
    }
}

/// The measurements on this machine.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The time of an instruction that depends on the one before it.
    instruction: Option<Spread>,
    /// The length of a CPU's turn, if an emulator executes CPUs one after another.
    turn: Option<Spread>,
    syscall: Option<Spread>,
    /// A write to a pipe and a read from it, without a switch.
    pipe: Option<Spread>,
    /// The same for a local socket, and for TCP within the machine.
    local: Option<Spread>,
    tcp: Option<Spread>,
    /// A wakeup and switch on one CPU, with the pipe.
    switch: Option<Spread>,
    /// The same between two CPUs, by their distance.
    wakeups: Vec<(Distance, Spread)>,
    lines: Vec<(Distance, Spread)>,
    /// The time from a timer's expiry until its thread runs.
    late: Option<Spread>,
    /// The same without slack.
    prompt: Option<Spread>,
    /// The time that something else takes from a busy CPU.
    noise: Option<Noise>,
    unseen: Vec<String>,
}

/// Measures the machine whose /sys is below `root`, on CPUs that this thread may use.
pub fn measure(root: &Path) -> Measured {
    let mut measured = Measured::default();
    let allowed = pinned::allowed();
    let Some(first) = allowed.lowest() else {
        measured.unseen.push("no CPU can be chosen to measure on".to_owned());
        return measured;
    };
    measured.instruction = insn::instruction(first);
    measured.turn = allowed.iter().nth(1).and_then(|second| turns::turn(first, second));
    measured.syscall = pipe::syscall(first);
    measured.pipe = pipe::alone(first);
    measured.local = pipe::local(first);
    measured.tcp = pipe::tcp(first);
    measured.switch = pipe::switch(first, first);
    measured.late = timer::late(first);
    measured.prompt = timer::prompt(first);
    measured.noise = noise::noise(first);
    let shape = Shape::seen(&Tree::new(root), &mut Vec::new()).unwrap_or_default();
    for distance in Distance::ALL {
        match pair(&shape, &allowed, distance) {
            Some((a, b)) => {
                measured.wakeups.extend(pipe::switch(a, b).map(|spread| (distance, spread)));
                // Nothing is transferred if CPUs take turns.
                if measured.turn.is_none() {
                    measured.lines.extend(line::transfer(a, b).map(|spread| (distance, spread)));
                }
            }
            None => measured.unseen.push(format!("two {} that this process may use", distance.name())),
        }
    }
    measured
}

/// Returns two CPUs at this distance.
fn pair(shape: &Shape, allowed: &CpuSet, wanted: Distance) -> Option<(CpuId, CpuId)> {
    let place = |cpu: CpuId| {
        let within = |sets: &[CpuSet]| sets.iter().position(|set| set.contains(cpu));
        let node = shape.nodes.iter().position(|node| node.cpus.contains(cpu))?;
        Some((node, within(&shape.nodes[node].llcs)?, within(&shape.nodes[node].cores)?))
    };
    let distance = |a: CpuId, b: CpuId| {
        let (a, b) = (place(a)?, place(b)?);
        Some(match () {
            () if a.0 != b.0 => Distance::Far,
            () if a.1 != b.1 => Distance::Node,
            () if a.2 != b.2 => Distance::Cache,
            () => Distance::Core,
        })
    };
    // All distances can be found from one CPU, unless nodes differ.
    allowed
        .iter()
        .find_map(|a| allowed.iter().find(|&b| a != b && distance(a, b) == Some(wanted)).map(|b| (a, b)))
}

impl Measured {
    /// Adds these constants to the machine. Anything else becomes a remark.
    pub(crate) fn put(&self, machine: &mut Machine, unseen: &mut Vec<String>) {
        unseen.extend(self.unseen.iter().map(|what| format!("not measured, for lack of {what}")));
        if let Some(syscall) = &self.syscall {
            machine.constant("costs", "syscall_ns", syscall.median_ns(), format!("getppid(): {syscall}"));
        }
        let path = self.put_switch(machine);
        let ipi_ns = self.put_turns(machine);
        self.put_idle(machine, ipi_ns, path);
        self.put_transfers(machine);
        for (distance, spread) in &self.lines {
            let source = format!("a line back and forth between {}, one way: {spread}", distance.name());
            machine.constant("lines", distance.constant(), spread.median_ps(), source);
        }
        if let Some(late) = &self.late {
            machine.remark(&format!("from a timer's expiry until its thread runs, with slack: {late}"));
        }
        if let Some(noise) = &self.noise {
            machine.remark(&format!("taken from a busy CPU in a second: {}", noise.per_second));
        }
        self.put_tick(machine);
    }

    /// Adds the time of a tick without the interrupt.
    fn put_tick(&self, machine: &mut Machine) {
        let (Some(noise), Some((hz, _))) = (&self.noise, &machine.hz) else { return };
        let Some(tick) = noise.tick(*hz) else { return };
        let irq_ns = match (&self.turn, &self.syscall) {
            // As in `put_interrupts`.
            (Some(_), Some(syscall)) => syscall.median_ns(),
            _ => IRQ_NS,
        };
        let source = format!(
            "taken from a busy CPU at once, mostly by ticks: {tick}; less {irq_ns} for the interrupt"
        );
        machine.constant("costs", "tick_ns", tick.median_ns().saturating_sub(irq_ns), source);
    }

    /// Adds the time of pipes and sockets without the two system calls.
    fn put_transfers(&self, machine: &mut Machine) {
        let Some(syscall) = &self.syscall else { return };
        let measured = [
            ("pipe_ns", "a pipe", &self.pipe),
            ("unix_ns", "a local socket", &self.local),
            ("tcp_ns", "TCP within the machine", &self.tcp),
        ];
        for (name, what, spread) in measured {
            let Some(spread) = spread else { continue };
            let half_ns = (spread.median_ns() / 2).saturating_sub(syscall.median_ns());
            let source = format!(
                "half of a byte through {what} and back out, by one thread: {spread}; less {} for a system call",
                syscall.median_ns()
            );
            machine.constant("costs", name, half_ns, source);
        }
    }

    /// Adds what is different in an emulator. Returns the time of an IPI in nanoseconds.
    fn put_turns(&self, machine: &mut Machine) -> u64 {
        let Some(turn) = &self.turn else {
            if let Some(instruction) = &self.instruction {
                machine.remark(&format!("an instruction that needs the one before it: {instruction}"));
            }
            return IPI_NS;
        };
        let source = format!("two CPUs never run at once, but take turns: {turn}");
        machine.constant("costs", "turn_ns", turn.median_ns(), source);
        let source = "threads of an emulated core share its turns only, which turn_ns counts".to_owned();
        machine.constant("costs", "smt_shared_per_mille", 1000, source);
        if let Some(instruction) = &self.instruction {
            let source = format!("an instruction that needs the one before it: {instruction}");
            machine.constant("costs", "insn_ps", instruction.median_ps(), source);
            unmeasured::put_paths(machine, instruction.median_ps());
        }
        let Some(syscall) = &self.syscall else { return IPI_NS };
        unmeasured::put_interrupts(machine, syscall.median_ns());
        syscall.median_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_machine_has_these_interrupts() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines/default.toml");
        let machine: toml::Table = std::fs::read_to_string(file).unwrap().parse().unwrap();
        let value = |name: &str| machine["costs"][name]["value"].as_integer().unwrap() as u64;
        assert_eq!([value("ipi_ns"), value("irq_ns")], [IPI_NS, IRQ_NS]);
    }

    #[test]
    fn pipes_and_sockets_take_what_is_not_system_calls() {
        let spread = |ns: u64| Spread::of([ns * 1000]);
        let check = |syscall: Option<Spread>, expected: &str| {
            let (pipe, local) = (spread(17_000), spread(30_000));
            let measured = Measured { syscall, pipe, local, ..Measured::default() };
            let mut machine = Machine::named("it".to_owned());
            measured.put_transfers(&mut machine);
            let text = machine.text(&[]);
            let costs =
                text.lines().filter(|line| line.contains("_ns = ")).filter_map(|l| l.split(',').next());
            assert_eq!(costs.collect::<Vec<_>>().join("\n"), expected);
        };
        check(None, "");
        check(spread(2_500), "pipe_ns = { value = 6000\nunix_ns = { value = 12500");
        check(spread(10_000), "pipe_ns = { value = 0\nunix_ns = { value = 5000");
    }

    #[test]
    fn a_tick_is_what_ticks_take_less_the_interrupt() {
        let check = |is_emulated: bool, hz: Option<u64>, expected: Option<&str>| {
            let measured = Measured {
                noise: Some(noise::tests::noise(&[34; 12])),
                turn: is_emulated.then(|| Spread::of([1000]).unwrap()),
                syscall: Spread::of([2_000_000]),
                ..Measured::default()
            };
            let mut machine = Machine::named("it".to_owned());
            machine.hz = hz.map(|hz| (hz, String::new()));
            measured.put_tick(&mut machine);
            let text = machine.text(&[]);
            let tick =
                text.lines().find(|line| line.contains("tick_ns")).and_then(|line| line.split(',').next());
            assert_eq!(tick, expected, "emulated: {is_emulated}, {hz:?} Hz");
        };
        check(false, Some(250), Some("tick_ns = { value = 32700"));
        check(true, Some(250), Some("tick_ns = { value = 31000"));
        check(true, Some(1000), None);
        check(true, None, None);
    }

    #[test]
    fn pairs_are_as_far_apart_as_asked() {
        let set = |list: &str| list.parse::<CpuSet>().expect(list);
        let node = |cpus: &str, llcs: &[&str], cores: &[&str]| crate::shape::Node {
            cpus: set(cpus),
            llcs: llcs.iter().copied().map(set).collect(),
            cores: cores.iter().copied().map(set).collect(),
        };
        let nodes =
            vec![node("0-5", &["0-3", "4-5"], &["0-1", "2-3", "4-5"]), node("6-7", &["6-7"], &["6-7"])];
        let shape = Shape { nodes, ..Shape::default() };
        let check = |allowed: &str, distance, expected: Option<(u32, u32)>| {
            let found = pair(&shape, &set(allowed), distance).map(|(a, b)| (a.0, b.0));
            assert_eq!(found, expected, "{distance:?} of {allowed}");
        };
        check("0-7", Distance::Core, Some((0, 1)));
        check("0-7", Distance::Cache, Some((0, 2)));
        check("0-7", Distance::Node, Some((0, 4)));
        check("0-7", Distance::Far, Some((0, 6)));
        check("1,3", Distance::Core, None);
        check("1,3", Distance::Cache, Some((1, 3)));
    }
}
