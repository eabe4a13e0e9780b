//! Watches what this kernel schedules at a fraction of a recording's cost: occasional samples of all CPUs
//! (crates/live/bpf/look.bpf.c), and short complete recordings by the programs of [`record`](crate::record).
//!
//! Both are loaded once. Between samples, nothing is attached, so that the kernel runs as usual.

mod cost;
mod error;
mod look;

pub use error::WatchError;
pub use look::Look;

use crate::host::Host;
use crate::machine;
use crate::record::kernel::{Events, Extent, Kernel};
use crate::record::{self, Recorded, Recorder, Scene};
use cost::RunTime;
use keel_abi::{CpuSet, Span, Topology};
use keel_trace::Sink;
use look::Eye;

/// The memory for all rings of a short recording together, in bytes.
const RINGS_BYTES: u32 = 32 << 20;
/// The smallest and the largest ring, in bytes.
const RING_BYTES: std::ops::RangeInclusive<u32> = 32 << 10..=1 << 20;

/// The contents of a short recording. Decisions explain what it confirms.
const EXTENT: Extent = Extent { events: Events::Core, decisions: true, pipes: false };

/// The cost of watching so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// CPU time of this process, including samples.
    pub process: Span,
    /// CPU time of programs that ran in the context of others, as counted by the kernel. `None` if it does not allow
    /// counting, which needs `CAP_SYS_ADMIN`.
    pub programs: Option<Span>,
}

/// The loaded programs.
pub struct Watcher {
    host: Host,
    topology: Topology,
    eye: Eye,
    /// The CPUs that were online at the start of the last recording.
    online: CpuSet,
    /// The programs; `None` while it records.
    resting: Option<Kernel>,
    run_time: RunTime,
}

impl Watcher {
    /// Loads the programs.
    ///
    /// # Errors
    /// If the kernel or this process's capabilities do not allow it.
    pub fn begin(host: &Host) -> Result<Self, WatchError> {
        record::permitted(host)?;
        let topology = machine::facts(host).topology;
        let cpus = topology.cpus();
        let eye = Eye::open(cpus)?;
        let resting = Some(Kernel::load(host, cpus, ring_bytes(cpus), EXTENT)?);
        Ok(Self {
            host: host.clone(),
            topology,
            eye,
            online: CpuSet::new(),
            resting,
            run_time: RunTime::default(),
        })
    }

    /// Returns the maximum number of CPUs that the machine may have.
    pub fn cpus(&self) -> u32 {
        self.topology.cpus()
    }

    /// Returns the current scheduler: the attached scheduler's name, or the kernel's release.
    pub fn scheduler(&self) -> String {
        record::scheduler(&self.host)
    }

    /// Samples all CPUs and, if a CPU idles, the waiting tasks.
    ///
    /// # Errors
    /// The kernel does not execute the program.
    pub fn look(&self) -> Result<Look, WatchError> {
        self.eye.look()
    }

    /// Starts a short complete recording. End it with [`stop`](Self::stop).
    ///
    /// # Errors
    /// The programs cannot be attached, or a recording is already running.
    pub fn record(&mut self, sink: &mut dyn Sink) -> Result<Recorder, WatchError> {
        let busy = || WatchError::Failed("a recording is already running".to_owned());
        let kernel = self.resting.take().ok_or_else(busy)?;
        self.run_time.begin();
        self.online = self.online_now();
        let (scheduler, workload) = (self.scheduler(), "all that ran".to_owned());
        let scene = Scene { topology: &self.topology, online: &self.online, scheduler, workload };
        Ok(Recorder::with(kernel, scene, sink)?)
    }

    /// Ends a recording and its stream. Returns `None` if CPUs came online or went offline meanwhile, which is not
    /// recorded.
    ///
    /// # Errors
    /// A ring cannot be read.
    pub fn stop(&mut self, recorder: Recorder, sink: &mut dyn Sink) -> Result<Option<Recorded>, WatchError> {
        let (recorded, kernel) = recorder.end(sink)?;
        self.run_time.end(&kernel);
        self.resting = Some(kernel);
        Ok((self.online_now() == self.online).then_some(recorded))
    }

    fn online_now(&self) -> CpuSet {
        machine::online(&self.host, self.topology.cpus())
    }

    /// Returns the cost so far.
    pub fn cost(&self) -> Cost {
        Cost { process: cost::process(), programs: self.run_time.spent() }
    }
}

/// Returns a ring's size in bytes: a power of two.
fn ring_bytes(cpus: u32) -> u32 {
    1 << (RINGS_BYTES / cpus).clamp(*RING_BYTES.start(), *RING_BYTES.end()).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::fake;
    use crate::record::RecordError;

    #[test]
    fn rings_are_small_powers_of_two() {
        let check = |cpus, expected| assert_eq!(ring_bytes(cpus), expected, "{cpus}");
        check(1, 1 << 20);
        check(64, 512 << 10);
        check(96, 256 << 10);
        check(4096, 32 << 10);
    }

    #[test]
    fn missing_requirements_are_reported() {
        let check = |files: &[(&str, &str)], expected: WatchError, code| {
            let begun = Watcher::begin(&fake(files).1).err();
            assert_eq!(begun.as_ref().map(WatchError::class), Some(code), "{files:?}");
            assert_eq!(begun, Some(expected), "{files:?}");
        };
        let btf = ("sys/kernel/btf/vmlinux", "types");
        let nobody = ("proc/self/status", "CapEff:\t0000000000000000\n");
        check(&[nobody], WatchError::Record(RecordError::NoBtf), crate::Class::Unsupported);
        check(&[btf, nobody], WatchError::NoRights, crate::Class::Input);
    }
}
