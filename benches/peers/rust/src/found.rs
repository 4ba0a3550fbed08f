//! What the lines hold: calls, results, sums by tool; the parts joined; the answer. The same for every engine.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

const THRESHOLD: u64 = 8192;
const LONGEST: usize = 1000;

#[derive(Default)]
struct Sums {
    results: u64,
    code_points: u64,
    over: u64,
}

struct Long {
    code_points: u64,
    place: u64,
    id: String,
    tool: Option<String>,
}

/// What a part of the file holds; results whose call may stand in an earlier part are left open.
#[derive(Default)]
pub struct Found {
    calls: HashMap<String, Option<String>>,
    sums: BTreeMap<Option<String>, Sums>,
    long: Vec<Long>,
    open: Vec<(u64, String, u64)>,
}

impl Found {
    /// A call gives a tool's name to an id.
    pub fn call(&mut self, id: &str, tool: Option<&str>) {
        self.calls.insert(id.to_owned(), tool.map(str::to_owned));
    }

    /// A result of so many code points, in the line that begins at byte `place`.
    pub fn result(&mut self, place: u64, id: &str, code_points: u64) {
        match self.calls.get(id) {
            Some(tool) => self.add(place, id, tool.clone(), code_points),
            None => self.open.push((place, id.to_owned(), code_points)),
        }
    }

    fn add(&mut self, place: u64, id: &str, tool: Option<String>, code_points: u64) {
        if code_points > THRESHOLD {
            self.long.push(Long { code_points, place, id: id.to_owned(), tool: tool.clone() });
        }
        let sums = self.sums.entry(tool).or_default();
        sums.results += 1;
        sums.code_points += code_points;
        sums.over += u64::from(code_points > THRESHOLD);
    }

    /// Take in the part that follows.
    pub fn join(&mut self, next: Self) {
        for (place, id, code_points) in next.open {
            let tool = self.calls.get(&id).cloned().flatten();
            self.add(place, &id, tool, code_points);
        }
        for (tool, sums) in next.sums {
            let together = self.sums.entry(tool).or_default();
            together.results += sums.results;
            together.code_points += sums.code_points;
            together.over += sums.over;
        }
        self.calls.extend(next.calls);
        self.long.extend(next.long);
    }

    /// Sums by tool, and the longest results.
    pub fn answer(mut self) -> Value {
        self.long.sort_by_key(|long| (u64::MAX - long.code_points, long.place));
        let by_tool: Vec<_> =
            self.sums.iter().map(|(tool, sums)| (tool, sums.results, sums.code_points, sums.over)).collect();
        let longest: Vec<_> =
            self.long.iter().take(LONGEST).map(|long| (long.code_points, &long.id, &long.tool)).collect();
        json!({ "by_tool": by_tool, "longest": longest })
    }
}
