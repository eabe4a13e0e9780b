//! Finds the same path, by names, in a type of the kernel, as libbpf's `bpf_core_spec_match`.

use super::compat::{Pair, compatible, fields_compatible};
use super::kinds::{Ask, Subject};
use super::matches::types_match;
use super::spec::{MAX_STEPS, Spec, Step, element_bits, is_flexible};
use super::{CoreError, malformed};
use crate::btf::{Kind, TypeId, essential_name};

/// Looks for the object's path in one kernel type. Returns `None` if it doesn't match.
pub(super) fn find(
    pair: Pair<'_>,
    local: &Spec,
    kernel: TypeId,
    ask: Ask,
) -> Result<Option<Spec>, CoreError> {
    match ask.subject() {
        Subject::Type => {
            let found = match ask {
                Ask::TypeMatches => types_match(pair, local.root, kernel)?,
                _ => compatible(pair, local.root, kernel)?,
            };
            Ok(found.then(|| Spec::new(kernel)))
        }
        Subject::Enum => find_enumerator(pair, local, kernel),
        Subject::Field => Finder { pair, found: Spec::new(kernel), depth: 0 }.fields(local),
    }
}

fn find_enumerator(pair: Pair<'_>, local: &Spec, kernel: TypeId) -> Result<Option<Spec>, CoreError> {
    let Some(Kind::Enum(wanted)) = local.steps.first().map(|step| pair.local.kind(step.ty)) else {
        return Ok(None);
    };
    let wanted = &wanted.values[local.steps[0].index as usize];
    let name = essential_name(pair.local.str_or_empty(wanted.name));
    let id = pair.kernel.skip_modifiers(kernel);
    let Kind::Enum(candidates) = pair.kernel.kind(id) else { return Ok(None) };
    pair.budget.spend(candidates.values.len() as u64)?;
    let same = |v: &crate::btf::Enumerator| essential_name(pair.kernel.str_or_empty(v.name)) == name;
    Ok(candidates.values.iter().position(same).map(|index| Spec {
        root: kernel,
        steps: vec![Step { ty: id, index: index as u32, named: true }],
        bit_offset: 0,
    }))
}

struct Finder<'a> {
    pair: Pair<'a>,
    found: Spec,
    /// The number of members and elements entered, including anonymous ones.
    depth: usize,
}

impl Finder<'_> {
    fn fields(mut self, local: &Spec) -> Result<Option<Spec>, CoreError> {
        let kernel = self.pair.kernel;
        let mut id = kernel.skip_modifiers(self.found.root);
        for (at, step) in local.steps.iter().enumerate() {
            id = kernel.skip_modifiers(id);
            if step.named {
                match self.member(step, id)? {
                    Some(next) => id = next,
                    None => return Ok(None),
                }
                continue;
            }
            // The first step is an element of an array of the type itself.
            if at > 0 {
                let Kind::Array(array) = kernel.kind(id) else { return Ok(None) };
                if !is_flexible(kernel, self.found.steps.last(), array) && step.index >= array.count {
                    return Ok(None);
                }
                id = kernel.skip_modifiers(array.element);
            }
            self.descend()?;
            self.found.steps.push(Step { ty: id, index: step.index, named: false });
            self.found.bit_offset += element_bits(kernel, id, step.index)?;
        }
        Ok(Some(self.found))
    }

    fn descend(&mut self) -> Result<(), CoreError> {
        self.depth += 1;
        if self.depth > MAX_STEPS { malformed("the kernel's types are nested too deeply") } else { Ok(()) }
    }

    /// Finds the member of this name, also in anonymous members, and enters it.
    fn member(&mut self, wanted: &Step, id: TypeId) -> Result<Option<TypeId>, CoreError> {
        let Pair { local, kernel, budget } = self.pair;
        let id = kernel.skip_modifiers(id);
        let Some(wanted_member) = local.members(wanted.ty).map(|s| s.members[wanted.index as usize]) else {
            return Ok(None);
        };
        let name = local.member_name(&wanted_member);
        let Some(candidates) = kernel.members(id) else { return Ok(None) };
        self.descend()?;
        for (index, member) in candidates.members.iter().enumerate() {
            budget.spend(1)?;
            let start = u64::from(member.bit_offset);
            match kernel.member_name(member) {
                "" => {
                    let depth = self.depth;
                    self.found.bit_offset += start;
                    if let Some(found) = self.member(wanted, member.ty)? {
                        return Ok(Some(found));
                    }
                    self.found.bit_offset -= start;
                    self.depth = depth;
                }
                found if found == name => {
                    if !fields_compatible(self.pair, wanted_member.ty, member.ty)? {
                        return Ok(None);
                    }
                    self.found.steps.push(Step { ty: id, index: index as u32, named: true });
                    self.found.bit_offset += start;
                    return Ok(Some(member.ty));
                }
                _ => {}
            }
        }
        self.depth -= 1;
        Ok(None)
    }
}
