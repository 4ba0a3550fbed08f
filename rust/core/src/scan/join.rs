//! Joining the results of one range to its calls, and summing them.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use siphasher::sip128::SipHasher13;

use super::work::{Open, Shared};
use super::{LOCATED, Malformed, Row, Rows, Tally};
use crate::logs::{Format, Sink, ToolResult};
use crate::read::{LineSink, Reason};

/// The name of a tool, or none.
pub(super) type Tool = Option<Arc<[u8]>>;

/// Tools by the hash of the call's id, as places in a list of names.
pub(super) type CallTable = HashMap<u128, usize, BuildHasherDefault<AlreadyHashed>>;

/// About what a call takes in a table.
const CALL_BYTES: usize = 48;

/// Ids are compared by 128 bits of hash: their length is the log's to choose, and the memory of a scan is not.
pub(super) fn hash(id: &[u8]) -> u128 {
    SipHasher13::new().hash(id).as_u128()
}

/// The hasher of keys that are hashes.
#[derive(Default)]
pub(super) struct AlreadyHashed(u64);

impl Hasher for AlreadyHashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk() {
            self.0 = u64::from_ne_bytes(*first);
        }
    }
}

/// Where a part stands: file, range, part of the range.
pub(super) type Key = (usize, u64, u64);

/// What a stretch of a range holds, its results joined to its own calls.
pub(super) struct Part {
    pub(super) key: Key,
    /// Whether the range ends with it.
    pub(super) ends_range: bool,
    /// Whether the file does.
    pub(super) ends_file: bool,
    /// The file's size, in its first part.
    pub(super) file_bytes: Option<u64>,
    pub(super) lines: u64,
    pub(super) malformed_lines: u64,
    pub(super) malformed: Vec<Malformed>,
    pub(super) skipped: Option<String>,
    pub(super) ui_copy_bytes: u64,
    pub(super) tallies: Vec<(Tool, Tally)>,
    pub(super) rows: Vec<Row>,
    pub(super) loose: Vec<Loose>,
    pub(super) calls: CallTable,
    /// The names that the calls have places in.
    pub(super) names: Vec<Tool>,
    /// About how many bytes it holds.
    pub(super) weight: usize,
}

impl Part {
    fn new(key: Key) -> Self {
        Self {
            key,
            ends_range: true,
            ends_file: true,
            file_bytes: None,
            lines: 0,
            malformed_lines: 0,
            malformed: Vec::new(),
            skipped: None,
            ui_copy_bytes: 0,
            tallies: Vec::new(),
            rows: Vec::new(),
            loose: Vec::new(),
            calls: CallTable::default(),
            names: Vec::new(),
            weight: size_of::<Self>(),
        }
    }
}

/// A result whose call is not in its own part, or nowhere.
pub(super) struct Loose {
    pub(super) call: Option<u128>,
    pub(super) tally: Tally,
    /// Which of the part's rows it is.
    pub(super) row: Option<usize>,
}

/// Joins the results of a range to its calls, sums them, and puts the range to the others part by part.
pub(super) struct Joiner<'s, 'a> {
    shared: &'s Shared<'a>,
    format: Format,
    /// Whether the range is the file's last.
    is_last: bool,
    part: Part,
    /// Byte at which the line begins.
    offset: u64,
    /// Names seen so far, here and in earlier parts, with the sums of this one.
    tools: Vec<(Tool, Tally)>,
    tool_places: HashMap<Tool, usize>,
    calls: CallTable,
    /// The session of the file, or of the last row.
    session: Option<Arc<[u8]>>,
}

impl<'s, 'a> Joiner<'s, 'a> {
    /// Names kept from one part to the next.
    const TOOLS_KEPT: usize = 4096;

    pub(super) fn new(shared: &'s Shared<'a>) -> Self {
        Self {
            shared,
            format: Format::ClaudeCode,
            is_last: true,
            part: Part::new((0, 0, 0)),
            offset: 0,
            tools: Vec::new(),
            tool_places: HashMap::new(),
            calls: CallTable::default(),
            session: None,
        }
    }

    /// Begin a range.
    pub(super) fn start(&mut self, open: &Open) {
        self.format = open.format;
        self.is_last = open.range + 1 == open.ranges;
        self.session.clone_from(&open.session);
        self.part = Part::new((open.file, open.range, 0));
        self.part.file_bytes = (open.range == 0).then_some(open.size);
    }

    /// The file is not read.
    pub(super) fn skip(&mut self, file: usize, reason: String) {
        self.part = Part::new((file, 0, 0));
        self.part.skipped = Some(reason);
        self.is_last = true;
        self.finish();
    }

    /// Reading the range stopped before its end.
    pub(super) fn stopped(&mut self, reason: String) {
        self.part.skipped = Some(reason);
    }

    /// The stream ended before the log did: what would have been the next line is malformed.
    pub(super) fn broken_off(&mut self, offset: u64, reason: Reason) {
        self.offset = offset;
        self.part.lines += 1;
        self.malformed(reason);
        self.part.lines -= 1;
    }

    /// End the range.
    pub(super) fn finish(&mut self) {
        let is_last = self.is_last;
        self.publish(true, is_last);
    }

    fn publish(&mut self, ends_range: bool, ends_file: bool) {
        let (file, range, number) = self.part.key;
        let mut part = std::mem::replace(&mut self.part, Part::new((file, range, number + 1)));
        part.ends_range = ends_range;
        part.ends_file = ends_file;
        if ends_file {
            self.calls.clear();
        } else {
            let as_many = CallTable::with_capacity_and_hasher(self.calls.len(), BuildHasherDefault::default());
            part.calls = std::mem::replace(&mut self.calls, as_many);
            part.names = self.tools.iter().map(|(name, _)| name.clone()).collect();
        }
        for (name, tally) in &mut self.tools {
            if tally.results > 0 {
                part.tallies.push((name.clone(), std::mem::take(tally)));
            }
        }
        if self.tools.len() > Self::TOOLS_KEPT {
            self.tools.clear();
            self.tool_places.clear();
        }
        self.shared.publish(part);
    }

    fn tool_place(&mut self, name: Option<&[u8]>) -> usize {
        let name: Tool = name.map(Arc::from);
        if let Some(&place) = self.tool_places.get(&name) {
            return place;
        }
        self.part.weight += name.as_ref().map_or(0, |name| name.len());
        self.tools.push((name.clone(), Tally::default()));
        self.tool_places.insert(name, self.tools.len() - 1);
        self.tools.len() - 1
    }

    /// The session that the line names, else the file's.
    fn session_of(&mut self, id: Option<&[u8]>) -> Option<Arc<[u8]>> {
        match id {
            Some(id) if self.session.as_deref() != Some(id) => {
                self.part.weight += id.len();
                self.session = Some(Arc::from(id));
            }
            None if self.format == Format::ClaudeCode => return None,
            _ => {}
        }
        self.session.clone()
    }

    fn row(&mut self, found: &ToolResult<'_>, tool: Tool) -> Row {
        self.part.weight += size_of::<Row>() + found.call_id.map_or(0, <[u8]>::len);
        Row {
            file: self.part.key.0,
            format: self.format,
            session: self.session_of(found.session),
            line: self.part.lines,
            offset: self.offset,
            seq: found.seq,
            turn: found.turn,
            step: found.step,
            tool,
            call_id: found.call_id.map(Arc::from),
            is_error: found.is_error,
            code_points: found.code_points,
            tokens: found.tokens,
            already_cut: found.already_cut,
            sidechain: found.sidechain,
        }
    }
}

impl Sink for Joiner<'_, '_> {
    fn call(&mut self, id: &[u8], name: Option<&[u8]>) {
        let place = self.tool_place(name);
        self.calls.insert(hash(id), place);
        self.part.weight += CALL_BYTES;
    }

    fn result(&mut self, found: &ToolResult<'_>) {
        let options = self.shared.options;
        let tally = Tally::of(found.code_points, found.already_cut, options.threshold);
        let call = found.call_id.map(hash);
        let known = call.and_then(|call| self.calls.get(&call).copied());
        let row = if options.rows == Rows::All || options.unique || tally.over_threshold > 0 {
            let tool = known.and_then(|place| self.tools[place].0.clone());
            let row = self.row(found, tool);
            self.part.rows.push(row);
            Some(self.part.rows.len() - 1)
        } else {
            None
        };
        match known {
            // Whether it repeats an earlier one is known only when the parts are put together, and so are the sums.
            Some(_) if options.unique => {}
            Some(place) => self.tools[place].1.add(&tally),
            None => {
                self.part.weight += size_of::<Loose>();
                self.part.loose.push(Loose { call, tally, row });
            }
        }
    }

    fn ui_copy(&mut self, bytes: u64) {
        self.part.ui_copy_bytes += bytes;
    }
}

impl LineSink for Joiner<'_, '_> {
    fn line(&mut self, offset: u64) {
        if self.part.weight >= self.shared.sizes.part {
            self.publish(false, false);
        }
        self.offset = offset;
        self.part.lines += 1;
    }

    fn malformed(&mut self, reason: Reason) {
        self.part.malformed_lines += 1;
        if self.part.malformed.len() < LOCATED {
            let (file, line, offset) = (self.part.key.0, self.part.lines, self.offset);
            self.part.malformed.push(Malformed { file, line, offset, reason });
        }
    }
}
