//! `.kconfig` variables.

use keel_object::{LoadOptions, load};

use crate::common::{kernel, object, refusal};

const SOURCE: &str = r#"
    extern int LINUX_KERNEL_VERSION __kconfig;
    extern bool CONFIG_PREEMPT_RCU __kconfig __weak;
    extern enum libbpf_tristate CONFIG_MODULE __kconfig;
    extern char CONFIG_LETTER __kconfig;
    extern const char CONFIG_LOCALVERSION[8] __kconfig __weak;
    extern u64 CONFIG_HZ __kconfig __weak;
    SEC("syscall") long f(void *ctx) {
        return LINUX_KERNEL_VERSION + CONFIG_PREEMPT_RCU + CONFIG_MODULE + CONFIG_LETTER + CONFIG_LOCALVERSION[2] + CONFIG_HZ;
    }
"#;

fn options() -> LoadOptions {
    LoadOptions::default()
        .kconfig("LINUX_KERNEL_VERSION", 0x070200)
        .kconfig("CONFIG_MODULE", "m")
        .kconfig("CONFIG_LETTER", "y")
}

fn bytes(options: &LoadOptions, size: usize, from_offset: impl Fn(&[u8]) -> Option<usize>) -> bool {
    let object = load(&object(SOURCE), kernel(), options).unwrap();
    let map = object.maps.iter().find(|map| map.name == ".kconfig").unwrap();
    assert!(map.read_only && map.kind == 2 && map.value_size as usize == map.initial.len());
    from_offset(&map.initial).is_some_and(|at| at + size <= map.initial.len())
}

#[test]
fn values_are_laid_out_and_loaded() {
    let holds = |options: &LoadOptions, wanted: &[u8]| {
        bytes(options, wanted.len(), |all| all.windows(wanted.len()).position(|w| w == wanted))
    };
    assert!(holds(&options(), &0x070200u32.to_le_bytes()));
    assert!(holds(&options(), &2u32.to_le_bytes()));
    assert!(holds(&options(), b"y"));
    assert!(!holds(&options(), &1000u64.to_le_bytes()));
    assert!(holds(&options().kconfig("CONFIG_HZ", 1000), &1000u64.to_le_bytes()));
    assert!(holds(&options().kconfig("CONFIG_LOCALVERSION", "-keel-is-long"), b"-keel-i\0"));
}

#[test]
fn unusable_values_are_refused() {
    let check = |name: &str, value: i64, expected: &str| {
        let error = load(&object(SOURCE), kernel(), &options().kconfig(name, value)).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("the kernel configuration value {name} is unusable: {expected}")
        );
    };
    check("CONFIG_PREEMPT_RCU", 2, "it doesn't fit into its variable");
    check("LINUX_KERNEL_VERSION", 1 << 31, "it doesn't fit into its variable");
    check("CONFIG_LOCALVERSION", 1, "it is a number, but its variable is a string");
    check("CONFIG_HZ", -1, "it doesn't fit into its variable");
}

#[test]
fn a_missing_value_is_named() {
    let source =
        "extern int CONFIG_NOWHERE __kconfig; SEC(\"syscall\") long f(void *c) { return CONFIG_NOWHERE; }";
    assert_eq!(
        refusal(source),
        "the object needs the kernel configuration value CONFIG_NOWHERE, which isn't known"
    );
}
