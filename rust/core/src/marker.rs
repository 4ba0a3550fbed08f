//! Is this text exactly what a cut leaves?
//!
//! The marker's words alone prove nothing: a page about the marker, or the log of an earlier run, holds them too. A cut
//! result is head, marker and tail and not one code point else, with the marker at its place.

use crate::json;
use crate::text;

/// The form that every cut with this head, tail and marker has.
///
/// The marker may be empty, as in a cut; then any text of `head + tail` code points has the form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutForm {
    head: u64,
    tail: u64,
    marker: String,
}

impl CutForm {
    /// The form of a cut that keeps `head` and `tail` code points around `marker`.
    #[must_use]
    pub fn new(head: u64, tail: u64, marker: impl Into<String>) -> Self {
        Self { head, tail, marker: marker.into() }
    }

    /// The length of a cut result in code points, head + marker + tail; a sum past `u64`, which no text has, is
    /// `u64::MAX`.
    #[must_use]
    pub fn kept(&self) -> u64 {
        self.marker_end().saturating_add(self.tail)
    }

    /// Whether a text is head + marker + tail.
    #[must_use]
    pub fn is_cut_utf8(&self, text: &str) -> bool {
        let utf8 = text.as_bytes();
        text::code_points(utf8) == self.kept()
            && utf8[text::nth_code_point(utf8, self.head)..].starts_with(self.marker.as_bytes())
    }

    /// Whether a block of a result agrees with the marker where the two overlap; true where they do not.
    ///
    /// `raw` is the block's text as a raw JSON string and `start` the number of code points in the text blocks before
    /// it. A result is cut when this holds for each text block and their code points sum to [`CutForm::kept`].
    #[must_use]
    pub fn raw_block_matches(&self, start: u64, raw: &[u8]) -> bool {
        if start >= self.marker_end() {
            return true;
        }
        let raw = &raw[json::nth_code_point(raw, self.head.saturating_sub(start))..];
        let marker = self.marker.as_bytes();
        let marker = &marker[text::nth_code_point(marker, start.saturating_sub(self.head))..];
        let overlap = &raw[..json::nth_code_point(raw, text::code_points(marker))];
        marker.starts_with(&json::unescape(overlap))
    }

    fn marker_end(&self) -> u64 {
        self.head.saturating_add(text::code_points(self.marker.as_bytes()))
    }
}
