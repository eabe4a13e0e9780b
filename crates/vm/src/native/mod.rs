//! Native code by Cranelift: each function of an object becomes a function of the process.
//!
//! It does what the interpreter does, operation for operation. It contains nothing specific to one simulation: the
//! region, the addresses and the host are reached through the [`Context`].
//!
//! Faults never return: the functions that raise them leave the fiber for good. So calls need not check for them.
#![allow(unsafe_code)]

mod alu;
mod memory;
mod numbers;
#[cfg(target_arch = "x86_64")]
mod stubs;
mod symbols;
mod translate;

use crate::code::{Code, Func};
use crate::context::{NativeFn, Tables};
use crate::error::LoadError;
use crate::memory::LineForm;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{Context, ir};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{ArenaMemoryProvider, JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};
use std::mem::ManuallyDrop;
use symbols::Symbols;

/// Bytes of the process's stack that a translated function may use: eight of them fit a fiber.
const MAX_FRAME_BYTES: u32 = 24 << 10;

/// An object's native code.
pub(crate) struct Native {
    table: Box<[NativeFn]>,
    _module: Owner,
}

/// Owns the memory that the code is in.
struct Owner(ManuallyDrop<JITModule>);

// SAFETY: nothing reaches the module through a shared reference; it is only dropped.
unsafe impl Sync for Owner {}

impl Native {
    /// Translates every function, for a machine with these lines.
    pub(crate) fn translate(code: &Code, lines: LineForm) -> Result<Self, LoadError> {
        let broken = LoadError::NoNative;
        let mut module = new_module().map_err(broken)?;
        let symbols = Symbols::define(&mut module).map_err(broken)?;
        let ids = declare(&mut module, code).map_err(broken)?;
        let target = Target { lines, has_arena: code.user_half.is_some() };
        let mut work =
            Work { context: module.make_context(), builder: FunctionBuilderContext::new(), target };
        for (function, &id) in code.functions.iter().zip(&ids) {
            define(&mut module, &symbols, &ids, function, id, &mut work)
                .map_err(|why| LoadError::Translation { function: function.name.clone(), why })?;
        }
        module.finalize_definitions().map_err(|e| broken(e.to_string()))?;
        let table = ids
            .iter()
            .map(|&id| {
                let at = module.get_finalized_function(id);
                // SAFETY: the function was defined with just this signature and calling
                // convention, and its memory lives as long as `self`.
                unsafe { std::mem::transmute::<*const u8, NativeFn>(at) }
            })
            .collect();
        Ok(Self { table, _module: Owner(ManuallyDrop::new(module)) })
    }

    /// The code of each function.
    pub(crate) fn tables(&self) -> Tables {
        Tables { native: self.table.as_ptr(), starts: std::ptr::null() }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // SAFETY: the module is taken only here, once. Every Vm that runs its code, and so every
        // fiber with a frame of it, holds the `Code` that owns it, so nothing executes it any more.
        unsafe { ManuallyDrop::take(&mut self.0).free_memory() };
    }
}

/// Scratch space, reused from one function to the next.
struct Work {
    context: Context,
    builder: FunctionBuilderContext,
    target: Target,
}

/// The target for which all of an object's functions are translated.
#[derive(Clone, Copy)]
struct Target {
    /// The machine's cache lines.
    lines: LineForm,
    /// Whether the object has an arena, whose pages may be unbacked.
    has_arena: bool,
}

fn new_module() -> Result<JITModule, String> {
    let mut flags = settings::builder();
    for (name, value) in [
        ("opt_level", "speed"),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        ("enable_probestack", "false"),
        ("unwind_info", "false"),
        ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
    ] {
        flags.set(name, value).map_err(|e| e.to_string())?;
    }
    let isa = cranelift_native::builder()?.finish(settings::Flags::new(flags)).map_err(|e| e.to_string())?;
    let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
    // A single reservation: pieces mapped one by one may be farther apart than calls can reach, once regions of many
    // simulations are in between.
    let memory = ArenaMemoryProvider::new_with_size(MAX_CODE_BYTES).map_err(|e| e.to_string())?;
    builder.memory_provider(Box::new(memory));
    symbols::addresses(&mut builder);
    Ok(JITModule::new(builder))
}

/// The most code for an object: only address space until there is code. Calls can reach this far.
const MAX_CODE_BYTES: usize = 1 << 30;

/// The signature of [`NativeFn`].
fn signature(module: &JITModule) -> ir::Signature {
    let mut signature = module.make_signature();
    signature.params = vec![ir::AbiParam::new(ir::types::I64); 7];
    signature.returns = vec![ir::AbiParam::new(ir::types::I64)];
    signature
}

fn declare(module: &mut JITModule, code: &Code) -> Result<Vec<FuncId>, String> {
    let signature = signature(module);
    (0..code.functions.len())
        .map(|i| {
            let name = format!("bpf{i}");
            module.declare_function(&name, Linkage::Local, &signature).map_err(|e| e.to_string())
        })
        .collect()
}

fn define(
    module: &mut JITModule,
    symbols: &Symbols,
    ids: &[FuncId],
    function: &Func,
    id: FuncId,
    work: &mut Work,
) -> Result<(), String> {
    work.context.func.signature = signature(module);
    work.context.func.name = ir::UserFuncName::user(0, id.as_u32());
    let Work { context, builder, target } = work;
    translate::function(module, symbols, ids, function, &mut context.func, builder, *target);
    module.define_function(id, &mut work.context).map_err(|e| format!("{e:?}"))?;
    let compiled = work.context.compiled_code().ok_or("no code")?;
    let frame = compiled.buffer.frame_layout().map_or(0, |l| l.frame_to_fp_offset);
    module.clear_context(&mut work.context);
    if frame > MAX_FRAME_BYTES {
        return Err(format!("it needs {frame} bytes of stack; {MAX_FRAME_BYTES} is the limit"));
    }
    Ok(())
}
