//! Finds types by name, functions and their tags, and values of enums.

use super::{Btf, Enumerator, Kind, Param, TypeId, essential_name};

/// A function and its BTF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionType<'a> {
    /// The type itself.
    pub id: TypeId,
    /// Its name.
    pub name: &'a str,
    /// Its prototype's type.
    pub proto: TypeId,
    /// 0 static, 1 global, 2 extern.
    pub linkage: u32,
}

/// The parameters and return type of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prototype<'a> {
    /// Its return type.
    pub returns: TypeId,
    /// Its parameters, in order.
    pub params: &'a [Param],
}

impl Btf {
    /// Returns the types with the same essential name, of any kind, in ascending order of ids.
    pub fn find_essential(&self, name: &str) -> &[TypeId] {
        let name = essential_name(name);
        let key = |id: &TypeId| essential_name(self.name(*id));
        let start = self.by_name.partition_point(|id| key(id) < name);
        let rest = &self.by_name[start..];
        // Few types have the same name.
        &rest[..rest.iter().take_while(|id| key(id) == name).count()]
    }

    /// Returns the types with exactly this name, in ascending order of ids.
    pub fn find(&self, name: &str) -> impl Iterator<Item = TypeId> {
        self.find_essential(name).iter().copied().filter(move |&id| self.name(id) == name)
    }

    /// Returns the first type of this name and of a kind that `wanted` accepts.
    pub fn find_kind(&self, name: &str, wanted: impl Fn(&Kind) -> bool) -> Option<TypeId> {
        self.find(name).find(|&id| wanted(self.kind(id)))
    }

    /// Returns the struct or union of this name, or else a typedef of one.
    pub fn find_composite(&self, name: &str) -> Option<TypeId> {
        self.find_kind(name, |kind| matches!(kind, Kind::Struct(_) | Kind::Union(_))).or_else(|| {
            self.find(name)
                .filter(|&id| matches!(self.kind(id), Kind::Typedef(_)))
                .find(|&id| self.members(id).is_some())
        })
    }

    /// Returns the value of an enum's enumerator, sign-extended if the enum is signed.
    ///
    /// If several enums, or typedefs of enums, have this name, they are tried in turn.
    pub fn enum_value(&self, name: &str, enumerator: &str) -> Option<u64> {
        self.find(name).find_map(|id| match self.kind(self.skip_modifiers(id)) {
            Kind::Enum(e) => {
                e.values.iter().find(|v| self.str_or_empty(v.name) == enumerator).map(|v| v.value)
            }
            _ => None,
        })
    }

    /// Returns the value of an enumerator of any enum. If several enums contain it, the first one counts.
    pub fn enumerator(&self, name: &str) -> Option<u64> {
        let start = self.enumerators.partition_point(|v| self.str_or_empty(v.0) < name);
        self.enumerators.get(start).filter(|v| self.str_or_empty(v.0) == name).map(|v| v.1)
    }

    /// Returns the name of a value of an enum.
    pub fn enumerator_name(&self, value: &Enumerator) -> &str {
        self.str_or_empty(value.name)
    }

    /// Returns all enumerators of an enum by name, with their values, in order.
    pub fn enumerators(&self, name: &str) -> impl Iterator<Item = (&str, u64)> {
        let id = self.find_kind(name, |kind| matches!(kind, Kind::Enum(_)));
        let values = match id.map(|id| self.kind(id)) {
            Some(Kind::Enum(e)) => e.values.as_slice(),
            _ => &[],
        };
        values.iter().map(|v| (self.str_or_empty(v.name), v.value))
    }

    /// Returns all functions, in ascending order of ids.
    pub fn functions(&self) -> impl Iterator<Item = FunctionType<'_>> {
        self.types().filter_map(|(id, _)| self.function_type(id))
    }

    /// Returns the function of that name.
    pub fn function(&self, name: &str) -> Option<FunctionType<'_>> {
        self.find(name).find_map(|id| self.function_type(id))
    }

    fn function_type(&self, id: TypeId) -> Option<FunctionType<'_>> {
        match self.kind(id) {
            Kind::Func { proto, linkage } => {
                Some(FunctionType { id, name: self.name(id), proto: *proto, linkage: *linkage })
            }
            _ => None,
        }
    }

    /// Returns the parameters and return type of a function, or `None` if the type is not a prototype.
    pub fn prototype(&self, id: TypeId) -> Option<Prototype<'_>> {
        match self.kind(id) {
            Kind::FuncProto { returns, params } => Some(Prototype { returns: *returns, params }),
            _ => None,
        }
    }

    /// Returns a parameter's name.
    pub fn param_name(&self, param: &Param) -> &str {
        self.str_or_empty(param.name)
    }

    /// Returns a member's name, which is empty if it has none.
    pub fn member_name(&self, member: &super::Member) -> &str {
        self.str_or_empty(member.name)
    }

    /// Returns the declaration tags of a function, variable, struct or typedef as a whole.
    pub fn decl_tags(&self, id: TypeId) -> impl Iterator<Item = &str> {
        let start = self.tags.partition_point(|&(target, _)| target < id);
        self.tags[start..].iter().take_while(move |(target, _)| *target == id).map(|&(_, tag)| self.name(tag))
    }

    /// Returns whether a declaration has this tag.
    pub fn has_tag(&self, id: TypeId, tag: &str) -> bool {
        self.decl_tags(id).any(|found| found == tag)
    }

    /// Returns all variables in the data sections: the section, name and type of each.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &str, TypeId)> {
        self.types().flat_map(move |(section, ty)| {
            let vars = match &ty.kind {
                Kind::Datasec { vars, .. } => vars.as_slice(),
                _ => &[],
            };
            vars.iter().filter_map(move |var| match self.kind(var.ty) {
                Kind::Var { ty, .. } => Some((self.name(section), self.name(var.ty), *ty)),
                _ => None,
            })
        })
    }
}
