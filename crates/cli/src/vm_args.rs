//! The arguments of `keel vm`.

use crate::parse;
use clap::Args;
use keel_abi::Span;
use std::ffi::OsString;

/// `keel vm`.
#[derive(Debug, Args)]
#[command(after_help = "\
The command sees the host's files. Its changes to them are lost when the guest ends, except those \
in the current folder. keel exits with the command's exit code, or with 2 (bad input), 3 (the guest \
died, hung or took too long), 4 (something is missing on this machine) or 130 (Ctrl-C).")]
pub(crate) struct VmArgs {
    /// The kernel to run, such as 7.2 or 7.2.13 (see keel list kernels)
    #[arg(long, value_name = "V", default_value = keel_guest::DEFAULT)]
    pub(crate) kernel: String,
    /// Number of CPUs
    #[arg(long, value_name = "N", default_value_t = 8, allow_negative_numbers = true)]
    pub(crate) cpus: u32,
    /// Hardware threads per core
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    pub(crate) threads: u32,
    /// Number of NUMA nodes, each with the same share of CPUs and memory
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    pub(crate) numa: u32,
    /// Which nodes are neighbours, as in 0-1,1-2,2-3; distances follow from that [default: all are neighbours]
    #[arg(long, value_name = "A-B,...")]
    pub(crate) links: Option<keel_guest::Links>,
    /// Memory: 512M, 2G
    #[arg(long, value_name = "SIZE", default_value = "2G", value_parser = memory_mib)]
    pub(crate) memory: u32,
    /// Let each instruction take 2^SHIFT ns (1 ns by default), and skip idle time: slow, but almost
    /// repeatable
    #[arg(long, value_name = "SHIFT", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "0", value_parser = clap::value_parser!(u8).range(0..=10), allow_negative_numbers = true)]
    pub(crate) icount: Option<u8>,
    /// Additional kernel command line arguments
    #[arg(long, value_name = "ARGS", default_value = "", hide_default_value = true)]
    pub(crate) append: String,
    /// Emulate the CPUs even if KVM works
    #[arg(long)]
    pub(crate) emulate: bool,
    /// Stop the guest after this time, which includes booting
    #[arg(long, value_name = "TIME", value_parser = parse::duration, allow_hyphen_values = true)]
    pub(crate) timeout: Option<Span>,
    /// Stop the guest if it is silent for this long [default: 2m; 10m with --icount]
    #[arg(long, value_name = "TIME", value_parser = parse::duration, allow_hyphen_values = true)]
    pub(crate) silence: Option<Span>,
    /// Show the kernel's console on stderr
    #[arg(long)]
    pub(crate) console: bool,
    /// Print nothing but the command's output and errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// The command to run, looked up in PATH
    #[arg(value_name = "CMD", trailing_var_arg = true, required = true)]
    pub(crate) command: Vec<OsString>,
}

/// Parses `512M` or `2G` to MiB.
fn memory_mib(text: &str) -> Result<u32, String> {
    let parsed = match (text.strip_suffix('M'), text.strip_suffix('G')) {
        (Some(mib), _) => mib.parse().ok(),
        (_, Some(gib)) => gib.parse::<u32>().ok().and_then(|gib| gib.checked_mul(1024)),
        _ => None,
    };
    parsed.ok_or_else(|| "write a number of MiB or GiB, as in 512M or 2G".to_owned())
}

#[cfg(test)]
mod tests {
    use super::memory_mib;

    #[test]
    fn sizes_have_units() {
        let check = |text, expected: Option<u32>| assert_eq!(memory_mib(text).ok(), expected, "{text}");
        check("512M", Some(512));
        check("2G", Some(2048));
        for bad in ["", "2", "G", "2g", "-1G", "1.5G", "99999999999M", "4194304G"] {
            check(bad, None);
        }
    }
}
