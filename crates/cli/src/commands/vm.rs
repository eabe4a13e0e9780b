//! `keel vm`: runs a command on a real kernel in a guest that is discarded afterwards.

use crate::failure::{Code, Failure};
use crate::inputs::reason;
use crate::text::shown;
use crate::vm_args::VmArgs;
use keel_abi::Span;
use keel_guest::{
    Accel, End, Flavour, Guest, GuestError, Job, Kernel, Limits, Machine, Outputs, Qemu, Store, Trouble,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The part of the host's environment that the command gets: paths and language, and nothing that could be a secret.
const ENVIRONMENT: &[&str] =
    &["HOME", "PATH", "TERM", "USER", "SHELL", "LANG", "LC_ALL", "NO_COLOR", "RUST_LOG", "RUST_BACKTRACE"];

/// Boot timeout for emulated guests. They boot in seconds, or in a minute on a busy host or with `--icount`.
const BOOT: Duration = Duration::from_secs(300);
/// Boot timeout with KVM. Guests boot in two seconds.
const BOOT_KVM: Duration = Duration::from_secs(30);

pub(crate) fn run(args: &VmArgs) -> Result<Code, Failure> {
    let machine = Machine {
        cpus: args.cpus,
        threads: args.threads,
        nodes: args.numa,
        links: args.links.clone().unwrap_or_default(),
        memory_mib: args.memory,
        icount_shift: args.icount,
    };
    machine.check().map_err(failure)?;
    let job = job(args)?;
    let qemu = Qemu::find().map_err(failure)?;
    keel_guest::busybox().map_err(failure)?;
    let store = store()?;
    let say = |text: &str| say(args, text);
    let kernel = store.kernel(&args.kernel, Flavour::Full, &say).map_err(failure)?;
    if !kernel.release.has_clean_btf() {
        say(&format!("Linux {}'s BTF is broken: most schedulers fail to load on it", kernel.release));
    }
    if !kernel.release.has_sched_ext() {
        say(&format!("Linux {} has no sched_ext: schedulers cannot be loaded on it", kernel.release));
    }
    let stop = Stop::listen()?;
    let end = attempts(args, &store, &kernel, &machine, &job, &qemu, &stop).map_err(failure)?;
    let code = match end {
        End::Code(code) => i32::from(code),
        End::Stopped => 128 + stop.signal(),
        // The exit code that the command would have if it had written to the closed pipe itself.
        End::Unread => 128 + signal_hook::consts::SIGPIPE,
    };
    // The command may return any code; `Code` has only a few.
    std::process::exit(code)
}

/// Runs the guest with KVM if that may work, and emulated if it doesn't.
fn attempts(
    args: &VmArgs,
    store: &Store,
    kernel: &Kernel,
    machine: &Machine,
    job: &Job,
    qemu: &Qemu,
    stop: &Stop,
) -> Result<End, GuestError> {
    let kvm = keel_guest::Kvm::on_this_host(store.folder());
    let silence = if args.icount.is_some() { Duration::from_secs(600) } else { Duration::from_secs(120) };
    let mut limits =
        Limits { boot: BOOT, silence: args.silence.map_or(silence, wall), total: args.timeout.map(wall) };
    let once = |accel, limits| {
        say(args, &boots(kernel, machine, accel));
        let (mut out, mut err, mut console) = (std::io::stdout(), std::io::stderr(), std::io::stderr());
        let mut outputs = Outputs {
            out: &mut out,
            err: &mut err,
            console: args.console.then_some(&mut console as &mut dyn Write),
        };
        Guest { kernel, machine, job, append: &args.append, limits }
            .run(qemu, accel, &mut outputs, &|| stop.signal() != 0)
    };
    if kvm.may_work() && !args.emulate && args.icount.is_none() {
        match once(Accel::Kvm, Limits { boot: BOOT_KVM, ..limits }) {
            Err(Trouble { begun: false, error }) => {
                say(args, &format!("KVM does not work here, so the CPUs are emulated: {error}"));
                kvm.remember_that_it_fails();
            }
            other => return other.map_err(|trouble| trouble.error),
        }
    }
    limits.boot = limits.boot.max(limits.silence);
    once(qemu.emulation(), limits).map_err(|trouble| trouble.error)
}

fn wall(span: Span) -> Duration {
    Duration::from_nanos(span.as_ns())
}

fn boots(kernel: &Kernel, machine: &Machine, accel: Accel) -> String {
    let how = match (machine.icount_shift, accel) {
        (Some(_), _) => "emulated, time counted in instructions",
        (None, Accel::Kvm) => "KVM",
        (None, Accel::OneThread) => "emulated on one thread",
        (None, Accel::Threads) => "emulated",
    };
    let many = |count: u32, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let (cpus, nodes) = (many(machine.cpus, "CPU"), many(machine.nodes, "node"));
    format!("Linux {} on {cpus} in {nodes}, {how}", kernel.release)
}

fn job(args: &VmArgs) -> Result<Job, Failure> {
    let folder = std::env::current_dir()
        .map_err(|e| Failure::input(format!("cannot find the current folder: {}", reason(&e))))?;
    let unshared = ["/proc", "/sys", "/dev", "/run"];
    if folder == Path::new("/") || unshared.iter().any(|place| folder.starts_with(place)) {
        let reported =
            format!("the guest needs to share the current folder, but cannot share {}", folder.display());
        return Err(Failure::input(reported).help("go to another folder"));
    }
    let environment =
        ENVIRONMENT.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var_os(name)?))).collect();
    Ok(Job { command: args.command.clone(), folder, environment })
}

/// Returns the cache: the folder in `KEEL_CACHE`, or in this host's usual place for caches.
pub(crate) fn store() -> Result<Store, Failure> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = variable("KEEL_CACHE")
        .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("keel")))
        .or_else(|| Some(variable("HOME")?.join(".cache/keel")))
        .ok_or_else(|| Failure::input("no folder to store kernels in").help("set KEEL_CACHE to a folder"))?;
    Store::open(&folder).map_err(failure)
}

pub(crate) fn failure(error: GuestError) -> Failure {
    let reported = shown(&error.to_string());
    match error {
        GuestError::Input(_) | GuestError::File { .. } => Failure::input(reported),
        GuestError::Missing(_) | GuestError::Unavailable(_) => Failure::unsupported(reported),
        GuestError::Guest(_) => Failure::scheduler(reported),
    }
}

fn say(args: &VmArgs, text: &str) {
    if !args.quiet {
        // If stderr is closed there is nobody left to report to.
        let _ = writeln!(std::io::stderr(), "keel: {}", shown(text));
    }
}

/// Catches Ctrl-C and similar signals from the moment there is a guest to stop.
struct Stop(Arc<AtomicUsize>);

impl Stop {
    fn listen() -> Result<Self, Failure> {
        let asked = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let value = usize::try_from(signal).expect("signals are small numbers");
            let registered = signal_hook::flag::register_usize(signal, Arc::clone(&asked), value);
            registered.map_err(|e| Failure::input(format!("cannot handle Ctrl-C: {e}")))?;
        }
        Ok(Self(asked))
    }

    /// Returns the last signal, or 0 if there was none.
    fn signal(&self) -> i32 {
        i32::try_from(self.0.load(Ordering::Relaxed)).unwrap_or(0)
    }
}
