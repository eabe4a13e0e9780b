//! The data about a selftest: how its user-space half runs it, and what that half then expects.

use super::KNOWN;
use super::driver::Facts;
use crate::Failure;
use crate::tree::root;

/// The length of a run, unless another is given.
const MS: u32 = 200;

/// A row of `tests/corpus/selftests.tsv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Test {
    /// The row's name.
    pub(super) name: String,
    /// The object, without `.bpf.o`.
    pub(super) object: String,
    /// A recipe in `tests/corpus`, without `.keel.toml`. Empty for no recipe.
    pub(super) recipe: String,
    pub(super) workload: String,
    pub(super) ms: u32,
    /// The minimum number of CPUs for which it makes sense.
    pub(super) min_cpus: u32,
    /// What must hold, each as `FACT OPERATOR VALUE`. Empty if unknown.
    pub(super) wants: Vec<Want>,
}

/// `FACT = VALUE`, or `!=`, `>=`, `>`. Both sides are facts or constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Want {
    fact: String,
    operator: String,
    value: String,
}

impl Test {
    /// A run without known expectations.
    pub(super) fn plain(object: &str) -> Self {
        Self {
            name: object.to_owned(),
            object: object.to_owned(),
            recipe: String::new(),
            workload: "mix".to_owned(),
            ms: MS,
            min_cpus: 1,
            wants: Vec::new(),
        }
    }

    /// The expected shares of the CPUs, as written.
    pub(super) fn figures(&self, facts: &Facts) -> String {
        let shares = self.wants.iter().filter(|want| want.fact.starts_with("share."));
        let shares = shares.map(|Want { fact, operator, value }| {
            format!("{fact} {} ({operator} {value})", facts.text(fact))
        });
        shares.collect::<Vec<_>>().join(", ")
    }

    /// The first expectation that is not met.
    pub(super) fn fault(&self, facts: &Facts) -> Option<String> {
        let wrong = self.wants.iter().find(|want| !want.holds(facts))?;
        let Want { fact, operator, value } = wrong;
        Some(format!("{fact} is '{}', wanted {operator} {value}", facts.text(fact)))
    }
}

impl Want {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.splitn(3, ' ');
        let mut word = || words.next().filter(|word| !word.is_empty()).map(str::to_owned);
        let (fact, operator, value) = (word()?, word()?, word()?);
        ["=", "!=", ">=", ">"].contains(&operator.as_str()).then_some(Self { fact, operator, value })
    }

    fn holds(&self, facts: &Facts) -> bool {
        let right = match facts.text(&self.value) {
            "" => self.value.as_str(),
            other => other,
        };
        let left = facts.text(&self.fact);
        let numbers = left.parse::<i64>().ok().zip(right.parse::<i64>().ok());
        match self.operator.as_str() {
            "=" => left == right,
            // A missing value is not another value.
            "!=" => !left.is_empty() && left != right,
            ">=" => numbers.is_some_and(|(left, right)| left >= right),
            _ => numbers.is_some_and(|(left, right)| left > right),
        }
    }
}

/// All rows.
pub(super) fn read() -> Result<Vec<Test>, Failure> {
    let path = root().join(KNOWN).join("selftests.tsv");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    parse(&text)
}

fn parse(text: &str) -> Result<Vec<Test>, Failure> {
    let rows = text.lines().enumerate().filter(|(_, row)| !row.is_empty() && !row.starts_with('#'));
    rows.skip(1)
        .map(|(number, row)| {
            test(row).ok_or_else(|| {
                format!(
                    "{KNOWN}/selftests.tsv, line {}: not a test; its first lines describe the format",
                    number + 1
                )
            })
        })
        .collect()
}

fn test(row: &str) -> Option<Test> {
    let [name, object, recipe, workload, ms, min_cpus, wants] =
        row.split('\t').collect::<Vec<_>>().try_into().ok()?;
    let or_none = |text: &str| if text == "-" { String::new() } else { text.to_owned() };
    let wants = wants.split("; ").filter(|want| *want != "-").map(Want::parse);
    Some(Test {
        name: name.to_owned(),
        object: object.to_owned(),
        recipe: or_none(recipe),
        workload: workload.to_owned(),
        ms: ms.parse().ok()?,
        min_cpus: min_cpus.parse().ok()?,
        wants: wants.collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# head\ntest\tobject\trecipe\tworkload\tms\tmin_cpus\twants\n";

    #[test]
    fn wants_are_held_against_facts() {
        let facts = Facts::parse("exit\tERROR\nvar.a\t3\nvar.b\t3\n");
        let check = |wants: &str, fault: Option<&str>| {
            let tests = parse(&format!("{HEAD}t\to\t-\tmix\t10\t1\t{wants}\n")).unwrap();
            assert_eq!(tests[0].fault(&facts).as_deref(), fault, "{wants}");
        };
        check("-", None);
        check("exit = ERROR; var.a > 2; var.a >= 3; var.a = var.b; var.a != 4", None);
        check("exit = NONE", Some("exit is 'ERROR', wanted = NONE"));
        check("var.a > 3", Some("var.a is '3', wanted > 3"));
        check("var.none != 1", Some("var.none is '', wanted != 1"));
    }

    #[test]
    fn every_row_is_read_and_wrong_ones_are_refused() {
        assert!(!read().unwrap().is_empty());
        for row in ["t\to\t-\tmix\t10\t1", "t\to\t-\tmix\tx\t1\t-", "t\to\t-\tmix\t1\t1\texit < 3"] {
            let reported = parse(&format!("{HEAD}{row}\n")).unwrap_err();
            assert!(reported.contains("line 3"), "{reported}");
        }
    }
}
