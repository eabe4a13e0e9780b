//! Settings of enum types, which take the names of the enum's values: `--set bug=group-imbalance+missing-domains`.

use crate::btf::{Btf, Kind, TypeId};
use crate::model::Word;

/// The maximum number of words that a message lists.
const SHOWN: usize = 16;
/// The maximum memory for the words of all of an object's variables, in bytes. Further variables have none.
pub(crate) const MOST_BYTES: usize = 1 << 20;

/// Returns the words of a variable's type: none if it is not an enum.
pub(crate) fn of_enum(btf: &Btf, ty: TypeId, budget: &mut usize) -> Vec<Word> {
    let Kind::Enum(found) = btf.kind(btf.skip_modifiers(ty)) else { return Vec::new() };
    let names: Vec<&str> = found.values.iter().map(|value| btf.enumerator_name(value)).collect();
    let needs: usize = names.iter().map(|name| 2 * name.len() + size_of::<Word>()).sum();
    let Some(left) = budget.checked_sub(needs) else { return Vec::new() };
    *budget = left;
    let shared = shared_prefix(&names);
    let values = found.values.iter().zip(&names);
    values
        .map(|(value, name)| Word {
            word: name[shared..].to_ascii_lowercase().replace('_', "-"),
            name: (*name).to_owned(),
            value: value.value,
        })
        .collect()
}

/// Returns the length of the prefix that all names share, up to and including an underscore.
fn shared_prefix(names: &[&str]) -> usize {
    let Some((first, others)) = names.split_first().filter(|(_, others)| !others.is_empty()) else {
        return 0;
    };
    let ends = first.match_indices('_').map(|(at, _)| at + 1);
    ends.take_while(|&end| others.iter().all(|name| name.len() > end && name.starts_with(&first[..end])))
        .last()
        .unwrap_or(0)
}

/// Returns whether these are flags, which can be joined: more than one word, each a single bit.
pub(crate) fn are_flags(words: &[Word]) -> bool {
    let bits = words.iter().filter(|word| word.value != 0);
    bits.clone().count() > 1 && bits.clone().all(|word| word.value.is_power_of_two())
}

/// Returns the value of a word, or of several flags joined by `+`, or `None` if a word is unknown.
pub(crate) fn value(words: &[Word], text: &str) -> Option<u64> {
    let one = |text: &str| {
        let wanted = text.to_ascii_lowercase().replace('_', "-");
        let is_it = |word: &&Word| word.word == wanted || word.name.eq_ignore_ascii_case(text);
        words.iter().find(is_it).map(|word| word.value)
    };
    if !are_flags(words) {
        return one(text);
    }
    text.split('+').map(one).try_fold(0, |all, value| Some(all | value?))
}

/// Returns whether this number is one of the enum's values or, for flags, a combination of their bits. `number_of`
/// converts values, which are signed if the enum is, to numbers. 0 is not a flag, but is always accepted, because it is
/// the object's default.
pub(crate) fn takes(words: &[Word], number: i128, number_of: impl Fn(u64) -> i128) -> bool {
    let named = || words.iter().any(|word| number_of(word.value) == number);
    let bits = words.iter().fold(0, |bits, word| bits | number_of(word.value));
    number == 0 || named() || are_flags(words) && number & !bits == 0
}

/// Returns the words, for a message.
pub(crate) fn listed(words: &[Word]) -> String {
    let shown: Vec<&str> = words.iter().take(SHOWN).map(|word| word.word.as_str()).collect();
    let more = if words.len() > SHOWN { ", ..." } else { "" };
    let joined = if are_flags(words) { ", joined by +" } else { "" };
    format!("{}{more}{joined}", shown.join(", "))
}
