//! Finds sets of nodes that reach each other (strongly connected components, by Tarjan's algorithm).

use std::collections::BTreeMap;

#[derive(Default)]
struct Search<'g> {
    edges: BTreeMap<&'g str, Vec<&'g str>>,
    /// The order in which nodes were found, and the earliest node that each leads back to.
    found: BTreeMap<&'g str, (usize, usize)>,
    /// Nodes whose cycle is not complete.
    open: Vec<&'g str>,
    circles: Vec<Vec<&'g str>>,
}

/// The cycles of more than one node, the largest first.
pub(super) fn circles<'g>(edges: &[(&'g str, &'g str)]) -> Vec<Vec<&'g str>> {
    let mut search = Search::default();
    for &(from, to) in edges {
        search.edges.entry(from).or_default().push(to);
    }
    for from in search.edges.keys().copied().collect::<Vec<_>>() {
        if !search.found.contains_key(from) {
            search.visit(from);
        }
    }
    search.circles.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
    search.circles
}

impl<'g> Search<'g> {
    /// Returns the earliest node that `node` leads back to.
    fn visit(&mut self, node: &'g str) -> usize {
        let number = self.found.len();
        self.found.insert(node, (number, number));
        self.open.push(node);
        let mut earliest = number;
        for next in self.edges.get(node).cloned().unwrap_or_default() {
            earliest = match self.found.get(next) {
                None => earliest.min(self.visit(next)),
                Some(&(number, _)) if self.open.contains(&next) => earliest.min(number),
                Some(_) => earliest,
            };
        }
        self.found.insert(node, (number, earliest));
        if earliest == number {
            let at = self.open.iter().position(|&n| n == node).expect("it was put there");
            let mut circle = self.open.split_off(at);
            if circle.len() > 1 {
                circle.sort_unstable();
                self.circles.push(circle);
            }
        }
        earliest
    }
}

#[cfg(test)]
mod tests {
    use super::circles;

    #[test]
    fn crates_that_reach_each_other_are_in_a_circle() {
        let check = |edges: &[(&str, &str)], expected: &[&[&str]]| assert_eq!(circles(edges), expected);
        check(&[("a", "b"), ("b", "c"), ("a", "c")], &[]);
        check(&[("a", "b"), ("b", "a"), ("c", "a")], &[&["a", "b"]]);
        check(&[("a", "b"), ("b", "c"), ("c", "b"), ("c", "d"), ("d", "a")], &[&["a", "b", "c", "d"]]);
        check(
            &[("x", "y"), ("y", "x"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "x")],
            &[&["a", "b", "c"], &["x", "y"]],
        );
    }
}
