//! Native code by Cranelift.
use crate::code::Code;
use crate::context::NativeFn;
use crate::error::LoadError;
/// An object's native code.
pub(crate) struct Native {}
impl Native {
    pub(crate) fn translate(_code: &Code) -> Result<Self, LoadError> { Ok(Self {}) }
    pub(crate) fn table(&self) -> *const NativeFn { std::ptr::null() }
}
