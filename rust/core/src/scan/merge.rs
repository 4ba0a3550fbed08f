//! Putting the parts of a scan together, in the order of the files and of the ranges in them.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet, VecDeque};
use std::hash::BuildHasherDefault;

use super::join::{AlreadyHashed, CallTable, Key, Part, Tool, hash};
use super::{CALLS_KEPT, LOCATED, Malformed, Options, Row, Rows, Skipped, Summary, Tally};
use crate::logs::Format;

/// The calls of one file's parts so far, the oldest forgotten.
#[derive(Default)]
struct Calls {
    tables: VecDeque<Table>,
    kept: usize,
    forgot: bool,
}

/// Calls of one part as it had them, or of several small ones: a call is looked for table by table, so they must be few.
enum Table {
    Part(CallTable, Vec<Tool>),
    Joined(HashMap<u128, Tool, BuildHasherDefault<AlreadyHashed>>),
}

impl Table {
    fn len(&self) -> usize {
        match self {
            Self::Part(calls, _) => calls.len(),
            Self::Joined(calls) => calls.len(),
        }
    }

    fn tool(&self, call: u128) -> Option<&Tool> {
        match self {
            Self::Part(calls, names) => calls.get(&call).map(|&place| &names[place]),
            Self::Joined(calls) => calls.get(&call),
        }
    }
}

impl Calls {
    /// A part with fewer is joined to others.
    const SMALL: usize = 1024;

    /// The tool that the latest call with this id names; `None` when there is no such call.
    fn tool(&self, call: u128) -> Option<Tool> {
        self.tables.iter().rev().find_map(|table| table.tool(call)).cloned()
    }

    fn add(&mut self, calls: CallTable, names: Vec<Tool>) {
        self.kept += calls.len();
        if calls.len() >= Self::SMALL {
            self.tables.push_back(Table::Part(calls, names));
        } else if !calls.is_empty() {
            let calls = calls.into_iter().map(|(call, place)| (call, names[place].clone()));
            match self.tables.back_mut() {
                Some(Table::Joined(joined)) if joined.len() < Self::SMALL => {
                    let before = joined.len();
                    let added = calls.len();
                    joined.extend(calls);
                    // A call that stands in both is one call.
                    self.kept -= before + added - joined.len();
                }
                _ => self.tables.push_back(Table::Joined(calls.collect())),
            }
        }
        while self.kept > CALLS_KEPT && self.tables.len() > 1 {
            self.kept -= self.tables.pop_front().map_or(0, |table| table.len());
            self.forgot = true;
        }
    }
}

/// Puts the parts together, in the order of the files and of the ranges in them.
pub(super) struct Merger<'a> {
    options: &'a Options,
    /// Workers that have not ended.
    pub(super) running: usize,
    /// The part that comes next.
    pub(super) next: Key,
    /// Parts that wait for it, and how much they weigh.
    pending: BTreeMap<Key, Part>,
    pub(super) waiting: usize,
    summary: Summary,
    tools: HashMap<Tool, Tally>,
    largest: BinaryHeap<Ranked>,
    /// Rows to be handed over.
    pub(super) streamed: VecDeque<Row>,
    ranked: u64,
    seen: HashSet<u128, BuildHasherDefault<AlreadyHashed>>,
    /// Of the file in hand.
    calls: Calls,
    lines: u64,
}

impl<'a> Merger<'a> {
    pub(super) fn new(options: &'a Options) -> Self {
        Self {
            options,
            running: 0,
            next: (0, 0, 0),
            pending: BTreeMap::new(),
            waiting: 0,
            summary: Summary::default(),
            tools: HashMap::new(),
            largest: BinaryHeap::new(),
            streamed: VecDeque::new(),
            ranked: 0,
            seen: HashSet::default(),
            calls: Calls::default(),
            lines: 0,
        }
    }

    pub(super) fn add(&mut self, part: Part) {
        self.waiting += part.weight;
        self.pending.insert(part.key, part);
        while let Some(part) = self.pending.remove(&self.next) {
            self.waiting -= part.weight;
            let (file, range, number) = part.key;
            let (ends_range, ends_file) = (part.ends_range, part.ends_file);
            self.merge(part);
            self.next = match (ends_range, ends_file) {
                (false, _) => (file, range, number + 1),
                (true, false) => (file, range + 1, 0),
                (true, true) => (file + 1, 0, 0),
            };
            if ends_range && ends_file {
                self.calls = Calls::default();
                self.lines = 0;
            }
        }
    }

    fn merge(&mut self, mut part: Part) {
        let file = part.key.0;
        let totals = &mut self.summary.totals;
        if let Some(bytes) = part.file_bytes {
            totals.files += 1;
            totals.bytes += bytes;
        }
        totals.lines += part.lines;
        totals.malformed_lines += part.malformed_lines;
        totals.ui_copy_bytes += part.ui_copy_bytes;
        let room = LOCATED - self.summary.malformed.len();
        for malformed in part.malformed.into_iter().take(room) {
            self.summary.malformed.push(Malformed { line: malformed.line + self.lines, ..malformed });
        }
        self.summary.skipped.extend(part.skipped.map(|reason| Skipped { file, reason }));
        for (tool, tally) in part.tallies {
            self.tools.entry(tool).or_default().add(&tally);
        }
        for loose in part.loose {
            let tool = loose.call.and_then(|call| self.calls.tool(call));
            if tool.is_none() && loose.call.is_some() && self.calls.forgot {
                self.summary.totals.forgotten_calls += loose.tally.results;
            }
            let tool = tool.flatten();
            if let Some(row) = loose.row {
                part.rows[row].tool.clone_from(&tool);
            }
            if !self.options.unique {
                self.tools.entry(tool).or_default().add(&loose.tally);
            }
        }
        self.calls.add(part.calls, part.names);
        for row in part.rows {
            self.add_row(row);
        }
        self.lines += part.lines;
    }

    fn add_row(&mut self, mut row: Row) {
        row.line += self.lines;
        let tally = Tally::of(row.code_points, row.already_cut, self.options.threshold);
        if self.options.unique {
            if !self.is_new(&row) {
                return;
            }
            self.tools.entry(row.tool.clone()).or_default().add(&tally);
        }
        match self.options.rows {
            Rows::Largest(_) if tally.over_threshold == 0 => {}
            _ if self.options.stream => self.streamed.push_back(row),
            Rows::All => self.summary.rows.push(row),
            Rows::Largest(most) => self.rank(row, most),
        }
    }

    /// Keep a row if it is among the longest so far.
    fn rank(&mut self, row: Row, most: usize) {
        self.ranked += 1;
        if self.largest.len() == most {
            match self.largest.peek() {
                Some(least) if row.code_points > least.row.code_points => drop(self.largest.pop()),
                _ => return,
            }
        }
        self.largest.push(Ranked { rank: self.ranked, row: Box::new(row) });
    }

    /// Whether no earlier result is this one: the same call of Claude Code, whose ids are unique, or the same event
    /// of a DSH session.
    fn is_new(&mut self, row: &Row) -> bool {
        let key = match (row.format, &row.call_id, &row.session, row.seq) {
            (Format::ClaudeCode, Some(call_id), ..) => hash(call_id),
            (Format::Dsh, _, Some(session), Some(seq)) => hash(&[&seq.to_le_bytes(), &**session].concat()),
            _ => return true,
        };
        self.seen.insert(key)
    }

    pub(super) fn finish(self) -> Summary {
        let mut summary = self.summary;
        summary.by_tool = self.tools.into_iter().collect();
        summary.by_tool.sort_by(|(a, x), (b, y)| y.code_points.cmp(&x.code_points).then_with(|| a.cmp(b)));
        for (_, tally) in &summary.by_tool {
            summary.totals.results.add(tally);
        }
        let mut largest = self.largest.into_vec();
        largest.sort();
        summary.rows.extend(largest.into_iter().map(|ranked| *ranked.row));
        summary
    }
}

/// A result among the largest: longest first, then in the order of the logs. The last of them is the heap's greatest.
struct Ranked {
    rank: u64,
    row: Box<Row>,
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        other.row.code_points.cmp(&self.row.code_points).then(self.rank.cmp(&other.rank))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked {}
