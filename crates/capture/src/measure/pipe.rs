//! Measures system calls, wakeups through pipes, and the cost of pipes and sockets without a wakeup.

use super::pinned::{on, pin};
use super::spread::Spread;
use keel_abi::CpuId;
use std::io::{Read, Write, pipe};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::os::unix::process::parent_id;
use std::time::{Duration, Instant};

const REPEATS: usize = 15;
const CALLS: u32 = 20_000;
const ROUNDS: u32 = 1_000;
/// A packet that takes longer than this to come back within the machine is lost.
const PATIENCE: Duration = Duration::from_millis(500);

/// Measures `times` calls of `act` repeatedly. Returns the times per call.
fn each(times: u32, mut act: impl FnMut() -> bool) -> Option<Spread> {
    let mut measured = Vec::new();
    for _ in 0..REPEATS {
        let begun = Instant::now();
        for _ in 0..times {
            if !act() {
                return None;
            }
        }
        measured.push((begun.elapsed().as_nanos() * 1000 / u128::from(times)) as u64);
    }
    Spread::of(measured)
}

/// Measures a system call that does almost nothing.
pub(super) fn syscall(cpu: CpuId) -> Option<Spread> {
    on(cpu, || {
        each(CALLS, || {
            std::hint::black_box(parent_id());
            true
        })
    })?
}

fn pass(mut to: impl Write) -> bool {
    to.write(&[1]).is_ok_and(|n| n == 1)
}

fn take(mut from: impl Read) -> bool {
    from.read(&mut [0_u8; 1]).is_ok_and(|n| n == 1)
}

/// Measures one thread that writes a byte to a pipe and reads it.
pub(super) fn alone(cpu: CpuId) -> Option<Spread> {
    let (from, to) = pipe().ok()?;
    on(cpu, || each(CALLS, || pass(&to) && take(&from)))?
}

/// Measures the same through a local socket.
pub(super) fn local(cpu: CpuId) -> Option<Spread> {
    let (from, to) = UnixStream::pair().ok()?;
    on(cpu, || each(CALLS, || pass(&to) && take(&from)))?
}

/// Measures the same through TCP within the machine.
pub(super) fn tcp(cpu: CpuId) -> Option<Spread> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
    let to = TcpStream::connect_timeout(&listener.local_addr().ok()?, PATIENCE).ok()?;
    let (from, _) = listener.accept().ok()?;
    to.set_nodelay(true).ok()?;
    from.set_read_timeout(Some(PATIENCE)).ok()?;
    on(cpu, || each(ROUNDS, || pass(&to) && take(&from)))?
}

/// Measures a byte from a thread on `a` to a waiting thread on `b`, one way.
pub(super) fn switch(a: CpuId, b: CpuId) -> Option<Spread> {
    let (there_from, there_to) = pipe().ok()?;
    let (back_from, back_to) = pipe().ok()?;
    let spread = std::thread::scope(|scope| {
        scope.spawn(move || {
            // This side ends when the other is gone, and the other when this one is.
            let _ = pin(b);
            while take(&there_from) && pass(&back_to) {}
        });
        on(a, move || {
            let there_to = there_to;
            each(ROUNDS, || pass(&there_to) && take(&back_from))
        })?
    })?;
    Some(spread.halved())
}
