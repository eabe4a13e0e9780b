//! `keel machine`: describes this machine in a machine file.

use crate::args::{CaptureArgs, MachineArgs, MachineCommand};
use crate::failure::{Code, Failure};
use crate::lab::Lab;
use crate::output::{self, Output};
use std::path::Path;

/// The folder that contains /sys and /proc.
const ROOT: &str = "/";

pub(crate) fn run(args: &MachineArgs, lab: &Lab) -> Result<Code, Failure> {
    match &args.what {
        MachineCommand::Capture(args) => capture(args, lab),
    }
}

fn capture(args: &CaptureArgs, lab: &Lab) -> Result<Code, Failure> {
    let root = Path::new(ROOT);
    let output = args.output.as_deref().map(Output::reserve).transpose()?;
    let measured = args.measure.then(|| keel_capture::measure::measure(root));
    let captured =
        keel_capture::capture(root, measured.as_ref()).map_err(|e| Failure::input(e.to_string()))?;
    // Don't write a file that cannot be loaded.
    (lab.read_machine)("the captured machine", &captured.text).map_err(Failure::from_lab)?;
    captured.unseen.iter().for_each(output::note);
    output::write_or_print(output, &captured.text)?;
    Ok(Code::Done)
}

#[cfg(test)]
mod tests {
    use crate::lab::REAL;
    use keel_abi::{CpuId, NodeId};

    /// The capture of a made-up machine can be simulated.
    #[test]
    fn captured_machines_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join("sys/devices/system").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("cpu/online", "0-5,7\n");
        write("cpu/cpu6/online", "0\n");
        for (node, cpus, distance) in [(0, "0-3", "10 20 30"), (1, "4-5", "20 10 20"), (2, "7", "30 20 10")] {
            write(&format!("node/node{node}/cpulist"), cpus);
            write(&format!("node/node{node}/distance"), distance);
        }
        for (cpu, core) in [(0, "0,2"), (1, "1,3"), (2, "0,2"), (3, "1,3"), (4, "4"), (5, "5"), (7, "7")] {
            write(&format!("cpu/cpu{cpu}/topology/core_cpus_list"), core);
        }
        write("cpu/cpu7/cpu_capacity", "300");
        write("cpu/cpu0/cpufreq/cpuinfo_min_freq", "800000");
        write("cpu/cpu0/cpufreq/cpuinfo_max_freq", "3200000");
        let captured = keel_capture::capture(folder.path(), None).unwrap();
        let machine = (REAL.read_machine)("captured.toml", &captured.text).unwrap();
        let place = |cpu| machine.topology.place(CpuId(cpu));
        assert_eq!(machine.topology.cpus(), 8);
        assert_eq!((place(0).core, place(1).node), (place(2).core, NodeId(0)));
        assert_eq!(machine.topology.hops(NodeId(0), NodeId(2)), 2);
        assert_eq!((machine.capacity[7], machine.frequency.least, machine.timeline.len()), (300, 256, 1));
    }
}
