//! A scan: many logs, on several threads, in bounded memory, summed in an order that does not depend on the threads.
//!
//! A file is read in ranges of [`RANGE`] bytes, each by one thread, which joins results to the calls of its own range and sums them by
//! tool. What a range leaves open (results whose call lies before it) is joined when the ranges are put together, in the order of the
//! files and of the ranges in them, so that the same logs always give the same answer.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet, VecDeque};
use std::fs::File;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{self, Cursor, Read};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use siphasher::sip128::SipHasher13;

use crate::frames::{self, Control};
use crate::logs::{self, ClaudeCode, Detected, Dsh, Format, Found, HEAD_BYTES, Lines, Sink};
use crate::marker::CutForm;
use crate::read::{CAPACITY, LineSink, Reason, Scratch, Span};

/// Bytes of a file that one thread reads before it takes the next ones.
pub const RANGE: u64 = 16 << 20;

/// Malformed lines that are located; more are counted.
pub const LOCATED: usize = 100;

/// So many calls of a file are known before those of its earliest range are forgotten, so that the memory of a scan does not grow with
/// a file. A gigabyte of log holds some 70,000.
pub const CALLS_KEPT: usize = 1 << 18;

/// Ranges that may wait for an earlier one before their threads wait as well.
const WAITING: usize = 64;

/// Results that may wait to be handed over before the threads wait as well.
const ROWS_WAITING: usize = 4096;

/// What to count, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// A result of more code points is over the threshold.
    pub threshold: u64,
    /// What counts as already cut.
    pub form: CutForm,
    /// Which results become rows.
    pub rows: Rows,
    /// Leave out results that repeat an earlier one.
    pub unique: bool,
    /// Hold every line to the whole of JSON.
    pub strict: bool,
    /// Hand results over while the scan runs instead of keeping them.
    pub stream: bool,
    /// Threads; 0 is one for each processor.
    pub threads: usize,
}

/// Which results become rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// So many of the longest over the threshold; all over the threshold where they are handed over and not kept.
    Largest(usize),
    /// Every one, in the order of the logs.
    All,
}

/// One result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which of the files.
    pub file: usize,
    /// The format of the file.
    pub format: Format,
    /// Id of its session, as WTF-8.
    pub session: Option<Arc<[u8]>>,
    /// Line in the file, from 1.
    pub line: u64,
    /// Byte in the file, or in the text that it decompresses to, at which the line begins.
    pub offset: u64,
    /// Number of the event in its session.
    pub seq: Option<i64>,
    /// Number of the turn.
    pub turn: Option<i64>,
    /// Number of the step in the turn.
    pub step: Option<i64>,
    /// Name of the tool, as WTF-8; `None` when no call names it.
    pub tool: Option<Arc<[u8]>>,
    /// Id of the call, as WTF-8.
    pub call_id: Option<Arc<[u8]>>,
    /// Whether the log calls it an error.
    pub is_error: bool,
    /// Code points of its text.
    pub code_points: u64,
    /// The host's estimate.
    pub tokens: u64,
    /// Whether its text is exactly what a cut leaves.
    pub already_cut: bool,
    /// Whether it is on a side chain; `None` where the format knows none.
    pub sidechain: Option<bool>,
}

/// Sums over results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many.
    pub results: u64,
    /// Code points of their text.
    pub code_points: u64,
    /// How many are over the threshold.
    pub over_threshold: u64,
    /// How many are already cut.
    pub already_cut: u64,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.results += other.results;
        self.code_points += other.code_points;
        self.over_threshold += other.over_threshold;
        self.already_cut += other.already_cut;
    }

    fn of(code_points: u64, already_cut: bool, threshold: u64) -> Self {
        Self {
            results: 1,
            code_points,
            over_threshold: u64::from(code_points > threshold),
            already_cut: u64::from(already_cut),
        }
    }
}

/// Sums over everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Files that were read.
    pub files: u64,
    /// Their bytes, as they are on disk.
    pub bytes: u64,
    /// Their lines.
    pub lines: u64,
    /// Lines that are not JSON, or not whole.
    pub malformed_lines: u64,
    /// All results.
    pub results: Tally,
    /// Bytes of copies for the user interface.
    pub ui_copy_bytes: u64,
    /// Results without a tool in files so long that the call may have been forgotten.
    pub forgotten_calls: u64,
}

/// A malformed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Which of the files.
    pub file: usize,
    /// Line in the file, from 1.
    pub line: u64,
    /// Byte at which it begins.
    pub offset: u64,
    /// What is wrong with it.
    pub reason: Reason,
}

/// A file that was not read, or not to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Which of the files.
    pub file: usize,
    /// Why, in one sentence.
    pub reason: String,
}

/// What a scan found.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Sums over everything.
    pub totals: Totals,
    /// Sums by tool, the most code points first, then by name.
    pub by_tool: Vec<(Option<Arc<[u8]>>, Tally)>,
    /// The first [`LOCATED`], in the order of the files.
    pub malformed: Vec<Malformed>,
    /// In the order of the files.
    pub skipped: Vec<Skipped>,
    /// The largest over the threshold, longest first; or all, in the order of the logs; or none, when they were handed over.
    pub rows: Vec<Row>,
}

/// Is told how a scan goes, on the thread that called it.
pub trait Observer {
    /// So many bytes were read; called about ten times a second. A break ends the scan.
    fn progress(&mut self, bytes: u64) -> ControlFlow<()>;
    /// The next results, when they are handed over. A break ends the scan.
    fn rows(&mut self, rows: Vec<Row>) -> ControlFlow<()>;
}

/// The observer ended the scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the scan was interrupted")]
pub struct Interrupted;

/// Scan these files, in this order.
///
/// # Errors
/// [`Interrupted`] when the observer breaks. A file that cannot be read is among [`Summary::skipped`].
pub fn scan(files: &[PathBuf], options: &Options, observer: &mut dyn Observer) -> Result<Summary, Interrupted> {
    scan_in_ranges(files, options, RANGE, observer)
}

fn scan_in_ranges(
    files: &[PathBuf],
    options: &Options,
    range: u64,
    observer: &mut dyn Observer,
) -> Result<Summary, Interrupted> {
    let threads = match options.threads {
        0 => thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let shared = Shared {
        files,
        options,
        range,
        control: Arc::default(),
        queue: Mutex::default(),
        opened: Condvar::new(),
        merger: Mutex::new(Merger::new(options, threads)),
        merged: Condvar::new(),
    };
    let watched = thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| Worker::new(&shared).run());
        }
        let watched = shared.watch(observer);
        if watched.is_break() {
            shared.cancel();
        }
        watched
    });
    match watched {
        ControlFlow::Continue(()) => Ok(shared.merger.into_inner().unwrap_or_else(PoisonError::into_inner).finish()),
        ControlFlow::Break(()) => Err(Interrupted),
    }
}

/// What the threads of a scan share.
struct Shared<'a> {
    files: &'a [PathBuf],
    options: &'a Options,
    /// Bytes of a file that one thread reads before it takes the next ones.
    range: u64,
    control: Arc<Control>,
    queue: Mutex<Queue>,
    /// A file was opened, so that its ranges may be taken, or turned out to have only one.
    opened: Condvar,
    merger: Mutex<Merger<'a>>,
    /// Something about the merger changed: pieces were put together, rows were taken, a worker ended, the scan was cancelled.
    merged: Condvar,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked takes the scan down when the scope ends; until then the others may finish.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared<'_> {
    /// Report to the observer until every worker has ended.
    fn watch(&self, observer: &mut dyn Observer) -> ControlFlow<()> {
        const PERIOD: Duration = Duration::from_millis(100);
        let mut reported = Instant::now();
        loop {
            let mut merger = lock(&self.merger);
            if merger.streamed.is_empty() && merger.running > 0 {
                merger = self.merged.wait_timeout(merger, PERIOD).unwrap_or_else(PoisonError::into_inner).0;
            }
            let running = merger.running;
            let rows = std::mem::take(&mut merger.streamed);
            drop(merger);
            if !rows.is_empty() {
                // Threads that wait for the rows to be taken may go on.
                self.merged.notify_all();
                observer.rows(rows)?;
            } else if running == 0 {
                return observer.progress(self.control.bytes());
            }
            if reported.elapsed() >= PERIOD {
                reported = Instant::now();
                observer.progress(self.control.bytes())?;
            }
        }
    }

    /// Stop every worker at its next read or wait.
    fn cancel(&self) {
        self.control.cancel();
        // Under the locks, so that nobody misses it between looking and waiting.
        drop((lock(&self.queue), lock(&self.merger)));
        self.opened.notify_all();
        self.merged.notify_all();
    }

    /// The next thing to read, or `None` when all is taken.
    fn next(&self) -> Option<Job> {
        let mut queue = lock(&self.queue);
        loop {
            if self.control.is_cancelled() {
                return None;
            }
            if let Some(open) = queue.open.first_mut() {
                let job = Job::Range(open.clone());
                open.range += 1;
                if open.range == open.ranges {
                    queue.open.remove(0);
                }
                return Some(job);
            }
            if queue.next_file < self.files.len() {
                queue.next_file += 1;
                queue.opening += 1;
                return Some(Job::File(queue.next_file - 1));
            }
            if queue.opening == 0 {
                return None;
            }
            queue = self.opened.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A file is open; the ranges that are left of it, if any, may be taken.
    fn opened(&self, open: Option<Open>) {
        let mut queue = lock(&self.queue);
        queue.opening -= 1;
        queue.open.extend(open);
        drop(queue);
        self.opened.notify_all();
    }

    /// Put a piece to the others. Waits while too many wait for an earlier one, or for somebody to take the rows.
    fn publish(&self, piece: Piece) {
        let mut merger = lock(&self.merger);
        let key = piece.key;
        merger.add(piece);
        self.merged.notify_all();
        while !self.control.is_cancelled()
            && (merger.streamed.len() > ROWS_WAITING || (merger.pending.len() > WAITING && key > merger.next))
        {
            merger = self.merged.wait(merger).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// What is left to read.
#[derive(Default)]
struct Queue {
    next_file: usize,
    /// Files that are being opened, whose ranges are not known yet.
    opening: usize,
    open: Vec<Open>,
}

/// A file of several ranges, and the next of them.
#[derive(Clone)]
struct Open {
    file: usize,
    format: Format,
    handle: Arc<File>,
    size: u64,
    range: u64,
    ranges: u64,
}

enum Job {
    File(usize),
    Range(Open),
}

/// One thread of a scan.
struct Worker<'s, 'a> {
    shared: &'s Shared<'a>,
    scratch: Scratch,
    joiner: Joiner<'a>,
}

impl Drop for Worker<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.shared.cancel();
        }
        lock(&self.shared.merger).running -= 1;
        self.shared.merged.notify_all();
    }
}

impl<'s, 'a> Worker<'s, 'a> {
    fn new(shared: &'s Shared<'a>) -> Self {
        Self { shared, scratch: Scratch::default(), joiner: Joiner::new(shared.options) }
    }

    fn run(mut self) {
        while let Some(job) = self.shared.next() {
            match job {
                Job::File(file) => {
                    if let Err(reason) = self.read_file(file) {
                        self.joiner.start(file, None);
                        self.joiner.piece.skipped = Some(reason);
                        self.shared.opened(None);
                        self.publish();
                    }
                }
                Job::Range(open) => {
                    self.scratch.clear();
                    self.read_range(&open);
                }
            }
        }
    }

    fn publish(&mut self) {
        let piece = self.joiner.finish();
        if !self.shared.control.is_cancelled() {
            self.shared.publish(piece);
        }
    }

    /// Open a file, see what it is, read its first range and leave the others to whoever is free. An error says why it is skipped; then
    /// nothing of it was published.
    fn read_file(&mut self, file: usize) -> Result<(), String> {
        let path = &self.shared.files[file];
        // Asked before the file is opened: opening a pipe waits for a writer.
        if !std::fs::metadata(path).map_err(|error| cannot_open(&error))?.is_file() {
            return Err("not a regular file".to_owned());
        }
        let handle = Arc::new(File::open(path).map_err(|error| cannot_open(&error))?);
        let size = handle.metadata().map_err(|error| cannot_open(&error))?.len();
        let mut input = self.input(&handle, 0, self.shared.range.min(size), size);
        let head = self.scratch.head(&mut input).map_err(|error| cannot_read(&error))?;
        if frames::is_zstd(head) {
            let input = Cursor::new(head.to_vec()).chain(input);
            return self.read_compressed(file, size, input);
        }
        let format = match self.scratch.detect(head_is_whole(self.scratch.at_hand())) {
            Some(detected) => detected,
            None => detect_further(&mut self.input(&handle, 0, 0, size)).map_err(|error| cannot_read(&error))?,
        };
        let format = readable(format)?;
        let ranges = size.div_ceil(self.shared.range).max(1);
        let open = Open { file, format, handle, size, range: 0, ranges };
        self.shared.opened((ranges > 1).then(|| Open { range: 1, ..open.clone() }));
        self.read_lines(&open, &mut input);
        Ok(())
    }

    fn input(&self, handle: &Arc<File>, start: u64, stop: u64, end: u64) -> frames::Range {
        frames::Range::new(Arc::clone(handle), Arc::clone(&self.shared.control), start, stop, end)
    }

    fn read_range(&mut self, open: &Open) {
        // From the byte before: if that is a newline, the range's first line is its own.
        let start = open.range * self.shared.range - 1;
        let stop = (start + 1 + self.shared.range).min(open.size);
        let mut input = self.input(&open.handle, start, stop, open.size);
        self.read_lines(open, &mut input);
    }

    fn read_lines(&mut self, open: &Open, input: &mut frames::Range) {
        let span = Span {
            origin: if open.range == 0 { 0 } else { open.range * self.shared.range - 1 },
            mid_line: open.range > 0,
            stop: if open.range + 1 == open.ranges { u64::MAX } else { (open.range + 1) * self.shared.range },
            strict: self.shared.options.strict,
        };
        self.joiner.start(open.file, Some(open));
        if let Err(error) = self.read_as(open.format, input, span) {
            let at = self.scratch.position();
            self.joiner.piece.skipped = Some(format!("reading stopped at byte {at}: {error}"));
        }
        self.publish();
    }

    /// A compressed file is one range: where a frame begins is known only to who has read all before.
    fn read_compressed(&mut self, file: usize, size: u64, input: impl Read) -> Result<(), String> {
        let mut text = frames::decompressed(input).map_err(|error| cannot_read(&error))?;
        // A stream cannot be read twice: the head is kept, and what fails behind it fails again when the lines are read.
        let mut head = Vec::new();
        let failed = text.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head).err();
        let format = readable(logs::detect(&head, true).unwrap_or(Detected::Unknown))?;
        let mut text = Cursor::new(head).chain(Failing(failed)).chain(text);
        self.shared.opened(None);
        self.scratch.clear();
        self.joiner.start(file, None);
        self.joiner.piece.format = format;
        self.joiner.piece.file_bytes = Some(size);
        let span = Span { origin: 0, mid_line: false, stop: u64::MAX, strict: self.shared.options.strict };
        if let Err(error) = self.read_as(format, &mut text, span) {
            let torn = error.kind() == io::ErrorKind::UnexpectedEof;
            let reason = if torn { Reason::TornFrame } else { Reason::DamagedFrame };
            self.joiner.broken_off(self.scratch.position(), reason);
        }
        self.publish();
        Ok(())
    }

    fn read_as(&mut self, format: Format, input: &mut impl Read, span: Span) -> io::Result<()> {
        let form = &self.shared.options.form;
        match format {
            Format::Dsh => self.scratch.read_lines(input, span, &mut Dsh::new(form.clone()), &mut self.joiner),
            Format::ClaudeCode => {
                self.scratch.read_lines(input, span, &mut ClaudeCode::new(form.clone()), &mut self.joiner)
            }
        }
    }
}

/// A stream of nothing, or of one error.
struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

fn cannot_open(error: &io::Error) -> String {
    format!("cannot be opened: {error}")
}

fn cannot_read(error: &io::Error) -> String {
    format!("cannot be read: {error}")
}

fn head_is_whole(head: &[u8]) -> bool {
    head.len() < CAPACITY
}

/// Look for the format in more of the file than a reader holds.
fn detect_further(input: &mut impl Read) -> io::Result<Detected> {
    let mut head = Vec::with_capacity(HEAD_BYTES);
    input.take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    Ok(logs::detect(&head, true).unwrap_or(Detected::Unknown))
}

fn readable(detected: Detected) -> Result<Format, String> {
    match detected {
        Detected::Format(format) => Ok(format),
        // Nothing is in it, so that any reader will do.
        Detected::Blank => Ok(Format::ClaudeCode),
        Detected::Unread(name) => Err(format!("a session log of {name}, which this version does not read")),
        Detected::Unknown => Err("not a session log of DSH or Claude Code".to_owned()),
    }
}

/// The name of a tool, or none.
type Tool = Option<Arc<[u8]>>;

/// What a range holds, its results joined to its own calls.
struct Piece {
    /// File and range.
    key: (usize, u64),
    is_last: bool,
    format: Format,
    /// The file's size, in the piece of its first range.
    file_bytes: Option<u64>,
    lines: u64,
    malformed_lines: u64,
    malformed: Vec<Malformed>,
    skipped: Option<String>,
    session: Option<Arc<[u8]>>,
    ui_copy_bytes: u64,
    tallies: Vec<(Tool, Tally)>,
    rows: Vec<Row>,
    loose: Vec<Loose>,
    /// Of a file of several ranges: the tools of the calls, as places in `names`.
    calls: CallTable,
    names: Vec<Tool>,
}

/// Tools by the hash of the call's id.
type CallTable = HashMap<u128, usize, BuildHasherDefault<AlreadyHashed>>;

/// A result whose call is not in its own range, or nowhere.
struct Loose {
    call: Option<u128>,
    tally: Tally,
    /// Which of the piece's rows it is.
    row: Option<usize>,
}

/// Joins the results of one range to its calls, and sums them.
struct Joiner<'a> {
    options: &'a Options,
    piece: Piece,
    /// Byte at which the line begins.
    offset: u64,
    /// Names seen so far, in this range and earlier ones, with the sums of this one.
    tools: Vec<(Tool, Tally)>,
    tool_numbers: HashMap<Tool, usize>,
    calls: CallTable,
    session: Option<Arc<[u8]>>,
}

impl<'a> Joiner<'a> {
    /// Names kept from one range to the next.
    const TOOLS_KEPT: usize = 4096;

    fn new(options: &'a Options) -> Self {
        Self {
            options,
            piece: Piece::new((0, 0)),
            offset: 0,
            tools: Vec::new(),
            tool_numbers: HashMap::new(),
            calls: HashMap::default(),
            session: None,
        }
    }

    /// Begin a range of `file`; without `open`, its only one.
    fn start(&mut self, file: usize, open: Option<&Open>) {
        self.piece = Piece::new((file, 0));
        if let Some(open) = open {
            self.piece.key.1 = open.range;
            self.piece.is_last = open.range + 1 == open.ranges;
            self.piece.format = open.format;
            self.piece.file_bytes = (open.range == 0).then_some(open.size);
        }
    }

    /// The stream ended before the log did.
    fn broken_off(&mut self, offset: u64, reason: Reason) {
        self.offset = offset;
        self.piece.lines += 1;
        self.malformed(reason);
        self.piece.lines -= 1;
    }

    fn finish(&mut self) -> Piece {
        let mut piece = std::mem::replace(&mut self.piece, Piece::new((0, 0)));
        if piece.is_last {
            self.calls.clear();
        } else {
            let as_many = CallTable::with_capacity_and_hasher(self.calls.len(), BuildHasherDefault::default());
            piece.calls = std::mem::replace(&mut self.calls, as_many);
            piece.names = self.tools.iter().map(|(name, _)| name.clone()).collect();
        }
        for (name, tally) in &mut self.tools {
            if tally.results > 0 {
                piece.tallies.push((name.clone(), std::mem::take(tally)));
            }
        }
        if self.tools.len() > Self::TOOLS_KEPT {
            self.tools.clear();
            self.tool_numbers.clear();
        }
        piece
    }

    fn tool_number(&mut self, name: Option<&[u8]>) -> usize {
        let name: Tool = name.map(Arc::from);
        if let Some(&number) = self.tool_numbers.get(&name) {
            return number;
        }
        self.tools.push((name.clone(), Tally::default()));
        self.tool_numbers.insert(name, self.tools.len() - 1);
        self.tools.len() - 1
    }

    fn session(&mut self, id: Option<&[u8]>) -> Option<Arc<[u8]>> {
        let id = id?;
        if self.session.as_deref() != Some(id) {
            self.session = Some(Arc::from(id));
        }
        self.session.clone()
    }

    fn row(&mut self, found: &Found<'_>, tool: Tool) -> Row {
        Row {
            file: self.piece.key.0,
            format: self.piece.format,
            session: self.session(found.session),
            line: self.piece.lines,
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

impl Sink for Joiner<'_> {
    fn call(&mut self, id: &[u8], name: Option<&[u8]>) {
        let number = self.tool_number(name);
        self.calls.insert(hash(id), number);
    }

    fn result(&mut self, found: &Found<'_>) {
        let options = self.options;
        let tally = Tally::of(found.code_points, found.already_cut, options.threshold);
        let call = found.call_id.map(hash);
        let known = call.and_then(|call| self.calls.get(&call).copied());
        let row = if options.rows == Rows::All || options.unique || tally.over_threshold > 0 {
            let tool = known.and_then(|number| self.tools[number].0.clone());
            let row = self.row(found, tool);
            self.piece.rows.push(row);
            Some(self.piece.rows.len() - 1)
        } else {
            None
        };
        match known {
            // Whether it repeats an earlier one is known only when the ranges are put together, and so are the sums.
            Some(_) if options.unique => {}
            Some(number) => self.tools[number].1.add(&tally),
            None => self.piece.loose.push(Loose { call, tally, row }),
        }
    }

    fn session(&mut self, id: &[u8]) {
        self.piece.session.get_or_insert_with(|| Arc::from(id));
    }

    fn ui_copy(&mut self, bytes: u64) {
        self.piece.ui_copy_bytes += bytes;
    }
}

impl LineSink for Joiner<'_> {
    fn line(&mut self, offset: u64) {
        self.offset = offset;
        self.piece.lines += 1;
    }

    fn malformed(&mut self, reason: Reason) {
        self.piece.malformed_lines += 1;
        if self.piece.malformed.len() < LOCATED {
            let (file, line, offset) = (self.piece.key.0, self.piece.lines, self.offset);
            self.piece.malformed.push(Malformed { file, line, offset, reason });
        }
    }
}

impl Piece {
    fn new(key: (usize, u64)) -> Self {
        Self {
            key,
            is_last: true,
            format: Format::ClaudeCode,
            file_bytes: None,
            lines: 0,
            malformed_lines: 0,
            malformed: Vec::new(),
            skipped: None,
            session: None,
            ui_copy_bytes: 0,
            tallies: Vec::new(),
            rows: Vec::new(),
            loose: Vec::new(),
            calls: CallTable::default(),
            names: Vec::new(),
        }
    }
}

/// Ids are compared by 128 bits of hash: their length is the log's to choose, and the memory of a scan is not.
fn hash(id: &[u8]) -> u128 {
    SipHasher13::new().hash(id).as_u128()
}

/// The hasher of keys that are hashes.
#[derive(Default)]
struct AlreadyHashed(u64);

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

/// The calls of one file's ranges so far, the oldest forgotten.
#[derive(Default)]
struct Calls {
    ranges: VecDeque<(CallTable, Vec<Tool>)>,
    kept: usize,
    forgot: bool,
}

impl Calls {
    /// The tool that the latest call with this id names.
    fn tool(&self, call: u128) -> Tool {
        let (table, names) = self.ranges.iter().rev().find(|(table, _)| table.contains_key(&call))?;
        names[table[&call]].clone()
    }

    fn add(&mut self, table: CallTable, names: Vec<Tool>) {
        self.kept += table.len();
        self.ranges.push_back((table, names));
        while self.kept > CALLS_KEPT && self.ranges.len() > 1 {
            self.kept -= self.ranges.pop_front().map_or(0, |(table, _)| table.len());
            self.forgot = true;
        }
    }
}

/// Puts the pieces together, in the order of the files and of the ranges in them.
struct Merger<'a> {
    options: &'a Options,
    /// Workers that have not ended.
    running: usize,
    next: (usize, u64),
    pending: BTreeMap<(usize, u64), Piece>,
    summary: Summary,
    tools: HashMap<Tool, Tally>,
    largest: BinaryHeap<Ranked>,
    streamed: Vec<Row>,
    ranked: u64,
    seen: HashSet<u128, BuildHasherDefault<AlreadyHashed>>,
    /// Of the file in hand.
    calls: Calls,
    lines: u64,
    session: Option<Arc<[u8]>>,
}

impl<'a> Merger<'a> {
    fn new(options: &'a Options, running: usize) -> Self {
        Self {
            options,
            running,
            next: (0, 0),
            pending: BTreeMap::new(),
            summary: Summary::default(),
            tools: HashMap::new(),
            largest: BinaryHeap::new(),
            streamed: Vec::new(),
            ranked: 0,
            seen: HashSet::default(),
            calls: Calls::default(),
            lines: 0,
            session: None,
        }
    }

    fn add(&mut self, piece: Piece) {
        self.pending.insert(piece.key, piece);
        while let Some(piece) = self.pending.remove(&self.next) {
            let is_last = piece.is_last;
            self.merge(piece);
            if is_last {
                self.next = (self.next.0 + 1, 0);
                self.calls = Calls::default();
                self.lines = 0;
                self.session = None;
            } else {
                self.next.1 += 1;
            }
        }
    }

    fn merge(&mut self, mut piece: Piece) {
        let file = piece.key.0;
        let totals = &mut self.summary.totals;
        if let Some(bytes) = piece.file_bytes {
            totals.files += 1;
            totals.bytes += bytes;
        }
        totals.lines += piece.lines;
        totals.malformed_lines += piece.malformed_lines;
        totals.ui_copy_bytes += piece.ui_copy_bytes;
        let room = LOCATED - self.summary.malformed.len();
        for malformed in piece.malformed.into_iter().take(room) {
            self.summary.malformed.push(Malformed { line: malformed.line + self.lines, ..malformed });
        }
        self.summary.skipped.extend(piece.skipped.map(|reason| Skipped { file, reason }));
        if self.session.is_none() {
            self.session = piece.session;
        }
        for (tool, tally) in piece.tallies {
            self.tools.entry(tool).or_default().add(&tally);
        }
        for loose in piece.loose {
            let tool = loose.call.and_then(|call| self.calls.tool(call));
            if tool.is_none() && self.calls.forgot {
                self.summary.totals.forgotten_calls += loose.tally.results;
            }
            if let Some(row) = loose.row {
                piece.rows[row].tool.clone_from(&tool);
            }
            if !self.options.unique {
                self.tools.entry(tool).or_default().add(&loose.tally);
            }
        }
        self.calls.add(piece.calls, piece.names);
        for row in piece.rows {
            self.add_row(row);
        }
        self.lines += piece.lines;
    }

    fn add_row(&mut self, mut row: Row) {
        row.line += self.lines;
        if row.session.is_none() {
            row.session.clone_from(&self.session);
        }
        let tally = Tally::of(row.code_points, row.already_cut, self.options.threshold);
        if self.options.unique {
            if !self.is_new(&row) {
                return;
            }
            self.tools.entry(row.tool.clone()).or_default().add(&tally);
        }
        match self.options.rows {
            Rows::Largest(_) if tally.over_threshold == 0 => {}
            _ if self.options.stream => self.streamed.push(row),
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

    /// Whether no earlier result is this one: the same call of Claude Code, whose ids are unique, or the same event of a DSH session.
    fn is_new(&mut self, row: &Row) -> bool {
        let key = match (row.format, &row.call_id, &row.session, row.seq) {
            (Format::ClaudeCode, Some(call_id), ..) => hash(call_id),
            (Format::Dsh, _, Some(session), Some(seq)) => hash(&[&seq.to_le_bytes(), &**session].concat()),
            _ => return true,
        };
        self.seen.insert(key)
    }

    fn finish(self) -> Summary {
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

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::io::Write as _;

    use proptest::prelude::*;
    use tempfile::TempDir;

    use super::*;

    /// Takes the rows, and can end the scan.
    #[derive(Default)]
    struct Taker {
        rows: Vec<Row>,
        breaks: bool,
    }

    impl Observer for Taker {
        fn progress(&mut self, _: u64) -> ControlFlow<()> {
            if self.breaks { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
        fn rows(&mut self, rows: Vec<Row>) -> ControlFlow<()> {
            self.rows.extend(rows);
            ControlFlow::Continue(())
        }
    }

    fn options(threads: usize) -> Options {
        let form = CutForm::new(4096, 1024, "[...]");
        Options { threshold: 10, form, rows: Rows::All, unique: false, strict: false, stream: false, threads }
    }

    fn files(texts: &[&[u8]]) -> (TempDir, Vec<PathBuf>) {
        let directory = TempDir::new().unwrap();
        let paths: Vec<_> = (0..texts.len()).map(|i| directory.path().join(format!("{i}.jsonl"))).collect();
        for (path, text) in paths.iter().zip(texts) {
            std::fs::write(path, text).unwrap();
        }
        (directory, paths)
    }

    fn summary(paths: &[PathBuf], options: &Options, range: u64) -> Summary {
        scan_in_ranges(paths, options, range, &mut Taker::default()).unwrap()
    }

    fn call(id: &str, name: &str) -> String {
        format!(
            "{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"tool_use\",\"id\":\"{id}\",\"name\":\"{name}\"}}]}}}}\n"
        )
    }

    fn result(id: &str, text: &str) -> String {
        format!(
            "{{\"type\":\"user\",\"message\":{{\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"{id}\",\"content\":\"{text}\"}}]}}}}\n"
        )
    }

    fn names(summary: &Summary) -> Vec<Option<String>> {
        let name = |row: &Row| row.tool.as_ref().map(|tool| String::from_utf8_lossy(tool).into_owned());
        summary.rows.iter().map(name).collect()
    }

    #[test]
    fn a_result_takes_the_tool_of_the_nearest_earlier_call_in_its_own_file() {
        let first = [
            call("a", "Read"),
            result("a", "x"),
            call("a", "Bash"),
            result("a", "x"),
            result("b", "x"),
            call("b", "Grep"),
        ];
        let second = result("a", "x");
        let (_directory, paths) = files(&[first.concat().as_bytes(), second.as_bytes()]);
        let expected = [Some("Read"), Some("Bash"), None, None].map(|name| name.map(str::to_owned));
        for range in [1, 7, 100, 1 << 20] {
            for threads in [1, 2, 5] {
                assert_eq!(names(&summary(&paths, &options(threads), range)), expected, "{range} {threads}");
            }
        }
    }

    #[test]
    fn lines_and_offsets_count_from_the_start_of_the_file() {
        let text = ["\n", &call("a", "Read"), "{\"message\"\n", &result("a", "x")].concat();
        let (_directory, paths) = files(&[text.as_bytes()]);
        let found = summary(&paths, &options(2), 16);
        assert_eq!((found.rows[0].line, found.rows[0].offset), (4, text.len() as u64 - result("a", "x").len() as u64));
        let malformed =
            Malformed { file: 0, line: 3, offset: 1 + call("a", "Read").len() as u64, reason: Reason::Short };
        assert_eq!(found.malformed, [malformed]);
        assert_eq!((found.totals.lines, found.totals.malformed_lines, found.totals.bytes), (4, 1, text.len() as u64));
    }

    #[test]
    fn of_the_longest_as_many_are_kept_as_were_asked_for_longest_first() {
        let lengths = [11, 30, 10, 20, 30, 12];
        let text: String = lengths.iter().map(|&length| result("a", &"x".repeat(length))).collect();
        let (_directory, paths) = files(&[text.as_bytes()]);
        let longest = |most| {
            let options = Options { rows: Rows::Largest(most), ..options(1) };
            summary(&paths, &options, RANGE).rows.iter().map(|row| (row.code_points, row.line)).collect::<Vec<_>>()
        };
        assert_eq!(longest(3), [(30, 2), (30, 5), (20, 4)]);
        assert_eq!(longest(9), [(30, 2), (30, 5), (20, 4), (12, 6), (11, 1)]);
        assert_eq!(longest(0), []);
    }

    #[test]
    fn results_are_handed_over_in_the_order_of_the_logs() {
        let text: String = (0..20_000).map(|i| result(&i.to_string(), "x")).collect();
        let (_directory, paths) = files(&[text.as_bytes(), text.as_bytes()]);
        let mut taker = Taker::default();
        let found = scan_in_ranges(&paths, &Options { stream: true, ..options(3) }, 1000, &mut taker).unwrap();
        assert!(found.rows.is_empty());
        let places: Vec<_> = taker.rows.iter().map(|row| (row.file, row.line)).collect();
        let expected: Vec<_> = (0..2).flat_map(|file| (1..=20_000).map(move |line| (file, line))).collect();
        assert!(places == expected);
    }

    #[test]
    fn a_result_that_repeats_an_earlier_one_counts_once_on_request() {
        let text = [result("a", "x"), result("b", "yy"), result("a", "x")].concat();
        let unnamed = text.replace("\"tool_use_id\":\"a\",", "");
        let (_directory, paths) = files(&[text.as_bytes(), text.as_bytes(), unnamed.as_bytes()]);
        let found = summary(&paths, &Options { unique: true, ..options(2) }, 64);
        // a and b once each; a result without an id repeats nothing.
        assert_eq!((found.totals.results.results, found.totals.results.code_points), (4, 5));
        assert_eq!(found.rows.len(), 4);
    }

    #[test]
    fn what_is_no_log_is_skipped_with_a_reason_and_the_others_stand() {
        let (directory, mut paths) =
            files(&[b"hello\n", result("a", "x").as_bytes(), b"{\"payload\":1}\n", b"", b"\n\n"]);
        paths.push(directory.path().join("missing"));
        paths.push(directory.path().to_owned());
        let found = summary(&paths, &options(2), RANGE);
        let skipped: Vec<_> = found.skipped.iter().map(|skipped| (skipped.file, skipped.reason.as_str())).collect();
        assert_eq!(skipped[0], (0, "not a session log of DSH or Claude Code"));
        assert_eq!(skipped[1], (2, "a session log of Codex, which this version does not read"));
        assert!(skipped[2].0 == 5 && skipped[2].1.starts_with("cannot be opened: "));
        assert_eq!(skipped[3], (6, "not a regular file"));
        assert_eq!((found.totals.files, found.totals.lines, found.totals.results.results), (3, 3, 1));
    }

    #[test]
    fn an_observer_that_breaks_ends_the_scan() {
        let text = result("a", "x").repeat(10_000);
        let (_directory, paths) = files(&[text.as_bytes()]);
        let mut taker = Taker { breaks: true, ..Taker::default() };
        assert_eq!(scan_in_ranges(&paths, &options(2), 1000, &mut taker).unwrap_err(), Interrupted);
    }

    #[test]
    fn calls_long_past_are_forgotten_and_that_is_counted() {
        let mut text = call("first", "Read");
        let later = CALLS_KEPT + 20_000;
        for i in 0..later {
            text += &call(&i.to_string(), "Bash");
        }
        text += &[result("first", "x"), result(&(later - 1).to_string(), "x")].concat();
        let (_directory, paths) = files(&[text.as_bytes()]);
        let found = summary(&paths, &options(2), 1 << 20);
        assert_eq!(names(&found), [None, Some("Bash".to_owned())]);
        assert_eq!(found.totals.forgotten_calls, 1);
    }

    fn compressed(parts: &[&[u8]]) -> Vec<u8> {
        parts.iter().flat_map(|part| zstd::encode_all(*part, 3).unwrap()).collect()
    }

    #[test]
    fn frames_one_behind_the_other_are_one_log() {
        let (a, b) = (call("a", "Read"), result("a", "x"));
        let (head, tail) = b.split_at(9);
        let log = compressed(&[a.as_bytes(), b"", head.as_bytes(), tail.as_bytes()]);
        let (_directory, paths) = files(&[&log]);
        let found = summary(&paths, &options(2), RANGE);
        assert_eq!(names(&found), [Some("Read".to_owned())]);
        assert_eq!(found.rows[0].offset, a.len() as u64);
        assert_eq!((found.totals.bytes, found.totals.lines), (log.len() as u64, 2));
    }

    #[test]
    fn a_torn_frame_loses_itself_and_is_said() {
        let first = result("a", "x").repeat(1000);
        // One block, which no decoder gives out in parts.
        let second = result("b", "y");
        let mut log = compressed(&[first.as_bytes(), second.as_bytes()]);
        log.truncate(log.len() - 3);
        let (_directory, paths) = files(&[&log]);
        let found = summary(&paths, &options(1), RANGE);
        assert_eq!((found.totals.lines, found.totals.results.results, found.totals.malformed_lines), (1000, 1000, 1));
        let torn = Malformed { file: 0, line: 1001, offset: first.len() as u64, reason: Reason::TornFrame };
        assert_eq!(found.malformed, [torn]);
    }

    #[test]
    fn a_compressed_log_tells_its_format_by_a_line_longer_than_a_buffer() {
        let line = result("a", &"x".repeat(3 * CAPACITY));
        let (_directory, paths) = files(&[&compressed(&[line.as_bytes()])]);
        assert_eq!(summary(&paths, &options(1), RANGE).totals.results.code_points, 3 * CAPACITY as u64);
    }

    #[test]
    fn a_damaged_frame_ends_the_log_and_is_said() {
        let good = compressed(&[result("a", "x").as_bytes()]);
        let log = [&good[..], b"not a frame"].concat();
        let (_directory, paths) = files(&[&log]);
        let found = summary(&paths, &options(1), RANGE);
        assert_eq!(found.totals.results.results, 1);
        assert_eq!(found.malformed[0].reason, Reason::DamagedFrame);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn neither_ranges_nor_threads_change_the_answer(
            events in prop::collection::vec((0u8..4, 0u8..6, 0usize..40), 0..60), range in 1u64..2000, threads in 1usize..4, unique in any::<bool>(),
        ) {
            let mut texts = [String::new(), String::new()];
            for &(kind, id, length) in &events {
                let text = &mut texts[usize::from(id % 2)];
                match kind {
                    0 => *text += &call(&id.to_string(), ["Read", "Bash"][length % 2]),
                    1 => writeln!(text, "{{\"x\":{}", "y".repeat(length)).unwrap(),
                    _ => *text += &result(&id.to_string(), &"é".repeat(length)),
                }
            }
            let (_directory, paths) = files(&[texts[0].as_bytes(), texts[1].as_bytes()]);
            let options = |threads| Options { unique, ..options(threads) };
            let whole = summary(&paths, &options(1), RANGE);
            let split = summary(&paths, &options(threads), range);
            prop_assert_eq!(split.totals, whole.totals);
            prop_assert_eq!(split.by_tool, whole.by_tool);
            prop_assert_eq!(split.rows, whole.rows);
            prop_assert_eq!(split.malformed, whole.malformed);
        }
    }

    #[test]
    fn a_log_that_grows_is_read_up_to_its_size_at_opening() {
        let (_directory, paths) = files(&[result("a", "x").as_bytes()]);
        let file = Arc::new(File::open(&paths[0]).unwrap());
        let size = file.metadata().unwrap().len();
        let mut range = frames::Range::new(file, Arc::default(), 0, size, size);
        let mut appender = File::options().append(true).open(&paths[0]).unwrap();
        appender.write_all(result("b", "y").as_bytes()).unwrap();
        let mut read = Vec::new();
        range.read_to_end(&mut read).unwrap();
        assert_eq!(read, result("a", "x").as_bytes());
    }
}
