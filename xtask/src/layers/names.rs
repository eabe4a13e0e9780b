//! The names of its own crate that a Rust file uses: paths, and methods that it calls.
//!
//! Types are not known here. A call counts if its receiver shows the type: `self` in an `impl`, and the names that the
//! crate uses everywhere for its two large types: `sim` is a `Sim`, `k` and `kernel` are a `Kernel`.

use std::collections::BTreeSet;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Token, UseTree};

/// A file by its path below `src`.
pub(super) struct Source {
    pub(super) path: String,
    /// Its module, from the crate's root.
    pub(super) module: Vec<String>,
}

impl Source {
    pub(super) fn new(path: &str) -> Self {
        let module = path.trim_end_matches(".rs").trim_end_matches("/mod");
        Self { path: path.to_owned(), module: module.split('/').map(str::to_owned).collect() }
    }
}

/// The names that a file uses, without tests.
#[derive(Default)]
pub(super) struct Names {
    /// From the crate's root.
    pub(super) paths: BTreeSet<Vec<String>>,
    /// Its inherent methods: type and name.
    pub(super) defined: BTreeSet<(String, String)>,
    /// The methods it calls.
    pub(super) called: BTreeSet<(String, String)>,
}

impl Names {
    /// # Errors
    /// If it is not valid Rust.
    pub(super) fn of(source: &Source, text: &str) -> syn::Result<Self> {
        let mut reader = Reader { module: source.module.clone(), of: None, names: Self::default() };
        reader.visit_file(&syn::parse_file(text)?);
        Ok(reader.names)
    }
}

struct Reader {
    /// The current module.
    module: Vec<String>,
    /// The type whose methods are being read.
    of: Option<String>,
    names: Names,
}

impl Reader {
    /// Stores a path that leads into the crate.
    fn note(&mut self, path: &[String]) {
        let mut at = match path.first().map(String::as_str) {
            Some("crate") => Vec::new(),
            Some("self" | "super") => self.module.clone(),
            _ => return,
        };
        for part in path {
            match part.as_str() {
                "crate" | "self" => {}
                "super" => _ = at.pop(),
                _ => at.push(part.clone()),
            }
        }
        self.names.paths.insert(at);
    }

    fn note_tree(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.note_tree(&with(&path.ident), &path.tree),
            UseTree::Name(name) => self.note(&with(&name.ident)),
            UseTree::Rename(name) => self.note(&with(&name.ident)),
            UseTree::Glob(_) => self.note(before),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.note_tree(before, tree)),
        }
    }

    /// The receiver's type, if it can be recognised.
    fn type_of(&self, receiver: &Expr) -> Option<String> {
        match receiver {
            Expr::Path(path) => match path.path.get_ident()?.to_string().as_str() {
                "self" => self.of.clone(),
                "sim" => Some("Sim".to_owned()),
                "k" | "kernel" => Some("Kernel".to_owned()),
                _ => None,
            },
            Expr::Field(field) => match &field.member {
                syn::Member::Named(name) if name == "k" => Some("Kernel".to_owned()),
                _ => None,
            },
            _ => None,
        }
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    let is_test = |list: &syn::MetaList| list.tokens.to_string() == "test";
    attributes.iter().any(|a| a.path().is_ident("cfg") && a.meta.require_list().is_ok_and(is_test))
}

impl<'a> Visit<'a> for Reader {
    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if !is_test(&item.attrs) {
            self.module.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.module.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        if !is_test(&item.attrs) {
            self.note_tree(&[], &item.tree);
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let parts: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        if parts.len() > 1 {
            self.note(&parts);
        }
        visit::visit_path(self, path);
    }

    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        let of = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|part| part.ident.to_string()),
            _ => None,
        };
        if let (Some(of), None) = (&of, &item.trait_) {
            for part in &item.items {
                if let syn::ImplItem::Fn(method) = part {
                    self.names.defined.insert((of.clone(), method.sig.ident.to_string()));
                }
            }
        }
        let outer = std::mem::replace(&mut self.of, of);
        visit::visit_item_impl(self, item);
        self.of = outer;
    }

    fn visit_expr_method_call(&mut self, call: &'a syn::ExprMethodCall) {
        if let Some(of) = self.type_of(&call.receiver) {
            self.names.called.insert((of, call.method.to_string()));
        }
        visit::visit_expr_method_call(self, call);
    }

    /// Most macros take expressions.
    fn visit_macro(&mut self, call: &'a syn::Macro) {
        let parse = Punctuated::<Expr, Token![,]>::parse_terminated;
        for argument in call.parse_body_with(parse).into_iter().flatten() {
            // The parsed tokens live only as long as this call, so another visitor reads them.
            let mut inner = Reader {
                module: self.module.clone(),
                of: self.of.clone(),
                names: std::mem::take(&mut self.names),
            };
            Visit::visit_expr(&mut inner, &argument);
            self.names = inner.names;
        }
        visit::visit_macro(self, call);
    }
}
