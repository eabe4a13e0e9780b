//! The engine's functions that native code calls.
//!
//! Cold paths go through stubs that preserve every register, so that the hot path around them can leave its values
//! where they are.

use crate::{calls, drain, numbers, trees};
use cranelift_codegen::Context;
use cranelift_codegen::ir::{AbiParam, Function, InstBuilder, Signature, types::I64};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module};

/// The engine's functions, as the module knows them.
pub(super) struct Symbols {
    /// `(context)`, never returns.
    pub(super) never_ends: FuncId,
    /// `(context)`, never returns.
    pub(super) too_deep: FuncId,
    /// `(context)`, never returns.
    pub(super) poisoned: FuncId,
    /// `(context, r1..r5) -> r0`.
    pub(super) bpf_loop: FuncId,
    /// `(context, r1..r5) -> r0`.
    pub(super) for_each: FuncId,
    /// `(context, r1..r5) -> r0`.
    pub(super) drain: FuncId,
    /// `(context, r1..r5) -> r0`.
    pub(super) rbtree_add: FuncId,
    /// `(context, r1..r5) -> r0`.
    pub(super) num_next: FuncId,
    /// `(context, offset)`, preserves all registers.
    pub(super) touch_read: FuncId,
    /// `(context, offset)`, preserves all registers.
    pub(super) touch_write: FuncId,
    /// `(context, offset)`, preserves all registers.
    pub(super) touch_atomically: FuncId,
    /// `(context)`, preserves all registers.
    pub(super) refill_loops: FuncId,
    /// `(context)`, preserves all registers.
    pub(super) out_of_bounds: FuncId,
}

/// Registers the addresses of the engine's functions with the module.
pub(super) fn addresses(builder: &mut JITBuilder) {
    builder.symbol("never_ends", calls::never_ends as *const u8);
    builder.symbol("too_deep", calls::too_deep as *const u8);
    builder.symbol("poisoned", calls::poisoned as *const u8);
    builder.symbol("bpf_loop", calls::bpf_loop as *const u8);
    builder.symbol("for_each", calls::for_each as *const u8);
    builder.symbol("drain", drain::drain as *const u8);
    builder.symbol("rbtree_add", trees::rbtree_add as *const u8);
    builder.symbol("num_next", numbers::num_next as *const u8);
    builder.symbol("touch", calls::touch as *const u8);
    #[cfg(target_arch = "x86_64")]
    {
        builder.symbol("touch_read", super::stubs::touch_read as *const u8);
        builder.symbol("touch_write", super::stubs::touch_write as *const u8);
    }
    builder.symbol("touch_atomically", calls::touch_atomically as *const u8);
    builder.symbol("refill_loops", calls::refill_loops as *const u8);
    builder.symbol("out_of_bounds", calls::out_of_bounds as *const u8);
}

impl Symbols {
    /// Declares the engine's functions and defines the stubs.
    pub(super) fn define(module: &mut JITModule) -> Result<Self, String> {
        let mut import = |name: &str, params: usize, returns: usize| {
            let signature = plain(module, params, returns);
            module.declare_function(name, Linkage::Import, &signature).map_err(|e| e.to_string())
        };
        let touch = import("touch", 3, 0)?;
        let atomically = import("touch_atomically", 2, 0)?;
        let loops = import("refill_loops", 1, 0)?;
        let bounds = import("out_of_bounds", 1, 0)?;
        let never_ends = import("never_ends", 1, 0)?;
        let too_deep = import("too_deep", 1, 0)?;
        let poisoned = import("poisoned", 1, 0)?;
        let bpf_loop = import("bpf_loop", 6, 1)?;
        let for_each = import("for_each", 6, 1)?;
        let drain = import("drain", 6, 1)?;
        let rbtree_add = import("rbtree_add", 6, 1)?;
        let num_next = import("num_next", 6, 1)?;
        Ok(Self {
            never_ends,
            too_deep,
            poisoned,
            bpf_loop,
            for_each,
            drain,
            rbtree_add,
            num_next,
            touch_read: touch_stub(module, "touch_read", touch, 0)?,
            touch_write: touch_stub(module, "touch_write", touch, 1)?,
            touch_atomically: stub(module, "touch_atomically_stub", 2, atomically, None)?,
            refill_loops: stub(module, "refill_loops_stub", 1, loops, None)?,
            out_of_bounds: stub(module, "out_of_bounds_stub", 1, bounds, None)?,
        })
    }
}

/// A signature of 64-bit integers in the host's own calling convention.
pub(super) fn plain(module: &JITModule, params: usize, returns: usize) -> Signature {
    let mut signature = module.make_signature();
    signature.params = vec![AbiParam::new(I64); params];
    signature.returns = vec![AbiParam::new(I64); returns];
    signature
}

/// Passes the parameters of `touch` and whether the line is written: by the processor's own stub, if there is one.
fn touch_stub(module: &mut JITModule, name: &str, touch: FuncId, write: i64) -> Result<FuncId, String> {
    if cfg!(not(target_arch = "x86_64")) {
        return stub(module, name, 2, touch, Some(write));
    }
    let mut signature = plain(module, 2, 0);
    signature.call_conv = CallConv::PreserveAll;
    module.declare_function(name, Linkage::Import, &signature).map_err(|e| e.to_string())
}

/// A function that passes on its parameters and perhaps a constant, preserving all registers.
fn stub(
    module: &mut JITModule,
    name: &str,
    params: usize,
    target: FuncId,
    last: Option<i64>,
) -> Result<FuncId, String> {
    let mut signature = plain(module, params, 0);
    signature.call_conv = CallConv::PreserveAll;
    let id = module.declare_function(name, Linkage::Local, &signature).map_err(|e| e.to_string())?;
    let mut context = Context::for_function(Function::new());
    context.func.signature = signature;
    let mut scratch = FunctionBuilderContext::new();
    let mut b = FunctionBuilder::new(&mut context.func, &mut scratch);
    let block = b.create_block();
    b.append_block_params_for_function_params(block);
    b.switch_to_block(block);
    let mut args = b.block_params(block).to_vec();
    args.extend(last.map(|value| b.ins().iconst(I64, value)));
    let target = module.declare_func_in_func(target, b.func);
    b.ins().call(target, &args);
    b.ins().return_(&[]);
    b.seal_all_blocks();
    b.finalize(module.target_config());
    module.define_function(id, &mut context).map_err(|e| format!("{e:?}"))?;
    Ok(id)
}
