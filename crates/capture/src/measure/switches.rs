//! Derives the costs of wakeups, switches, and entering and leaving idleness from the measurements.

use super::spread::Spread;
use super::{Distance, Measured, unmeasured};
use crate::file::Machine;

/// How the kernel's path of a wakeup and switch is split, in parts of [`ALL_PARTS`].
struct Parts {
    schedule: u64,
    context_switch: u64,
    wakeup: u64,
}

const ALL_PARTS: u64 = 1350;
/// As on the default machine.
const PARTS: Parts = Parts { schedule: 250, context_switch: 700, wakeup: 400 };
/// The same in an emulator, by instructions: hardware's part of a context switch is missing.
const EMULATED_PARTS: Parts = Parts { schedule: 740, context_switch: 320, wakeup: 290 };

/// The time of the kernel's paths for the wakeup of one task.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Paths {
    wakeup_ns: u64,
    context_switch_ns: u64,
}

impl Measured {
    fn pipe_ns(&self) -> u64 {
        self.pipe.as_ref().map_or(0, Spread::median_ns)
    }

    /// Adds the costs of a wakeup and a switch from one task to another.
    pub(super) fn put_switch(&self, machine: &mut Machine) -> Paths {
        let Some(switch) = &self.switch else { return Paths::default() };
        let pipe_ns = self.pipe_ns();
        let own_ns = switch.median_ns().saturating_sub(pipe_ns);
        let all = format!(
            "a byte through a pipe to a thread on the same CPU: {switch}, less {pipe_ns} ns without a switch"
        );
        let (parts, as_where) = match self.turn {
            None => (PARTS, "as on the default machine"),
            Some(_) => (EMULATED_PARTS, "by instructions, as recordings of emulated machines show it"),
        };
        let wakeup_ns = own_ns * parts.wakeup / ALL_PARTS;
        let context_switch_ns = own_ns * parts.context_switch / ALL_PARTS;
        let source = format!("{all}; split {as_where}");
        machine.constant("costs", "schedule_ns", own_ns * parts.schedule / ALL_PARTS, source.clone());
        machine.constant("costs", "context_switch_ns", context_switch_ns, source.clone());
        machine.constant("costs", "wakeup_ns", wakeup_ns, source);
        Paths { wakeup_ns, context_switch_ns }
    }

    /// Adds the costs of idleness: a wakeup of an idle CPU also includes an interrupt and leaving the idle state.
    pub(super) fn put_idle(&self, machine: &mut Machine, ipi_ns: u64, paths: Paths) {
        for (distance, spread) in &self.wakeups {
            machine.remark(&format!("a wakeup through a pipe between {}: {spread}", distance.name()));
        }
        let near = self.wakeups.iter().find(|(distance, _)| *distance <= Distance::Cache);
        let Some((distance, apart)) = near else { return };
        if let (Some(_), Some(prompt)) = (&self.turn, &self.prompt) {
            return self.put_emulated_idle(machine, ipi_ns, paths, (apart, prompt));
        }
        let Some(together) = &self.switch else { return };
        let more_ns = apart.median_ns().saturating_sub(together.median_ns());
        let source = format!(
            "a wakeup between {} takes {more_ns} ns more than on one CPU ({apart}), less {ipi_ns} for the IPI",
            distance.name()
        );
        machine.constant("costs", "idle_exit_ns", more_ns.saturating_sub(ipi_ns), source);
    }

    /// Adds the same costs in an emulator. CPUs that take turns execute all parts of a wakeup one after another, so the
    /// parts can be separated.
    fn put_emulated_idle(
        &self,
        machine: &mut Machine,
        syscall_ns: u64,
        paths: Paths,
        (apart, prompt): (&Spread, &Spread),
    ) {
        let source =
            "an emulated CPU leaves its idle state at once; the kernel's way out is in schedule_from_idle_ns";
        machine.constant("costs", "idle_exit_ns", 0, source.to_owned());
        let Paths { wakeup_ns, context_switch_ns } = paths;
        let to_run_ns = wakeup_ns + context_switch_ns;
        // `irq_ns` and `timer_ns`, and half of the call that waits.
        let timer_ns = syscall_ns + unmeasured::timer_ns(syscall_ns) + syscall_ns / 2;
        let source = format!(
            "from a timer's expiry until its thread runs on an idle CPU: {prompt}, less {timer_ns} ns for the interrupt and \
             the way back, {wakeup_ns} for the wakeup, {context_switch_ns} for the context switch"
        );
        // 0 would mean unknown.
        let from_idle_ns = prompt.median_ns().saturating_sub(to_run_ns + timer_ns).max(1);
        machine.constant("costs", "schedule_from_idle_ns", from_idle_ns, source);
        // `irq_ns` and `ipi_send_ns`.
        let ipi_ns = 2 * syscall_ns;
        let pipe_ns = self.pipe_ns();
        let others_ns = pipe_ns + ipi_ns + to_run_ns + from_idle_ns + context_switch_ns;
        let source = format!(
            "a byte through a pipe between CPUs, of which each goes idle: {apart}, less {pipe_ns} ns for the pipe, {ipi_ns} \
             for the IPI, {} until the other runs, {context_switch_ns} for the context switch",
            to_run_ns + from_idle_ns
        );
        let to_idle_ns = apart.median_ns().saturating_sub(others_ns).max(1);
        machine.constant("costs", "schedule_to_idle_ns", to_idle_ns, source);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ways_into_idleness_and_out_are_what_is_left() {
        let spread = |ns: u64| Spread::of([ns * 1000]);
        let check = |emulated: bool, prompt_ns: u64, apart_ns: u64, expected: &str| {
            let measured = Measured {
                turn: spread(120_000).filter(|_| emulated),
                syscall: spread(2000),
                pipe: spread(17_000),
                switch: spread(17_000 + ALL_PARTS * 10),
                wakeups: spread(apart_ns).map(|spread| (Distance::Cache, spread)).into_iter().collect(),
                prompt: spread(prompt_ns),
                ..Measured::default()
            };
            let mut machine = Machine::named("it".to_owned());
            measured.put(&mut machine, &mut Vec::new());
            let text = machine.text(&[]);
            let idle = text.lines().filter(|line| line.contains("idle") && line.contains("value"));
            let idle: Vec<&str> = idle.filter_map(|line| line.split(',').next()).collect();
            assert_eq!(idle.join("\n"), expected);
        };
        // 7000 for the interrupt and the way back, 2900 and 3200; 17,000, 4000, 2900, 3200, 4000 and 3200.
        check(
            true,
            17_100,
            40_000,
            "idle_exit_ns = { value = 0\nschedule_from_idle_ns = { value = 4000\nschedule_to_idle_ns = { value = 5700",
        );
        check(
            true,
            10_000,
            20_000,
            "idle_exit_ns = { value = 0\nschedule_from_idle_ns = { value = 1\nschedule_to_idle_ns = { value = 1",
        );
        check(false, 17_100, 32_000, "idle_exit_ns = { value = 600");
    }
}
