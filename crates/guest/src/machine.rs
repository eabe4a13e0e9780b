//! The machine that a guest runs on, and QEMU's arguments for it.

use crate::error::GuestError;
use crate::links::Links;
use crate::spares;

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// CPUs, distributed evenly over the nodes in order.
    pub cpus: u32,
    /// CPUs that share a core.
    pub threads: u32,
    /// NUMA nodes, each a socket of its own.
    pub nodes: u32,
    /// Which of them are neighbours. All unless given.
    pub links: Links,
    /// Memory of all nodes together.
    pub memory_mib: u32,
    /// Time is counted in instructions: one takes 2^shift ns, and idle time is skipped.
    pub icount_shift: Option<u8>,
}

/// Who executes the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accel {
    /// The host's CPUs.
    Kvm,
    /// QEMU, with all CPUs taking turns on one thread.
    OneThread,
    /// QEMU, with one thread per CPU.
    Threads,
}

/// As many as QEMU's PC supports without interrupt remapping.
const MOST_CPUS: u32 = 255;
/// Enough for a kernel to boot, with some room.
const LEAST_MIB: u32 = 256;
/// A terabyte. More is a mistake.
const MOST_MIB: u32 = 1 << 20;

/// The features of x86-64-v2, for which some distributions compile. Wider vectors are slow to emulate, and programs
/// would use them.
const EMULATED_FEATURES: &str = "+ssse3,+sse4.1,+sse4.2,+popcnt";

impl Machine {
    /// Rejects impossible machines.
    ///
    /// # Errors
    /// [`GuestError::Input`].
    pub fn check(&self) -> Result<(), GuestError> {
        let Self { cpus, threads, nodes, memory_mib, ref links, .. } = *self;
        let fault = match () {
            () if !(1..=MOST_CPUS).contains(&cpus) => {
                format!("a guest has 1 to {MOST_CPUS} CPUs, not {cpus}")
            }
            () if !(1..=cpus).contains(&nodes) => {
                format!("a guest of {cpus} CPUs has 1 to {cpus} NUMA nodes, not {nodes}")
            }
            () if threads != 1 && (threads == 0 || !cpus.is_multiple_of(nodes * threads)) => {
                format!("{cpus} CPUs on {nodes} nodes cannot be divided into cores of {threads} threads")
            }
            () if !(LEAST_MIB..=MOST_MIB).contains(&memory_mib) => {
                format!("a guest has {LEAST_MIB}M to {}G of memory, not {memory_mib}M", MOST_MIB >> 10)
            }
            () if memory_mib / nodes < LEAST_MIB / 4 => {
                format!("{nodes} NUMA nodes need at least {}M of memory", nodes * LEAST_MIB / 4)
            }
            () => match links.distances(nodes) {
                Ok(_) => return Ok(()),
                Err(fault) => fault,
            },
        };
        Err(GuestError::Input(fault))
    }

    /// Returns whether the machine has CPUs that Linux never starts. See [`spares`].
    fn has_spares(&self) -> bool {
        self.icount_shift.is_some() && (2..=MOST_CPUS / 2).contains(&self.cpus)
    }

    /// Returns what Linux's command line must contain about the machine, if anything, followed by a space.
    pub(crate) fn boot_words(&self) -> String {
        match self.has_spares() {
            true => format!("nr_cpus={} ", self.cpus),
            false => String::new(),
        }
    }

    /// QEMU's arguments for the machine, which has passed [`Machine::check`].
    pub fn args(&self, accel: Accel) -> Vec<String> {
        let mut args: Vec<String> = Vec::new();
        let mut add = |name: &str, value: String| args.extend([name.to_owned(), value]);
        match (self.icount_shift, accel) {
            (Some(shift), _) => {
                add("-icount", format!("shift={shift},sleep=off"));
                // The clock chip's timer also counts instructions. It ends the CPUs' turns.
                add("-rtc", "clock=vm".into());
            }
            (None, Accel::Kvm) => {
                add("-accel", "kvm".into());
                add("-cpu", "host".into());
            }
            (None, Accel::OneThread) => add("-accel", "tcg,thread=single".into()),
            (None, Accel::Threads) => add("-accel", "tcg,thread=multi".into()),
        }
        if self.icount_shift.is_some() || accel != Accel::Kvm {
            // The default vendor has no threads.
            let vendor = if self.threads > 1 { ",vendor=GenuineIntel" } else { "" };
            add("-cpu", format!("{},{EMULATED_FEATURES}{vendor}", spares::MODEL));
        }
        // CPUs of one socket share a cache, and Linux accepts no cache across nodes.
        let sockets = if self.cpus.is_multiple_of(self.nodes) { self.nodes } else { self.cpus };
        let (threads, cores) = (self.threads, self.cpus / sockets / self.threads);
        match self.has_spares() {
            false => add("-smp", format!("{},sockets={sockets},cores={cores},threads={threads}", self.cpus)),
            true => spares::args(sockets, cores, threads, &mut add),
        }
        add("-m", format!("{}M", self.memory_mib));
        if self.nodes > 1 {
            for node in 0..self.nodes {
                let start = |node: u32, of: u32| of * node / self.nodes;
                let mib = start(node + 1, self.memory_mib) - start(node, self.memory_mib);
                let (first, last) = (start(node, self.cpus), start(node + 1, self.cpus) - 1);
                add("-object", format!("memory-backend-ram,id=mem{node},size={mib}M"));
                let spares = match self.has_spares() {
                    true => format!(",cpus={}-{}", self.cpus + first, self.cpus + last),
                    false => String::new(),
                };
                add("-numa", format!("node,nodeid={node},cpus={first}-{last}{spares},memdev=mem{node}"));
            }
        }
        for (a, row) in (0..).zip(self.links.distances(self.nodes).ok().flatten().unwrap_or_default()) {
            for (b, distance) in (0..a).zip(row) {
                add("-numa", format!("dist,src={b},dst={a},val={distance}"));
            }
        }
        args
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(cpus: u32, nodes: u32, memory_mib: u32) -> Machine {
        Machine { cpus, threads: 1, nodes, links: Links::default(), memory_mib, icount_shift: None }
    }

    #[test]
    fn machines_become_arguments() {
        let check = |machine: Machine, accel, expected: &str| {
            machine.check().unwrap();
            assert_eq!(machine.args(accel).join(" "), expected);
        };
        check(
            machine(4, 1, 2048),
            Accel::OneThread,
            "-accel tcg,thread=single -cpu qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt -smp 4,sockets=1,cores=4,threads=1 -m 2048M",
        );
        check(
            machine(8, 2, 2048),
            Accel::Kvm,
            "-accel kvm -cpu host -smp 8,sockets=2,cores=4,threads=1 -m 2048M \
             -object memory-backend-ram,id=mem0,size=1024M -numa node,nodeid=0,cpus=0-3,memdev=mem0 \
             -object memory-backend-ram,id=mem1,size=1024M -numa node,nodeid=1,cpus=4-7,memdev=mem1",
        );
        check(
            Machine { links: "0-1,1-2".parse().unwrap(), ..machine(3, 3, 768) },
            Accel::Kvm,
            "-accel kvm -cpu host -smp 3,sockets=3,cores=1,threads=1 -m 768M \
             -object memory-backend-ram,id=mem0,size=256M -numa node,nodeid=0,cpus=0-0,memdev=mem0 \
             -object memory-backend-ram,id=mem1,size=256M -numa node,nodeid=1,cpus=1-1,memdev=mem1 \
             -object memory-backend-ram,id=mem2,size=256M -numa node,nodeid=2,cpus=2-2,memdev=mem2 \
             -numa dist,src=0,dst=1,val=20 -numa dist,src=0,dst=2,val=30 -numa dist,src=1,dst=2,val=20",
        );
        check(
            machine(5, 2, 1001),
            Accel::Threads,
            "-accel tcg,thread=multi -cpu qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt -smp 5,sockets=5,cores=1,threads=1 -m 1001M \
             -object memory-backend-ram,id=mem0,size=500M -numa node,nodeid=0,cpus=0-1,memdev=mem0 \
             -object memory-backend-ram,id=mem1,size=501M -numa node,nodeid=1,cpus=2-4,memdev=mem1",
        );
        check(
            Machine { icount_shift: Some(0), ..machine(2, 1, 512) },
            Accel::Kvm,
            "-icount shift=0,sleep=off -rtc clock=vm -cpu qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt \
             -smp 1,maxcpus=4,sockets=2,cores=2,threads=1 -device qemu64-x86_64-cpu,socket-id=1,core-id=0,thread-id=0 \
             -device qemu64-x86_64-cpu,socket-id=0,core-id=1,thread-id=0 \
             -device qemu64-x86_64-cpu,socket-id=1,core-id=1,thread-id=0 -m 512M",
        );
        let with_spares = Machine { icount_shift: Some(3), threads: 2, ..machine(4, 2, 512) };
        assert_eq!(with_spares.boot_words(), "nr_cpus=4 ");
        assert_eq!(machine(4, 2, 512).boot_words(), "");
        let spares = with_spares.args(Accel::OneThread).join(" ");
        for words in [
            "-smp 1,maxcpus=8,sockets=4,cores=1,threads=2",
            "nodeid=0,cpus=0-1,cpus=4-5",
            "nodeid=1,cpus=2-3,cpus=6-7",
        ] {
            assert!(spares.contains(words), "{spares}");
        }
    }

    #[test]
    fn machines_that_cannot_be_are_refused() {
        let check = |machine: Machine, word: &str| {
            let reported = machine.check().unwrap_err().to_string();
            assert!(reported.contains(word), "{reported}");
        };
        check(machine(0, 1, 2048), "1 to 255 CPUs, not 0");
        check(machine(256, 1, 2048), "not 256");
        check(machine(4, 5, 2048), "1 to 4 NUMA nodes, not 5");
        check(machine(4, 0, 2048), "not 0");
        check(machine(4, 1, 255), "256M");
        check(machine(4, 1, u32::MAX), "1024G");
        check(Machine { links: "0-3".parse().unwrap(), ..machine(4, 2, 2048) }, "0-3 does not link");
        check(machine(64, 64, 1024), "64 NUMA nodes need at least 4096M");
    }
}
