//! Which of a guest's NUMA nodes are neighbours, and the resulting distances of the others.

use std::str::FromStr;

/// Pairs of nodes that are one hop apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links(Vec<[u32; 2]>);

/// ACPI's distance of a node to itself. Each hop adds this much.
const LOCAL: u32 = 10;
/// ACPI's maximum distance, minus one hop: 255 means that there is no path.
const MOST: u32 = 244;

impl FromStr for Links {
    type Err = String;

    /// `0-1,1-2,2-3`.
    fn from_str(text: &str) -> Result<Self, String> {
        let link = |word: &str| {
            let (a, b) = word.split_once('-')?;
            Some([a.trim().parse().ok()?, b.trim().parse().ok()?])
        };
        let links: Option<_> = text.split(',').map(link).collect();
        links
            .map(Self)
            .ok_or_else(|| "write pairs of nodes that are neighbours, as in 0-1,1-2,2-3".to_owned())
    }
}

impl Links {
    /// No links are given: all nodes are neighbours.
    pub const ALL: Self = Self(Vec::new());

    /// ACPI's distances between all pairs of nodes, along the fewest links, or `None` if all are neighbours because no
    /// links were given.
    ///
    /// # Errors
    /// If a link's node is missing, or there is no path between two.
    pub(crate) fn distances(&self, nodes: u32) -> Result<Option<Vec<Vec<u32>>>, String> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let mut distances: Vec<Vec<Option<u32>>> =
            (0..nodes).map(|a| (0..nodes).map(|b| (a == b).then_some(LOCAL)).collect()).collect();
        for &[a, b] in &self.0 {
            if a == b || a.max(b) >= nodes {
                return Err(format!(
                    "{a}-{b} does not link two of the {nodes} NUMA nodes, which are 0 to {}",
                    nodes - 1
                ));
            }
            distances[a as usize][b as usize] = Some(2 * LOCAL);
            distances[b as usize][a as usize] = Some(2 * LOCAL);
        }
        shorten(&mut distances);
        let all: Option<Vec<Vec<u32>>> = distances
            .into_iter()
            .map(|row| row.into_iter().map(|d| d.filter(|&d| d <= MOST)).collect())
            .collect();
        match all {
            Some(all) => Ok(Some(all)),
            None => Err(format!("the links do not connect all {nodes} NUMA nodes within 23 hops")),
        }
    }
}

/// Every path via every node (Floyd and Warshall).
fn shorten(distances: &mut [Vec<Option<u32>>]) {
    let nodes = distances.len();
    for via in 0..nodes {
        for a in 0..nodes {
            for b in 0..nodes {
                let (Some(to), Some(on)) = (distances[a][via], distances[via][b]) else { continue };
                let way = to + on - LOCAL;
                distances[a][b] = Some(distances[a][b].map_or(way, |d| d.min(way)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_become_distances() {
        let check = |text: &str, nodes, expected: Result<&str, &str>| {
            let got = text.parse::<Links>().and_then(|links| links.distances(nodes));
            let rows = |rows: Vec<Vec<u32>>| {
                let row = |row: &Vec<u32>| row.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
                rows.iter().map(row).collect::<Vec<_>>().join(" | ")
            };
            let got = got.map(|distances| distances.map(rows).unwrap_or_default());
            match expected {
                Ok(expected) => assert_eq!(got.as_deref(), Ok(expected), "{text}"),
                Err(word) => {
                    assert!(got.as_ref().is_err_and(|reported| reported.contains(word)), "{text}: {got:?}")
                }
            }
        };
        check("0-1,1-2,2-3,3-0", 4, Ok("10 20 30 20 | 20 10 20 30 | 30 20 10 20 | 20 30 20 10"));
        check("0-1, 1-2", 3, Ok("10 20 30 | 20 10 20 | 30 20 10"));
        check("0-1", 3, Err("do not connect all 3"));
        check("0-2", 2, Err("0-2 does not link two of the 2 NUMA nodes"));
        check("1-1", 2, Err("1-1 does not link"));
        for bad in ["", "0", "0-", "a-b", "0-1,", "0-1-2", "-1-0", "0-99999999999"] {
            check(bad, 2, Err("write pairs of nodes"));
        }
        assert_eq!(Links::default().distances(4), Ok(None));
        let chain: Vec<String> = (0..30).map(|node| format!("{node}-{}", node + 1)).collect();
        check(&chain.join(","), 31, Err("within 23 hops"));
    }
}
