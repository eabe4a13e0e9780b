//! What the kernel that an object is loaded for reports about itself.

use std::collections::BTreeMap;

/// The kernel's properties, apart from its types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// `LINUX_KERNEL_VERSION`, `CONFIG_HZ`, ... by name. Options that are off in the kernel are absent.
    pub kconfig: BTreeMap<String, KconfigValue>,
}

impl LoadOptions {
    /// Adds a configuration value.
    #[must_use]
    pub fn kconfig(mut self, name: &str, value: impl Into<KconfigValue>) -> LoadOptions {
        self.kconfig.insert(name.to_owned(), value.into());
        self
    }
}

/// A kernel configuration value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KconfigValue {
    /// A number; for booleans and tristates, 0, 1 and (module) 2.
    Integer(i64),
    /// A text without its quotes; for booleans and tristates, `y`, `n` and `m`.
    Text(String),
}

impl From<i64> for KconfigValue {
    fn from(value: i64) -> KconfigValue {
        KconfigValue::Integer(value)
    }
}

impl From<bool> for KconfigValue {
    fn from(value: bool) -> KconfigValue {
        KconfigValue::Integer(i64::from(value))
    }
}

impl From<&str> for KconfigValue {
    fn from(value: &str) -> KconfigValue {
        KconfigValue::Text(value.to_owned())
    }
}
