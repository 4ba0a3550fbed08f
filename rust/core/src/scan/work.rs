//! The threads of a scan: which file or range each reads next, and how.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::join::{Joiner, Part};
use super::merge::Merger;
use super::{Observer, Options, Sizes};
use crate::frames::{self, Control};
use crate::logs::{self, ClaudeCode, Detected, Dsh, Format, HEAD_BYTES, Head, Lines, Seen};
use crate::read::{Reason, Scratch, Span};

/// What the threads of a scan share.
pub(super) struct Shared<'a> {
    files: &'a [PathBuf],
    pub(super) options: &'a Options,
    pub(super) sizes: Sizes,
    control: Arc<Control>,
    queue: Mutex<Queue>,
    /// A file was opened, so that its ranges may be taken, or turned out to have only one.
    opened: Condvar,
    pub(super) merger: Mutex<Merger<'a>>,
    /// Something about the merger changed: parts were put together, rows were taken, a worker ended, the scan was
    /// cancelled.
    merged: Condvar,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked takes the scan down when the scope ends; until then the others may finish.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Shared<'a> {
    pub(super) fn new(files: &'a [PathBuf], options: &'a Options, sizes: Sizes) -> Self {
        Self {
            files,
            options,
            sizes,
            control: Arc::default(),
            queue: Mutex::default(),
            opened: Condvar::new(),
            merger: Mutex::new(Merger::new(options)),
            merged: Condvar::new(),
        }
    }

    /// A worker that counts as running until it is dropped.
    pub(super) fn running<'s>(&'s self) -> Running<'s, 'a> {
        lock(&self.merger).running += 1;
        Running(self)
    }

    /// While this lives, a panic of its thread cancels the scan.
    pub(super) fn cancel_on_panic<'s>(&'s self) -> CancelOnPanic<'s, 'a> {
        CancelOnPanic(self)
    }

    /// Report to the observer until every worker has ended.
    pub(super) fn watch(&self, observer: &mut dyn Observer) -> ControlFlow<()> {
        const PERIOD: Duration = Duration::from_millis(100);
        let mut reported = Instant::now();
        loop {
            let mut merger = lock(&self.merger);
            if merger.streamed.is_empty() && merger.running > 0 {
                merger = self.merged.wait_timeout(merger, PERIOD).unwrap_or_else(PoisonError::into_inner).0;
            }
            let running = merger.running;
            // A few at a time: what the observer makes of them is larger.
            let some = merger.streamed.len().min(self.sizes.rows);
            let rows: Vec<_> = merger.streamed.drain(..some).collect();
            drop(merger);
            if !rows.is_empty() {
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
    pub(super) fn cancel(&self) {
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
            // Of the open files the first: whoever waits, waits for an earlier range, so that one must be read first.
            if let Some(mut entry) = queue.open.first_entry() {
                let job = Job::Range(entry.get().clone());
                entry.get_mut().range += 1;
                if entry.get().range == entry.get().ranges {
                    entry.remove();
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
        queue.open.extend(open.map(|open| (open.file, open)));
        drop(queue);
        self.opened.notify_all();
    }

    /// Put a part to the others. Waits while too much waits for an earlier one, or for somebody to take the rows.
    pub(super) fn publish(&self, part: Part) {
        if self.control.is_cancelled() {
            return;
        }
        let mut merger = lock(&self.merger);
        let key = part.key;
        merger.add(part);
        self.merged.notify_all();
        while !self.control.is_cancelled()
            && (merger.streamed.len() > self.sizes.rows || (merger.waiting > self.sizes.waiting && key > merger.next))
        {
            merger = self.merged.wait(merger).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A worker that counts as running.
pub(super) struct Running<'s, 'a>(&'s Shared<'a>);

impl Running<'_, '_> {
    pub(super) fn run(self) {
        let _cancelling = self.0.cancel_on_panic();
        Worker::new(self.0).run();
    }
}

impl Drop for Running<'_, '_> {
    fn drop(&mut self) {
        lock(&self.0.merger).running -= 1;
        self.0.merged.notify_all();
    }
}

/// Cancels the scan when its thread panics: the others must not wait for what will not come.
pub(super) struct CancelOnPanic<'s, 'a>(&'s Shared<'a>);

impl Drop for CancelOnPanic<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.cancel();
        }
    }
}

/// What is left to read.
#[derive(Default)]
struct Queue {
    next_file: usize,
    /// Files that are being opened, whose ranges are not known yet.
    opening: usize,
    /// Files of several ranges, by their place.
    open: BTreeMap<usize, Open>,
}

/// An open file, and one of its ranges.
#[derive(Clone)]
pub(super) struct Open {
    pub(super) file: usize,
    pub(super) format: Format,
    /// Id of the session that the log's head names for all its lines.
    pub(super) session: Option<Arc<[u8]>>,
    handle: Arc<File>,
    pub(super) size: u64,
    pub(super) range: u64,
    pub(super) ranges: u64,
}

enum Job {
    File(usize),
    Range(Open),
}

/// One thread of a scan.
struct Worker<'s, 'a> {
    shared: &'s Shared<'a>,
    scratch: Scratch,
    joiner: Joiner<'s, 'a>,
}

impl<'s, 'a> Worker<'s, 'a> {
    fn new(shared: &'s Shared<'a>) -> Self {
        Self { shared, scratch: Scratch::default(), joiner: Joiner::new(shared) }
    }

    fn run(mut self) {
        while let Some(job) = self.shared.next() {
            match job {
                Job::File(file) => {
                    if let Err(reason) = self.read_file(file) {
                        self.shared.opened(None);
                        self.joiner.skip(file, reason);
                    }
                }
                Job::Range(open) => {
                    self.scratch.clear();
                    // From the byte before: if that is a newline, the range's first line is its own.
                    let start = open.range * self.shared.sizes.range - 1;
                    let stop = (start + 1 + self.shared.sizes.range).min(open.size);
                    let mut input = self.input(&open.handle, start, stop, open.size);
                    self.read_range(&open, &mut input);
                }
            }
        }
    }

    /// Open a file, see what it is, read its first range and leave the others to whoever is free. An error says why
    /// it is skipped; then nothing of it was published.
    fn read_file(&mut self, file: usize) -> Result<(), String> {
        let path = &self.shared.files[file];
        // Asked before the file is opened: opening a pipe waits for a writer.
        if !std::fs::metadata(path).map_err(|error| cannot_open(&error))?.is_file() {
            return Err("not a regular file".to_owned());
        }
        let handle = Arc::new(File::open(path).map_err(|error| cannot_open(&error))?);
        let size = handle.metadata().map_err(|error| cannot_open(&error))?.len();
        // Not counted before it is known whether the first range is all that this thread reads of it.
        let mut uncounted = self.input(&handle, 0, 0, size);
        let at_hand = self.scratch.head(&mut uncounted).map_err(|error| cannot_read(&error))?;
        let length = at_hand.len() as u64;
        if frames::is_zstd(at_hand) {
            let at_hand = at_hand.to_vec();
            self.shared.control.count(length);
            let stream = Cursor::new(at_hand).chain(self.input(&handle, length, size, size));
            return self.read_compressed(file, &handle, size, stream);
        }
        let head = match self.scratch.detect() {
            Some(head) => head,
            None => detect_further(&mut self.input(&handle, 0, 0, size)).map_err(|error| cannot_read(&error))?,
        };
        let ranges = size.div_ceil(self.shared.sizes.range).max(1);
        let open = open(file, head, handle, size, ranges)?;
        self.shared.opened((ranges > 1).then(|| Open { range: 1, ..open.clone() }));
        let stop = self.shared.sizes.range.min(size);
        self.shared.control.count(length.min(stop));
        let mut input = self.input(&open.handle, length, stop, size);
        self.read_range(&open, &mut input);
        Ok(())
    }

    fn input(&self, handle: &Arc<File>, start: u64, stop: u64, end: u64) -> frames::Range {
        frames::Range::new(Arc::clone(handle), Arc::clone(&self.shared.control), start, stop, end)
    }

    fn read_range(&mut self, open: &Open, input: &mut frames::Range) {
        let range = self.shared.sizes.range;
        let span = Span {
            origin: if open.range == 0 { 0 } else { open.range * range - 1 },
            mid_line: open.range > 0,
            stop: if open.range + 1 == open.ranges { u64::MAX } else { (open.range + 1) * range },
            strict: self.shared.options.strict,
        };
        self.joiner.start(open);
        if let Err(error) = self.read_lines(open.format, input, span) {
            let at = self.scratch.position();
            self.joiner.stopped(format!("reading stopped at byte {at}: {error}"));
        }
        self.joiner.finish();
    }

    /// A compressed file is one range: where a frame begins is known only to who has read all before.
    fn read_compressed(&mut self, file: usize, handle: &Arc<File>, size: u64, stream: impl Read) -> Result<(), String> {
        let mut text =
            frames::decompressed(stream, Arc::clone(&self.shared.control)).map_err(|error| cannot_read(&error))?;
        // A stream cannot be read twice: the head is kept, and what fails behind it fails again when the lines are
        // read.
        let mut bytes = Vec::new();
        let failed = text.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut bytes).err();
        let seen = if bytes.len() < HEAD_BYTES { Seen::All } else { Seen::Enough };
        let head = logs::detect(&bytes, seen).unwrap_or_default();
        let open = open(file, head, Arc::clone(handle), size, 1)?;
        self.shared.opened(None);
        self.scratch.clear();
        let mut text = Cursor::new(bytes).chain(Failing(failed)).chain(text);
        let span = Span { origin: 0, mid_line: false, stop: u64::MAX, strict: self.shared.options.strict };
        self.joiner.start(&open);
        if let Err(error) = self.read_lines(open.format, &mut text, span) {
            let torn = error.kind() == io::ErrorKind::UnexpectedEof;
            let reason = if torn { Reason::TornFrame } else { Reason::DamagedFrame };
            self.joiner.broken_off(self.scratch.position(), reason);
        }
        self.joiner.finish();
        Ok(())
    }

    fn read_lines(&mut self, format: Format, input: &mut impl Read, span: Span) -> io::Result<()> {
        let form = self.shared.options.form.clone();
        match format {
            Format::Dsh => self.scratch.read_lines(input, span, &mut Dsh::new(form), &mut self.joiner),
            Format::ClaudeCode => self.scratch.read_lines(input, span, &mut ClaudeCode::new(form), &mut self.joiner),
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

/// Look for the format in more of the file than a reader holds.
fn detect_further(input: &mut impl Read) -> io::Result<Head> {
    let mut bytes = Vec::with_capacity(HEAD_BYTES);
    input.take(HEAD_BYTES as u64).read_to_end(&mut bytes)?;
    let seen = if bytes.len() < HEAD_BYTES { Seen::All } else { Seen::Enough };
    Ok(logs::detect(&bytes, seen).unwrap_or_default())
}

/// The first range of a file with this head, or why it is not read.
fn open(file: usize, head: Head, handle: Arc<File>, size: u64, ranges: u64) -> Result<Open, String> {
    let format = match head.detected {
        Detected::Format(format) => format,
        // Nothing is in it, so that any reader will do.
        Detected::Blank => Format::ClaudeCode,
        Detected::Unread(name) => return Err(format!("a session log of {name}, which this version does not read")),
        Detected::Unknown => return Err("not a session log of DSH or Claude Code".to_owned()),
    };
    Ok(Open { file, format, session: head.session.map(Arc::from), handle, size, range: 0, ranges })
}
