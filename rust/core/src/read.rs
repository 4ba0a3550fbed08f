//! The lines of a stream of bytes, each walked and handed to its format's reader, in bounded memory.

use std::io::{self, Read};

use memchr::{memchr, memmem, memrchr};

use crate::logs::{Detected, Lines, Sink, detect_in};
use crate::structure::{BLOCK, MARGIN, Stop, Structure};
use crate::walk::{Broken, Walker};

/// Bytes of a log in memory at a time, by reader; a longer line is read in windows of as much.
pub const CAPACITY: usize = 256 * 1024;

/// Why a line counts as malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Bytes that are no UTF-8.
    #[error("not UTF-8")]
    Utf8,
    /// NUL bytes where a line should be: what a crash leaves of a file whose data never reached the disk.
    #[error("NUL bytes: the data was lost")]
    Nul,
    /// The line ends before its JSON value does.
    #[error("the line breaks off")]
    Short,
    /// Anything else that is not JSON.
    #[error("not JSON")]
    Json,
    /// The compressed stream ends inside a frame.
    #[error("the last zstd frame breaks off")]
    TornFrame,
    /// The compressed stream is damaged, and the log is read up to there.
    #[error("a damaged zstd frame: the rest of the file is not read")]
    DamagedFrame,
}

/// Takes the lines of a log besides what is in them.
pub trait LineSink: Sink {
    /// The line at this byte offset begins; what follows is in it.
    fn line(&mut self, offset: u64);
    /// The line that began last is malformed.
    fn malformed(&mut self, reason: Reason);
}

/// Which lines of a stream to read.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Offset in the log of the stream's first byte.
    pub origin: u64,
    /// Whether the stream begins inside a line, or at its newline: that line is somebody else's.
    pub mid_line: bool,
    /// Lines that begin at or beyond this offset are somebody else's.
    pub stop: u64,
    /// Whether to hold every line to the whole of JSON, also those that bear on nothing.
    pub strict: bool,
}

/// The memory of a reader of lines, used for one stream after the other.
#[derive(Debug)]
pub struct Scratch {
    /// A margin to look back into, the bytes, room for a newline at a log's end, and a block to read beyond it.
    buffer: Vec<u8>,
    capacity: usize,
    /// Bytes of the log in the buffer.
    filled: usize,
    /// Offset in the log of the first of them.
    position: u64,
    structure: Structure,
    walker: Walker,
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new(Structure::new(), CAPACITY)
    }
}

impl Scratch {
    /// A reader that holds `capacity` bytes, of which a longer line is read in windows: any size gives the same answer.
    ///
    /// # Panics
    /// When the capacity is less than four blocks.
    #[must_use]
    pub fn new(structure: Structure, capacity: usize) -> Self {
        assert!(capacity >= 4 * BLOCK, "a window must hold a few blocks");
        let buffer = vec![b' '; MARGIN + capacity + 1 + BLOCK];
        Self { buffer, capacity, filled: 0, position: 0, structure, walker: Walker::default() }
    }

    /// Read the stream's first bytes, and give those that are at hand: the whole stream when they are fewer than its capacity.
    ///
    /// # Errors
    /// What the stream's `read` says.
    pub fn head(&mut self, input: &mut impl Read) -> io::Result<&[u8]> {
        self.filled = 0;
        self.fill(input)?;
        Ok(self.at_hand())
    }

    /// What the bytes at hand tell of the log's format; `whole` says that the log has no more.
    #[must_use]
    pub fn detect(&mut self, whole: bool) -> Option<Detected> {
        let end = MARGIN + self.filled;
        self.buffer[end] = b'\n';
        detect_in(&self.buffer, end + 1, whole, &mut self.structure, &mut self.walker)
    }

    /// The bytes at hand.
    #[must_use]
    pub fn at_hand(&self) -> &[u8] {
        &self.buffer[MARGIN..MARGIN + self.filled]
    }

    /// Offset in the log of the first byte that was not read as part of a line.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Forget the bytes at hand.
    pub fn clear(&mut self) {
        self.filled = 0;
    }

    /// Read until the buffer is full; less means the stream's end.
    fn fill(&mut self, input: &mut impl Read) -> io::Result<()> {
        while self.filled < self.capacity {
            match input.read(&mut self.buffer[MARGIN + self.filled..MARGIN + self.capacity]) {
                Ok(0) => break,
                Ok(read) => self.filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Drop the first `bytes`, keeping a margin of them to look back into.
    fn drop_front(&mut self, bytes: usize) {
        self.buffer.copy_within(bytes..MARGIN + self.filled, 0);
        self.filled -= bytes;
    }

    /// Read the lines of a stream: the bytes at hand ([`Scratch::head`]) and then `input`. Nothing stays at hand.
    ///
    /// # Errors
    /// What the stream's `read` says; all whole lines before were read.
    pub fn read_lines<L: Lines, S: LineSink>(
        &mut self,
        input: &mut impl Read,
        span: Span,
        lines: &mut L,
        sink: &mut S,
    ) -> io::Result<()> {
        self.position = span.origin;
        let read = self.read_all(input, span, lines, sink);
        self.filled = 0;
        read
    }

    fn read_all<L: Lines, S: LineSink>(
        &mut self,
        input: &mut impl Read,
        span: Span,
        lines: &mut L,
        sink: &mut S,
    ) -> io::Result<()> {
        let mut mid_line = span.mid_line;
        loop {
            // A stream that fails has still delivered the lines before.
            let failed = self.fill(input).err();
            let ended = failed.is_none() && self.filled < self.capacity;
            if ended {
                self.end_last_line();
            }
            let mut start = 0;
            if mid_line {
                match memchr(b'\n', self.at_hand()) {
                    Some(newline) => (start, mid_line) = (newline + 1, false),
                    None => start = self.filled,
                }
            }
            match memrchr(b'\n', &self.at_hand()[start..]) {
                Some(last) => {
                    let end = start + last + 1;
                    if !self.read_whole_lines(start, end, span, lines, sink) {
                        return Ok(());
                    }
                    start = end;
                }
                None if start == 0 && self.filled == self.capacity => {
                    if self.position >= span.stop {
                        return Ok(());
                    }
                    self.read_long_line(input, span, lines, sink)?;
                    continue;
                }
                None => {}
            }
            if let Some(error) = failed {
                return Err(error);
            }
            self.position += start as u64;
            self.drop_front(start);
            if ended || self.position >= span.stop {
                return Ok(());
            }
        }
    }

    /// A log's last line may lack its newline.
    fn end_last_line(&mut self) {
        if self.at_hand().last().is_some_and(|&byte| byte != b'\n') {
            self.buffer[MARGIN + self.filled] = b'\n';
            self.filled += 1;
        }
    }

    /// Read the lines in `start..end` of the bytes at hand; false when the next one is somebody else's.
    #[inline(never)]
    fn read_whole_lines<L: Lines, S: LineSink>(
        &mut self,
        start: usize,
        end: usize,
        span: Span,
        lines: &mut L,
        sink: &mut S,
    ) -> bool {
        let end = MARGIN + end;
        let mut at = MARGIN + start;
        while at < end {
            let offset = self.position + (at - MARGIN) as u64;
            if offset >= span.stop {
                return false;
            }
            sink.line(offset);
            let base = at + self.byte_order_mark(at, offset);
            self.structure.start_line();
            let Stop::Newline(length) = self.structure.read(&self.buffer, base, end) else { return false };
            at = base + length + 1;
            lines.start_line();
            self.walker.start_line();
            let line = &self.buffer[base..at];
            let walked = self.walker.line(line, &self.structure, lines);
            if walked.is_ok() && self.structure.is_sound() {
                if self.walker.is_object() {
                    lines.finish(sink);
                }
            } else {
                let mut skim = Skim::default();
                skim.add(&line[..length], 0, L::WORDS);
                self.judge(walked, span.strict, skim, sink);
            }
        }
        true
    }

    fn byte_order_mark(&self, at: usize, offset: u64) -> usize {
        if offset == 0 && self.buffer[at..].starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 }
    }

    /// A line is not JSON, or not a value that counts: say so if it must be said.
    fn judge(&self, walked: Result<(), Broken>, strict: bool, skim: Skim, sink: &mut impl LineSink) {
        if skim.is_blank() || (skim.is_passable() && !strict) {
            return;
        }
        sink.malformed(match walked {
            _ if skim.first == Some(0) => Reason::Nul,
            _ if self.structure.faults().utf8 => Reason::Utf8,
            Err(Broken::Short) => Reason::Short,
            _ => Reason::Json,
        });
    }

    /// Read a line that is longer than the buffer, window by window. Afterwards the bytes at hand begin behind its newline.
    #[cold]
    fn read_long_line<L: Lines, S: LineSink>(
        &mut self,
        input: &mut impl Read,
        span: Span,
        lines: &mut L,
        sink: &mut S,
    ) -> io::Result<()> {
        sink.line(self.position);
        self.structure.start_line();
        self.walker.start_line();
        lines.start_line();
        let mut skim = Skim::default();
        let mut walked = Ok(());
        let mark = self.byte_order_mark(MARGIN, self.position);
        self.drop_front(mark);
        self.position += mark as u64;
        // Bytes at hand that were skimmed already.
        let mut skimmed = 0;
        loop {
            let newline = memchr(b'\n', &self.at_hand()[skimmed..]).map(|at| skimmed + at);
            let end = newline.unwrap_or(self.filled);
            skim.add(&self.buffer[..MARGIN + end], MARGIN + skimmed, L::WORDS);
            skimmed = end;
            let done = if walked.is_ok() {
                let (done, result) = self.walk_window(newline.is_some(), lines);
                walked = result;
                done
            } else {
                end
            };
            if let Some(newline) = newline {
                if walked.is_ok() && self.structure.is_sound() {
                    if self.walker.is_object() {
                        lines.finish(sink);
                    }
                } else {
                    self.judge(walked, span.strict, skim, sink);
                }
                self.drop_front(newline + 1);
                self.position += newline as u64 + 1;
                return Ok(());
            }
            self.drop_front(done);
            self.position += done as u64;
            skimmed -= done;
            self.fill(input)?;
            if self.filled < self.capacity {
                self.end_last_line();
                if self.filled == skimmed {
                    // The line ended with the window.
                    self.buffer[MARGIN + self.filled] = b'\n';
                    self.filled += 1;
                }
            }
        }
    }

    /// Walk what is at hand of a long line, and say how many bytes of it are done with.
    fn walk_window<L: Lines>(&mut self, has_newline: bool, lines: &mut L) -> (usize, Result<(), Broken>) {
        let end = MARGIN + self.filled;
        match self.structure.read(&self.buffer, MARGIN, end) {
            Stop::Newline(length) => {
                let line = &self.buffer[MARGIN..=MARGIN + length];
                (length, self.walker.line(line, &self.structure, lines))
            }
            Stop::Window(length) => {
                debug_assert!(!has_newline);
                let byte = std::mem::replace(&mut self.buffer[MARGIN + length], b'\n');
                let window = &self.buffer[MARGIN..=MARGIN + length];
                let walked = self.walker.window(window, &mut self.structure, lines);
                self.buffer[MARGIN + length] = byte;
                match walked {
                    Ok(blocks) => (blocks * BLOCK, Ok(())),
                    Err(broken) => (length, Err(broken)),
                }
            }
        }
    }
}

/// What the bytes of a broken line say without being parsed.
#[derive(Clone, Copy, Debug, Default)]
struct Skim {
    first: Option<u8>,
    last: Option<u8>,
    bears: bool,
}

impl Skim {
    /// Add the bytes from `from` on; one of `words` may begin before them.
    fn add(&mut self, bytes: &[u8], from: usize, words: &[&str]) {
        /// No word is longer.
        const OVERLAP: usize = 32;
        let is_blank = |byte: &&u8| !matches!(**byte, b' ' | b'\t' | b'\r');
        let new = &bytes[from..];
        self.last = new.iter().rev().find(is_blank).copied().or(self.last);
        let overlap = if self.first.is_some() { OVERLAP } else { 0 };
        self.first = self.first.or_else(|| new.iter().find(is_blank).copied());
        // What does not begin as an object is malformed whatever it holds.
        if self.first == Some(b'{') && !self.bears {
            let bytes = &bytes[from.saturating_sub(overlap)..];
            self.bears = words.iter().any(|word| memmem::find(bytes, word.as_bytes()).is_some());
        }
    }

    fn is_blank(self) -> bool {
        self.first.is_none()
    }

    /// Whether the line may be passed over although it is not JSON.
    fn is_passable(self) -> bool {
        self.first == Some(b'{') && self.last == Some(b'}') && !self.bears
    }
}
