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
        let failed = self.scratch.head(&mut text).err();
        let detected = self.scratch.detect(failed.is_some() || head_is_whole(self.scratch.at_hand()));
        let format = readable(detected.unwrap_or(Detected::Unknown))?;
        self.shared.opened(None);
        self.joiner.start(file, None);
        self.joiner.piece.format = format;
        self.joiner.piece.file_bytes = Some(size);
        let span = Span { origin: 0, mid_line: false, stop: u64::MAX, strict: self.shared.options.strict };
        let read = match failed {
            // The bytes before the fault are at hand; reading on meets it again.
            Some(error) => self.read_as(format, &mut Failing(Some(error)), span),
            None => self.read_as(format, &mut text, span),
        };
        if let Err(error) = read {
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

/// A stream of which only its end is left: the error.
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
