//! Session log formats, one file each: how a line says call, result, session and what else a scan counts.
//!
//! A format is a [`Shape`]: it names the members it asks for and gathers their values while a line is walked. At the
//! line's end it hands what it found to a [`Sink`].

use crate::marker::CutForm;
use crate::tokens;
use crate::walk::{Kind, Shape, Text};

mod claude_code;
mod detect;
mod dsh;

pub use claude_code::ClaudeCode;
pub(crate) use detect::detect_in;
pub use detect::{Detected, HEAD_BYTES, Head, Seen, detect};
pub use dsh::Dsh;

/// A session log format that a scan reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// The `DeepSeek` Harness, log versions 0 and 4.
    Dsh,
    /// Claude Code.
    ClaudeCode,
}

impl Format {
    /// The name that users see.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dsh => "dsh",
            Self::ClaudeCode => "claude-code",
        }
    }
}

/// One tool result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToolResult<'a> {
    /// Id of the call that it answers, decoded.
    pub call_id: Option<&'a [u8]>,
    /// The id of the session that the line names, decoded.
    pub session: Option<&'a [u8]>,
    /// Number of the event in its session.
    pub seq: Option<i64>,
    /// Number of the turn.
    pub turn: Option<i64>,
    /// Number of the step in the turn.
    pub step: Option<i64>,
    /// Whether it is on a side chain; `None` where the format knows none.
    pub sidechain: Option<bool>,
    /// Whether the log calls it an error.
    pub is_error: bool,
    /// Code points over its text blocks.
    pub code_points: u64,
    /// The host's estimate.
    pub tokens: u64,
    /// Whether its text is exactly what a cut leaves.
    pub already_cut: bool,
}

/// Takes what a line holds, in the order in which it stands.
pub trait Sink {
    /// A tool was called: `name` by `id`, both decoded.
    fn call(&mut self, id: &[u8], name: Option<&[u8]>);
    /// A result.
    fn result(&mut self, found: &ToolResult<'_>);
    /// A copy for the user interface of so many bytes.
    fn ui_copy(&mut self, bytes: u64);
}

/// A reader of one format's lines.
pub trait Lines: Shape {
    /// A broken line that contains none of these bears on nothing that is counted.
    const WORDS: &'static [&'static str];

    /// A reader that tells cut results by `form`.
    fn new(form: CutForm) -> Self;

    /// Forget the line before.
    fn start_line(&mut self);

    /// Whether the line holds more results, or longer names together, than is kept of one line.
    fn is_full(&self) -> bool;

    /// The line was walked whole: hand on what it holds.
    fn finish(&mut self, sink: &mut impl Sink);
}

/// An id or a name of more bytes than this, as it stands in the log, is no id or name.
pub const LONGEST_NAME: u64 = 4096;

/// Calls and results of one line that are kept; a line with more is refused.
pub const MOST_ENTRIES: usize = 65_536;

/// Bytes of ids and names of one line that are kept; a line with more is refused.
pub const MOST_NAME_BYTES: usize = 8 << 20;

/// The decoded ids and names of one line, one behind the other.
#[derive(Debug, Default)]
struct Names(Vec<u8>);

/// Where in [`Names`] a name is.
#[derive(Clone, Copy, Debug)]
struct Name {
    start: usize,
    end: usize,
}

impl Names {
    fn clear(&mut self) {
        self.0.clear();
        // A line of very many names should not hold their memory for the rest of the log.
        self.0.shrink_to(MOST_NAME_BYTES / 64);
    }

    fn is_full(&self) -> bool {
        self.0.len() > MOST_NAME_BYTES
    }

    fn keep(&mut self, text: &Text<'_>) -> Option<Name> {
        let raw = text.raw().filter(|_| text.raw_len() <= LONGEST_NAME && !self.is_full())?;
        let start = self.0.len();
        if text.is_verbatim() {
            self.0.extend_from_slice(raw);
        } else {
            self.0.extend_from_slice(&crate::json::unescape(raw));
        }
        let end = self.0.len();
        // One that takes no room must not stand behind another, which may be forgotten.
        Some(if start == end { Name { start: 0, end: 0 } } else { Name { start, end } })
    }

    /// Void a name, because a later value of the same key takes its place.
    fn forget(&mut self, name: &mut Option<Name>) {
        if let Some(Name { start, end }) = name.take()
            && end == self.0.len()
        {
            self.0.truncate(start);
        }
    }

    fn get(&self, name: Option<Name>) -> Option<&[u8]> {
        name.map(|Name { start, end }| &self.0[start..end])
    }
}

/// Whether the decoded string is `word`.
fn is(text: &Text<'_>, word: &str) -> bool {
    match text.raw() {
        Some(raw) if raw == word.as_bytes() => true,
        Some(raw) => !text.is_verbatim() && *crate::json::unescape(raw) == *word.as_bytes(),
        None => false,
    }
}

/// The integer that a literal is, if it is one.
fn integer(raw: &[u8]) -> Option<i64> {
    std::str::from_utf8(raw).ok()?.parse().ok()
}

/// The measures of one text.
#[derive(Clone, Copy, Debug)]
struct Measure {
    code_points: u64,
    utf16_units: u64,
    /// Whether it agrees with the marker where, in a cut result, the marker would be.
    fits_form: bool,
}

impl Measure {
    const NO_TEXT: Self = Self { code_points: 0, utf16_units: 0, fits_form: true };
}

/// Sums over the blocks of one result's content.
#[derive(Clone, Copy, Debug)]
struct Content {
    code_points: u64,
    tokens: u64,
    fits_form: bool,
}

impl Content {
    const EMPTY: Self = Self { code_points: 0, tokens: 0, fits_form: true };

    /// Measure a text that is this content whole.
    fn measure_whole(text: &Text<'_>, form: &CutForm) -> Measure {
        let code_points = text.code_points();
        let fits_form = code_points == form.kept() && text.raw().is_some_and(|raw| form.raw_block_matches(0, raw));
        Measure { code_points, utf16_units: text.utf16_units(), fits_form }
    }

    /// Measure a text that would stand at the end of this content.
    fn measure(&self, text: &Text<'_>, form: &CutForm) -> Measure {
        let code_points = text.code_points();
        let end = self.code_points + code_points;
        // Nearly all texts end before the marker's place, or go on behind the end of a cut result: not one byte need
        // be read.
        let fits_form = end <= form.head()
            || (end <= form.kept() && text.raw().is_some_and(|raw| form.raw_block_matches(self.code_points, raw)));
        Measure { code_points, utf16_units: text.utf16_units(), fits_form }
    }

    fn add_text(&mut self, measure: Measure) {
        self.code_points += measure.code_points;
        self.tokens += tokens::text(measure.utf16_units);
        self.fits_form &= measure.fits_form;
    }

    /// Add a block that is no text: `bytes` of JSON.
    fn add_other(&mut self, bytes: u64) {
        self.tokens += tokens::other(bytes);
    }

    /// Add what stands in a wrapper.
    fn add_wrapped(&mut self, inner: &Self) {
        self.code_points += inner.code_points;
        self.tokens += inner.tokens + tokens::WRAPPER;
        self.fits_form &= inner.fits_form;
    }

    fn is_cut(&self, form: &CutForm) -> bool {
        self.fits_form && self.code_points == form.kept()
    }
}

/// One block of a content while it is walked: whether it is text may come behind the text.
#[derive(Clone, Copy, Debug)]
struct Block {
    is_object: bool,
    start: u64,
    is_text: bool,
    text: Measure,
}

impl Block {
    const NONE: Self = Self { is_object: false, start: 0, is_text: false, text: Measure::NO_TEXT };

    fn begin(kind: Kind, at: u64) -> Self {
        Self { is_object: kind == Kind::Object, start: at, ..Self::NONE }
    }

    /// The block ends before byte `at`.
    fn end(&self, at: u64, content: &mut Content) {
        if !self.is_object {
            return;
        }
        if self.is_text {
            content.add_text(self.text);
        } else {
            content.add_other(at - self.start);
        }
    }
}
