//! Estimates costs that no benchmark here can measure if an emulator executes the kernel.
//!
//! An emulator also executes the kernel's paths instruction by instruction, so they are the default machine's, scaled
//! by the time of an instruction. An interrupt enters and leaves the kernel, as a system call does. An emulator lacks
//! what the hardware adds to that, such as the time until an IPI arrives.

use crate::file::Machine;

/// The default machine's `insn_ps`.
const INSN_PS: u64 = 250;

/// Paths of the kernel, and code of a scheduler's program, with their cost on the default machine. Measured values
/// replace these.
const PATHS: [(&str, u64); 19] = [
    ("tick_ns", 800),
    ("fork_ns", 12_000),
    ("exit_ns", 6_000),
    ("migration_ns", 200),
    ("callback_ns", 15),
    ("fork_process_ns", 40_000),
    ("wait_ns", 800),
    ("pipe_ns", 250),
    ("unix_ns", 700),
    ("tcp_ns", 2_000),
    ("exec_ns", 150_000),
    ("page_share_ns", 25),
    ("page_release_ns", 25),
    ("page_fault_ns", 500),
    ("write_fault_ns", 300),
    ("page_clear_ns", 240),
    ("page_copy_ns", 200),
    ("copy_kb_ns", 60),
    ("program_call_ns", 2_000),
];

/// The number of instructions to take and release a free lock.
const LOCK_INSNS: u64 = 2;

/// The constants for interrupts.
const INTERRUPTS: [&str; 2] = ["irq_ns", "ipi_send_ns"];

/// Returns the further cost of a timer's interrupt, which finds the timer, wakes the task, and programs the next timer.
pub(super) const fn timer_ns(syscall_ns: u64) -> u64 {
    2 * syscall_ns
}

/// Adds the paths to the machine.
pub(super) fn put_paths(machine: &mut Machine, insn_ps: u64) {
    let of = |default_ns: u64| default_ns.saturating_mul(insn_ps.max(INSN_PS)) / INSN_PS;
    for (name, default_ns) in PATHS {
        let source = format!(
            "not measured: the default's {default_ns}, as many times larger as insn_ps ({insn_ps} for {INSN_PS})"
        );
        machine.constant("costs", name, of(default_ns), source);
    }
    let source = format!(
        "not measured: {LOCK_INSNS} instructions ({insn_ps} ps each) that take a lock and give it back"
    );
    machine.constant("costs", "lock_acquire_ns", LOCK_INSNS * insn_ps / 1000, source);
    let source = "not measured: it is the time until a line arrives, and an emulator moves none";
    machine.constant("costs", "lock_handover_ns", 0, source.to_owned());
}

/// Adds the interrupts to the machine.
pub(super) fn put_interrupts(machine: &mut Machine, syscall_ns: u64) {
    for name in INTERRUPTS {
        machine.constant(
            "costs",
            name,
            syscall_ns,
            "not measured: as syscall_ns, one entry into the kernel and exit".to_owned(),
        );
    }
    machine.constant(
        "costs",
        "timer_ns",
        timer_ns(syscall_ns),
        "not measured: as two of syscall_ns, to find the timer and to program the next".to_owned(),
    );
    machine.constant("costs", "ipi_ns", 0, "an emulated interrupt arrives when it is sent".to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_machine_has_these_costs() {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines/default.toml");
        let machine: toml::Table = std::fs::read_to_string(file).unwrap().parse().unwrap();
        let value = |name: &str| machine["costs"][name]["value"].as_integer().unwrap() as u64;
        assert_eq!(value("insn_ps"), INSN_PS);
        for (name, default_ns) in PATHS {
            assert_eq!(value(name), default_ns, "{name}");
        }
    }

    #[test]
    fn what_is_not_measured_is_as_slow_as_instructions() {
        let mut machine = Machine::named("it".to_owned());
        put_paths(&mut machine, 10_000);
        put_interrupts(&mut machine, 2_700);
        let text = machine.text(&[]);
        assert!(text.contains("\nfork_ns = { value = 480000,"), "{text}");
        assert!(text.contains("\nirq_ns = { value = 2700,"), "{text}");
        assert!(text.contains("\nexec_ns = { value = 6000000,"), "{text}");
        assert!(text.contains("\nlock_acquire_ns = { value = 20,"), "{text}");
    }
}
