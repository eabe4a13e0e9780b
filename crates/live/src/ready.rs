//! Checks the requirements for loading a scheduler first, so that a missing one is reported in one sentence.

use crate::errors::LiveError;
use crate::host::{Host, State};
use keel_object::Btf;
use keel_object::btf::Kind;

/// `CAP_SYS_ADMIN`, which implies the other two; `CAP_PERFMON`; `CAP_BPF`.
const SYS_ADMIN: u32 = 21;
const PERFMON: u32 = 38;
const BPF: u32 = 39;

/// Checks all requirements for loading a scheduler. Missing kernel features come first, since no capability helps then.
///
/// # Errors
/// The first missing requirement.
pub fn check(host: &Host) -> Result<(), LiveError> {
    let Some(state) = host.state() else { return Err(LiveError::NoSchedExt) };
    if !host.has("sys/kernel/btf/vmlinux") {
        return Err(LiveError::NoBtf);
    }
    if !has_rights(host) {
        return Err(LiveError::NoRights);
    }
    if state != State::Disabled {
        let name = host.scheduler().unwrap_or_else(|| "one that is being attached or detached".to_owned());
        return Err(LiveError::Busy(name));
    }
    Ok(())
}

/// Returns whether this process has the capabilities.
pub(crate) fn has_rights(host: &Host) -> bool {
    let held = held(host);
    has(held, SYS_ADMIN) || (has(held, BPF) && has(held, PERFMON))
}

/// Returns whether this process may read other processes' maps.
pub(crate) fn has_sys_admin(host: &Host) -> bool {
    has(held(host), SYS_ADMIN)
}

fn has(held: u64, capability: u32) -> bool {
    held >> capability & 1 != 0
}

/// Returns this process's effective capabilities.
fn held(host: &Host) -> u64 {
    let status = host.text("proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0)
}

/// Returns the running kernel's types.
pub(crate) fn kernel_types(host: &Host) -> Option<Btf> {
    let bytes = std::fs::read(host.path("sys/kernel/btf/vmlinux")).ok()?;
    Btf::parse(&bytes).ok()
}

/// Returns a kfunc of sched_ext whose type contains the argument that the verifier itself adds.
///
/// Kernels hide it (`KF_IMPLICIT_ARGS`): the type for callers has no `aux`, and a twin whose name ends in `_impl` has
/// it.
pub(crate) fn broken(types: &Btf) -> Option<String> {
    let shows_aux = |proto| {
        let last = types.prototype(proto).and_then(|proto| proto.params.last());
        last.is_some_and(|param| types.param_name(param) == "aux" && is_prog_aux(types, param.ty))
    };
    types
        .functions()
        .find(|f| f.name.starts_with("scx_bpf_") && !f.name.ends_with("_impl") && shows_aux(f.proto))
        .map(|f| f.name.to_owned())
}

fn is_prog_aux(types: &Btf, ty: keel_object::btf::TypeId) -> bool {
    let Kind::Ptr(to) = types.kind(types.skip_modifiers(ty)) else { return false };
    types.name(types.skip_modifiers(*to)) == "bpf_prog_aux"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::fake;

    const STATE: &str = "sys/kernel/sched_ext/state";
    const BTF: (&str, &str) = ("sys/kernel/btf/vmlinux", "types");
    const ROOT: (&str, &str) = ("proc/self/status", "Name:\tkeel\nCapEff:\t000001ffffffffff\n");

    #[test]
    fn missing_requirements_are_reported() {
        let check = |files: &[(&str, &str)], expected: Result<(), LiveError>| {
            assert_eq!(check(&fake(files).1), expected, "{files:?}");
        };
        let off = (STATE, "disabled\n");
        check(&[off, BTF, ROOT], Ok(()));
        check(&[BTF, ROOT], Err(LiveError::NoSchedExt));
        check(&[off, ROOT], Err(LiveError::NoBtf));
        check(&[off, BTF], Err(LiveError::NoRights));
        check(&[off, BTF, ("proc/self/status", "CapEff:\t0000000000000000\n")], Err(LiveError::NoRights));
        check(&[off, BTF, ("proc/self/status", "CapEff:\t0000008000000000\n")], Err(LiveError::NoRights));
        check(&[off, BTF, ("proc/self/status", "CapEff:\t000000c000000000\n")], Ok(()));
        let other = ("sys/kernel/sched_ext/root/ops", "lavd\n");
        check(&[(STATE, "enabled"), BTF, ROOT, other], Err(LiveError::Busy("lavd".into())));
        let nameless = LiveError::Busy("one that is being attached or detached".into());
        check(&[(STATE, "disabling"), BTF, ROOT], Err(nameless));
    }

    /// Returns the types of a kernel with one kfunc, which has this name and these parameters.
    fn types(name: &str, parameters: &str) -> Btf {
        let root = tempfile::tempdir().unwrap();
        let source = format!(
            "struct bpf_prog_aux {{ int id; }};\n\
             __attribute__((used)) _Bool {name}({parameters}) {{ return 0; }}\n"
        );
        std::fs::write(root.path().join("k.bpf.c"), source).unwrap();
        let object =
            keel_bpfc::Compiler::new(root.path()).compile("k.bpf.c").unwrap_or_else(|e| panic!("{e}"));
        Btf::parse(&keel_object::btf_section(&object).unwrap()).unwrap()
    }

    #[test]
    fn types_that_show_hidden_arguments_are_broken() {
        let check = |name: &str, parameters, expected: bool| {
            let found = broken(&types(name, parameters));
            assert_eq!(found.as_deref(), expected.then_some(name), "{name}({parameters})");
        };
        check("scx_bpf_dsq_insert", "int dsq, const struct bpf_prog_aux *aux", true);
        check("scx_bpf_now", "struct bpf_prog_aux *aux", true);
        check("scx_bpf_dsq_insert", "int dsq", false);
        check("scx_bpf_dsq_insert", "int dsq, void *aux", false);
        check("scx_bpf_dsq_insert_impl", "int dsq, struct bpf_prog_aux *aux", false);
        check("bpf_wq_set_callback", "int dsq, struct bpf_prog_aux *aux", false);
    }
}
