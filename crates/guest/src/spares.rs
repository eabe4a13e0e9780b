//! CPUs between the guest's CPUs that Linux never starts, for guests whose time is counted in instructions.
//!
//! QEMU 7.2 executes such CPUs one after another. A CPU runs until the next timer is due, and then the next CPU runs
//! the timers, which leaves it no instruction to execute. So while only one CPU is busy, the CPU after it executes
//! nothing, even if it is interrupted: tasks wait beside an idle CPU, for up to seconds. A spare CPU after each of the
//! others takes that empty turn.

/// The type of the CPUs that QEMU emulates.
pub(crate) const MODEL: &str = "qemu64";

/// The CPUs as arguments: after each one a spare, in sockets after those of the others.
pub(crate) fn args(sockets: u32, cores: u32, threads: u32, add: &mut impl FnMut(&str, String)) {
    let cpus = sockets * cores * threads;
    let all = 2 * sockets;
    add("-smp", format!("1,maxcpus={},sockets={all},cores={cores},threads={threads}", 2 * cpus));
    let cpu = |number: u32| {
        let (socket, core, thread) = (number / threads / cores, number / threads % cores, number % threads);
        format!("{MODEL}-x86_64-cpu,socket-id={socket},core-id={core},thread-id={thread}")
    };
    // QEMU takes turns in the order in which CPUs are created, and has created the first one itself.
    for number in 0..cpus {
        if number > 0 {
            add("-device", cpu(number));
        }
        add("-device", cpu(cpus + number));
    }
}
