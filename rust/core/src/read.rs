//! The lines of a stream of bytes, each walked and handed to its format's reader, in bounded memory.

use std::io::{self, Read};

use memchr::{memchr, memmem, memrchr};

use crate::logs::{Head, Lines, Seen, Sink, detect_in};
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
    /// JSON, but with more results or names than are kept of one line.
    #[error("more tool results or longer names in one line than are kept")]
    Full,
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
    /// What reading on said, when lines that came before it had to be read first.
    failed: Option<io::Error>,
    structure: Structure,
    walker: Walker,
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new(Structure::new(), CAPACITY)
    }
}

impl Scratch {
    /// A reader that holds `capacity` bytes, of which a longer line is read in windows: any size gives the same
    /// answer, as long as ids, names and numbers are shorter than half of it.
    ///
    /// # Panics
    /// When the capacity is less than four blocks.
    #[must_use]
    pub fn new(structure: Structure, capacity: usize) -> Self {
        assert!(capacity >= 4 * BLOCK, "a window must hold a few blocks");
        let buffer = vec![b' '; MARGIN + capacity + 1 + BLOCK];
        Self { buffer, capacity, filled: 0, position: 0, failed: None, structure, walker: Walker::default() }
    }

    /// Read the stream's first bytes, and give those that are at hand: the whole stream when they are fewer than its
    /// capacity.
    ///
    /// # Errors
    /// What the stream's `read` says.
    pub fn head(&mut self, input: &mut impl Read) -> io::Result<&[u8]> {
        self.filled = 0;
        self.fill(input)?;
        Ok(self.at_hand())
    }

    /// What the bytes at hand tell of the log; `None` when more of it might tell more.
    #[must_use]
    pub fn detect(&mut self) -> Option<Head> {
        let end = MARGIN + self.filled;
        self.buffer[end] = b'\n';
        let seen = if self.filled < self.capacity { Seen::All } else { Seen::Part };
        detect_in(&self.buffer, end + 1, seen, &mut self.structure, &mut self.walker)
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
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
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
        self.failed = None;
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
            self.position += start as u64;
            self.drop_front(start);
            if let Some(error) = failed {
                return Err(error);
            }
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
                self.finish(lines, sink);
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

    /// A line is JSON, whole.
    #[inline]
    fn finish<L: Lines, S: LineSink>(&self, lines: &mut L, sink: &mut S) {
        if lines.is_full() {
            sink.malformed(Reason::Full);
        } else if self.walker.is_object() {
            lines.finish(sink);
        }
    }

    /// A line is not JSON, or not a value that counts: say so if it must be said.
    fn judge(&self, walked: Result<(), Broken>, strict: bool, skim: Skim, sink: &mut impl LineSink) {
        if skim.is_blank() || (skim.is_passable() && !strict) {
            return;
        }
        sink.malformed(match walked {
            _ if skim.first == Some(0) => Reason::Nul,
            // Before faults of the text: a long line is not read on once its grammar is broken.
            Err(Broken::Grammar) => Reason::Json,
            _ if self.structure.faults().utf8 => Reason::Utf8,
            Err(Broken::Short) => Reason::Short,
            Ok(()) => Reason::Json,
        });
    }

    /// Read a line that is longer than the buffer, window by window. Afterwards the bytes at hand begin behind its
    /// newline.
    #[cold]
    fn read_long_line<L: Lines, S: LineSink>(
        &mut self,
        input: &mut impl Read,
        span: Span,
        lines: &mut L,
        sink: &mut S,
    ) -> io::Result<()> {
        let start = self.position;
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
                sink.line(start);
                if walked.is_ok() && self.structure.is_sound() {
                    self.finish(lines, sink);
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
            if let Err(error) = self.fill(input) {
                // Unless its newline came before the fault, the line is lost with what follows.
                if memchr(b'\n', self.at_hand()).is_none() {
                    self.position = start;
                    return Err(error);
                }
                self.failed = Some(error);
                continue;
            }
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

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;
    use crate::logs::{ClaudeCode, Dsh, ToolResult};
    use crate::marker::CutForm;

    /// Writes down all that it is told.
    #[derive(Debug, Default, PartialEq)]
    struct Log(String);

    impl Sink for Log {
        fn call(&mut self, id: &[u8], name: Option<&[u8]>) {
            write!(self.0, "call {} {:?}; ", id.escape_ascii(), name.map(|name| name.escape_ascii().to_string()))
                .unwrap();
        }
        fn result(&mut self, found: &ToolResult<'_>) {
            let id = found.call_id.map(|id| id.escape_ascii().to_string());
            write!(self.0, "result {id:?} {} {} {}; ", found.code_points, found.tokens, found.already_cut).unwrap();
        }
        fn ui_copy(&mut self, bytes: u64) {
            write!(self.0, "copy {bytes}; ").unwrap();
        }
    }

    impl LineSink for Log {
        fn line(&mut self, offset: u64) {
            write!(self.0, "\n{offset}: ").unwrap();
        }
        fn malformed(&mut self, reason: Reason) {
            write!(self.0, "{reason}; ").unwrap();
        }
    }

    const WHOLE: Span = Span { origin: 0, mid_line: false, stop: u64::MAX, strict: false };

    fn form() -> CutForm {
        CutForm::new(4, 2, "[...]")
    }

    fn read_with<L: Lines>(scratch: &mut Scratch, log: &[u8], span: Span) -> Log {
        let mut sink = Log::default();
        let mut input = &log[usize::try_from(span.origin).unwrap()..];
        scratch.read_lines(&mut input, span, &mut L::new(form()), &mut sink).unwrap();
        sink
    }

    fn says(log: &str) -> String {
        read_with::<ClaudeCode>(&mut Scratch::new(Structure::plain(), CAPACITY), log.as_bytes(), WHOLE).0
    }

    #[test]
    fn a_result_is_counted_by_its_text_blocks() {
        let line = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a\u0041","content":[
            {"type":"text","text":"日本"},{"type":"image","data":"xx"},{"text":"\ud83d\ude00","type":"text"}]}]}}"#
            .replace('\n', "");
        // Texts of 2 and 2 UTF-16 units: ceil(2 / 4) + 4 each; an image of 28 bytes: 4 + 7; wrapper and message: 4
        // each.
        assert_eq!(says(&line), "\n0: result Some(\"aA\") 3 29 false; ");
    }

    #[test]
    fn a_result_of_exactly_the_cut_form_is_already_cut() {
        let line = |text: &str| {
            format!(r#"{{"message":{{"content":[{{"type":"tool_result","content":"{text}"}}]}},"type":"user"}}"#)
        };
        assert_eq!(says(&line("abcd[...]yz")), "\n0: result None 11 15 true; ");
        assert_eq!(says(&line("abc[...]xyz")), "\n0: result None 11 15 false; ");
        assert_eq!(says(&line(r"ab\u0063d\u005b...]yz")), "\n0: result None 11 15 true; ");
    }

    #[test]
    fn of_duplicate_keys_the_last_wins_whole() {
        let line = r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"abc"}]},"message":{"content":"x"}}"#;
        assert_eq!(says(line), "\n0: ");
        let line = r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"abc","content":null}]}}"#;
        assert_eq!(says(line), "\n0: result None 0 8 false; ");
    }

    #[test]
    fn a_broken_line_is_malformed_when_it_bears_on_something_or_does_not_end() {
        assert_eq!(says("{\"a\":NaN}\n"), "\n0: ");
        assert_eq!(says("{\"a\":NaN,\"tool_use\":1}\n"), "\n0: not JSON; ");
        assert_eq!(says("{\"a\":NaN\n"), "\n0: not JSON; ");
        assert_eq!(says("{\"a\":1\n{}"), "\n0: the line breaks off; \n7: ");
        assert_eq!(
            says("[1,2]\n[1,2\n\u{c}\n \t\r\n\n"),
            "\n0: \n6: the line breaks off; \n11: not JSON; \n13: \n17: "
        );
        assert_eq!(says("\0\0\0\n"), "\n0: NUL bytes: the data was lost; ");
        let strict = Span { strict: true, ..WHOLE };
        let log = read_with::<ClaudeCode>(&mut Scratch::new(Structure::plain(), CAPACITY), b"{\"a\":NaN}\n", strict);
        assert_eq!(log.0, "\n0: not JSON; ");
    }

    #[test]
    fn a_byte_order_mark_is_skipped_at_the_start_and_nowhere_else() {
        assert_eq!(says("\u{feff}{\"toolUseResult\":12}\n\u{feff}{}"), "\n0: copy 2; \n24: not JSON; ");
    }

    /// Lines of a log: results and calls of many shapes, broken ones, blank ones, long ones.
    fn log() -> impl Strategy<Value = Vec<u8>> {
        let text = prop_oneof![
            3 => "[ -~é日😀]{0,60}".prop_map(|text| serde_json::to_string(&text).unwrap()),
            1 => (0usize..3000).prop_map(|n| serde_json::to_string(&"日a\n".repeat(n)).unwrap()),
            1 => Just(r#""abcd[...]yz""#.to_owned()),
            1 => (0usize..900).prop_map(|n| format!("\"{}\"", r"\ud83d\ude00".repeat(n))),
            1 => (0usize..90).prop_map(|n| format!("[{}]", vec![r#"{"type":"text","text":"ab\"c"}, {"type":"image"}"#; n].join(","))),
            1 => (0usize..2000).prop_map(|n| "[".repeat(n) + &"]".repeat(n)),
        ];
        let line = (text, prop::sample::select(vec!["tool_result", "tool_use", "text"]), 0u8..12).prop_map(
            |(text, kind, shape)| {
                let block = format!(
                    r#"{{"type":"{kind}","id":"i{shape}","name":"Bash","tool_use_id":"i{shape}","content":{text}}}"#
                );
                match shape {
                    0 => String::new(),
                    1 => " ".repeat(text.len()),
                    2 => format!("{text}x"),
                    3 => format!(r#"{{"type":"user","message":{{"content":[{block}"#),
                    4 => "\0".repeat(text.len() + 1),
                    5 => format!(r#"{{"x":{text},"y":NaN}}"#),
                    6 => format!(r#"{{ {text} :1,"type":"user","message":{{"content":[{block},{block}]}}}}"#),
                    7 => format!(
                        r#"{{"type":"user","message":{{"content":[{block}]}},"toolUseResult":{text}}}{}"#,
                        " ".repeat(text.len())
                    ),
                    _ => format!(r#"{{"message":{{"content":[{block},{block}],"usage":[1, 2.5]}},"type":"user"}}"#),
                }
            },
        );
        (prop::collection::vec(line, 0..12), any::<bool>())
            .prop_map(|(lines, ended)| (lines.join("\n") + if ended { "\n" } else { "" }).into_bytes())
    }

    proptest! {
        #[test]
        fn a_log_read_in_a_buffer_of_any_size_says_the_same(log in log(), blocks in 4usize..200) {
            let whole = read_with::<ClaudeCode>(&mut Scratch::new(Structure::plain(), CAPACITY), &log, WHOLE);
            // Ids are of two bytes: shorter than any window.
            let mut small = Scratch::new(Structure::new(), blocks * BLOCK);
            prop_assert_eq!(read_with::<ClaudeCode>(&mut small, &log, WHOLE), whole);
        }

        #[test]
        fn a_log_read_in_any_ranges_says_the_same(log in log(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
            let whole = read_with::<ClaudeCode>(&mut Scratch::default(), &log, WHOLE);
            let mut edges: Vec<u64> = cuts.iter().map(|cut| cut.index(log.len() + 1) as u64).filter(|&cut| cut > 0).collect();
            edges.sort_unstable();
            edges.dedup();
            let mut scratch = Scratch::new(Structure::new(), 4096);
            let mut parts = String::new();
            let mut start = 0;
            for stop in edges.into_iter().chain([u64::MAX]) {
                let span = if start == 0 { Span { stop, ..WHOLE } } else { Span { origin: start - 1, mid_line: true, stop, strict: false } };
                parts += &read_with::<ClaudeCode>(&mut scratch, &log, span).0;
                start = stop;
            }
            prop_assert_eq!(parts, whole.0);
        }

        #[test]
        fn no_bytes_break_a_reader(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            let whole = read_with::<Dsh>(&mut Scratch::new(Structure::plain(), CAPACITY), &bytes, WHOLE);
            prop_assert_eq!(read_with::<Dsh>(&mut Scratch::new(Structure::new(), 256), &bytes, WHOLE), whole);
        }
    }
}
