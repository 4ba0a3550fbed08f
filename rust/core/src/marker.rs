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

    /// Code points before the marker.
    #[must_use]
    pub fn head(&self) -> u64 {
        self.head
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MARKER: &str = "\n\n[... tool result middle pruned ...]\n\n";

    fn host() -> CutForm {
        CutForm::new(4096, 1024, MARKER)
    }

    /// Whether raw blocks are cut, as a reader of a log decides it.
    fn is_cut_raw(form: &CutForm, blocks: &[&str]) -> bool {
        let mut start = 0;
        let mut matches = true;
        for raw in blocks.iter().map(|raw| raw.as_bytes()) {
            matches &= form.raw_block_matches(start, raw);
            start += json::code_points(raw);
        }
        matches && start == form.kept()
    }

    #[test]
    fn the_hosts_cut_is_5159_code_points() {
        assert_eq!(host().kept(), 5159);
        assert_eq!(CutForm::new(u64::MAX, 1, "…").kept(), u64::MAX);
    }

    #[test]
    fn head_marker_and_tail_are_a_cut_and_one_code_point_else_is_not() {
        let cut = "漢".repeat(4096) + MARKER + &"😀".repeat(1024);
        assert!(host().is_cut_utf8(&cut));
        assert!(!host().is_cut_utf8(&(cut.clone() + "\n")));
        assert!(!host().is_cut_utf8(&("漢".repeat(4095) + MARKER + &"😀".repeat(1025))));
        assert!(!host().is_cut_utf8(&"漢".repeat(5159)));
        assert!(!host().is_cut_utf8(MARKER));
        assert!(!host().is_cut_utf8(""));
    }

    #[test]
    fn a_marker_over_several_blocks_and_spelt_in_any_way_is_found() {
        let form = CutForm::new(2, 1, "\n[é]");
        assert!(is_cut_raw(&form, &[r"ab\n[é]z"]));
        assert!(is_cut_raw(&form, &[r"ab\u000A\u005b\u00e9]\ud83d"]));
        assert!(is_cut_raw(&form, &["a", "b", "", r"\n", "[é", "]", "z"]));
        assert!(is_cut_raw(&form, &[r"\ud83d\ude00b\n", r"[\u00E9]z"]));
    }

    #[test]
    fn a_marker_that_differs_or_stands_elsewhere_is_not() {
        let form = CutForm::new(2, 1, "\n[é]");
        assert!(!is_cut_raw(&form, &[r"ab\n[e]z"]));
        assert!(!is_cut_raw(&form, &["ab", r"\n[é", ")z"]));
        assert!(!is_cut_raw(&form, &[r"a\n[é]zz"]));
        assert!(!is_cut_raw(&form, &[r"ab\n[é]"]));
        assert!(!is_cut_raw(&form, &[r"ab\n[é]zz"]));
        assert!(!is_cut_raw(&form, &[r"ab\\n[é]"])); // seven code points, but a backslash for the line feed
    }

    #[test]
    fn a_block_that_does_not_reach_the_marker_or_lies_behind_it_matches() {
        let form = CutForm::new(2, 1, "\n[é]");
        assert!(form.raw_block_matches(0, b"xx"));
        assert!(form.raw_block_matches(6, b"anything"));
        assert!(form.raw_block_matches(4, b""));
        assert!(!form.raw_block_matches(0, b"xxx"));
        assert!(!form.raw_block_matches(5, b"xx"));
    }

    #[test]
    fn without_head_tail_or_marker_the_form_is_what_is_left_of_it() {
        assert!(CutForm::new(0, 0, "…").is_cut_utf8("…"));
        assert!(CutForm::new(0, 2, "…").is_cut_utf8("…ab"));
        assert!(CutForm::new(2, 0, "…").is_cut_utf8("ab…"));
        assert!(CutForm::new(2, 1, "").is_cut_utf8("abc"));
        assert!(is_cut_raw(&CutForm::new(2, 1, ""), &["abc"]));
        assert!(!CutForm::new(2, 1, "").is_cut_utf8("abcd"));
    }

    proptest! {
        #[test]
        fn raw_blocks_are_cut_when_their_text_is(
            text in "[ab\n]{0,9}",
            edges in proptest::collection::vec(0_usize..10, 0..3),
            (head, tail, marker) in (0_u64..4, 0_u64..3, "[ab\n]{0,3}"),
        ) {
            let form = CutForm::new(head, tail, &*marker);
            let mut edges: Vec<usize> = edges.into_iter().map(|edge| edge.min(text.len())).collect();
            edges.extend([0, text.len()]);
            edges.sort_unstable();
            let blocks: Vec<String> =
                edges.windows(2).map(|edge| text[edge[0]..edge[1]].replace('\n', "\\n")).collect();
            let blocks: Vec<&str> = blocks.iter().map(String::as_str).collect();
            prop_assert_eq!(is_cut_raw(&form, &blocks), form.is_cut_utf8(&text));
        }
    }
}
