//! Edges of a cut that part nothing which belongs together: no grapheme cluster, no escape sequence of a terminal and,
//! on request, no line.
//!
//! An edge moves inward only: the head ends earlier, the tail starts later. So what is left is still a prefix and a
//! suffix of the text, and never longer than what the plan alone keeps.

use memchr::{memchr, memrchr};
use unicode_segmentation::GraphemeCursor;

use crate::cut::Plan;
use crate::text;

const BELL: u8 = 0x07;
const ESCAPE: u8 = 0x1B;

/// What a lone surrogate is looked at as: one code point that is a control to graphemes, as surrogates are.
const STAND_IN: char = '\u{2028}';

/// What an edge of a cut stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// the boundary of an extended grapheme cluster (Unicode Standard Annex 29) that lies in no escape sequence
    Grapheme,
    /// the start of a line, or a grapheme boundary on a side that would keep the start of none
    Line,
}

impl Boundary {
    /// The plan with both edges moved inward to boundaries of the text that it was made for, in WTF-8.
    #[must_use]
    pub fn inward(self, plan: Plan, wtf8: &[u8]) -> Plan {
        let text = &*text::with_surrogates_as(wtf8, STAND_IN);
        let (gap_start, gap_end) = plan.gap();
        let start = text::nth_code_point(text.as_bytes(), gap_start);
        let end = start + text::nth_code_point(&text.as_bytes()[start..], gap_end - gap_start);
        let head_end = self.head_end(text, start);
        let tail_start = self.tail_start(text, end);
        plan.with_gap(
            gap_start - text::code_points(&text.as_bytes()[head_end..start]),
            gap_end + text::code_points(&text.as_bytes()[end..tail_start]),
        )
    }

    /// The last boundary at or before an edge.
    fn head_end(self, text: &str, edge: usize) -> usize {
        let line = match self {
            Self::Line => memrchr(b'\n', &text.as_bytes()[..edge]),
            Self::Grapheme => None,
        };
        // Whatever a line feed ends, a grapheme and an escape sequence end before it.
        line.map_or_else(|| before_sequence(text.as_bytes(), grapheme_at_or_before(text, edge)), |at| at + 1)
    }

    /// The first boundary at or behind an edge.
    fn tail_start(self, text: &str, edge: usize) -> usize {
        let line = match self {
            Self::Line => line_from(text.as_bytes(), edge),
            Self::Grapheme => None,
        };
        line.unwrap_or_else(|| grapheme_at_or_behind(text, behind_sequence(text.as_bytes(), edge)))
    }
}

/// The first start of a line at or behind an edge; a line feed that ends the text starts none.
fn line_from(text: &[u8], edge: usize) -> Option<usize> {
    let from = edge.saturating_sub(1);
    memchr(b'\n', &text[from..]).map(|at| from + at + 1).filter(|&start| start < text.len())
}

fn grapheme_at_or_before(text: &str, edge: usize) -> usize {
    let mut cursor = GraphemeCursor::new(edge, text.len(), true);
    if cursor.is_boundary(text, 0) == Ok(true) {
        return edge;
    }
    cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0)
}

fn grapheme_at_or_behind(text: &str, edge: usize) -> usize {
    let mut cursor = GraphemeCursor::new(edge, text.len(), true);
    if cursor.is_boundary(text, 0) == Ok(true) {
        return edge;
    }
    cursor.next_boundary(text, 0).ok().flatten().unwrap_or(text.len())
}

/// The edge, or the start of the escape sequence that it lies in. A grapheme always begins there.
fn before_sequence(text: &[u8], mut edge: usize) -> usize {
    // Twice at most: the terminator of a control string is an escape sequence of its own.
    while let Some((start, _)) = sequence_around(text, edge) {
        edge = start;
    }
    edge
}

/// The edge, or the end of the escape sequence that it lies in.
fn behind_sequence(text: &[u8], edge: usize) -> usize {
    sequence_around(text, edge).map_or(edge, |(_, end)| end)
}

/// The escape sequence that begins before an edge and ends behind it.
///
/// None has an escape inside but as the first byte of its terminator, so only the last one before the edge can begin it.
fn sequence_around(text: &[u8], edge: usize) -> Option<(usize, usize)> {
    let start = memrchr(ESCAPE, &text[..edge])?;
    let end = start + sequence_length(&text[start..]);
    (end > edge).then_some((start, end))
}

/// The length of the escape sequence (ECMA-48) that begins with the first byte.
///
/// A control sequence or control string without its end is none: then the escape and the byte behind it are one.
fn sequence_length(text: &[u8]) -> usize {
    let body = text.get(2..).unwrap_or_default();
    let longer = match text.get(1) {
        Some(b'[') => control_sequence(body),
        Some(b']' | b'P' | b'X' | b'^' | b'_') => control_string(body),
        _ => None,
    };
    longer.map_or_else(|| 1 + escape(&text[1..]).unwrap_or(0), |length| 2 + length)
}

/// The length of what follows `ESC [`: parameters, intermediate bytes and the final byte.
fn control_sequence(body: &[u8]) -> Option<usize> {
    let intermediates = run(body, |byte| matches!(byte, b'0'..=b'?'));
    let end = intermediates + run(&body[intermediates..], |byte| matches!(byte, b' '..=b'/'));
    matches!(body.get(end)?, b'@'..=b'~').then_some(end + 1)
}

/// The length of what follows `ESC ]` and its like: text without control characters up to BEL or `ESC \`.
fn control_string(body: &[u8]) -> Option<usize> {
    let end = run(body, |byte| byte >= b' ');
    match body[end..] {
        [BELL, ..] => Some(end + 1),
        [ESCAPE, b'\\', ..] => Some(end + 2),
        _ => None,
    }
}

/// The length of what follows ESC in any other sequence: intermediate bytes and the final byte.
fn escape(body: &[u8]) -> Option<usize> {
    let end = run(body, |byte| matches!(byte, b' '..=b'/'));
    matches!(body.get(end)?, b'0'..=b'~').then_some(end + 1)
}

/// How many bytes at the start are of a kind.
fn run(bytes: &[u8], of: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|&byte| !of(byte)).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_segmentation::UnicodeSegmentation;

    use super::*;
    use crate::cut::Budget;

    const FAMILY: &str = "👨\u{200d}👩\u{200d}👧"; // 5 code points

    /// The code points that a cut keeps before and behind its gap.
    fn kept(boundary: Boundary, text: &str, head: u64, tail: u64) -> (String, String) {
        let length = text::code_points(text.as_bytes());
        let budget = Budget::new((head + tail).max(1), head, tail, 0).unwrap();
        let plan = budget.plan(&[length]).unwrap().expect("the text is over the threshold");
        let (start, end) = boundary.inward(plan, text.as_bytes()).gap();
        let at = |n| text::nth_code_point(text.as_bytes(), n);
        (text[..at(start)].to_owned(), text[at(end)..].to_owned())
    }

    fn graphemes(text: &str, head: u64, tail: u64) -> (String, String) {
        kept(Boundary::Grapheme, text, head, tail)
    }

    fn lines(text: &str, head: u64, tail: u64) -> (String, String) {
        kept(Boundary::Line, text, head, tail)
    }

    fn pair(head: &str, tail: &str) -> (String, String) {
        (head.to_owned(), tail.to_owned())
    }

    #[test]
    fn edges_on_a_boundary_stay() {
        assert_eq!(graphemes("abcdefghij", 4, 3), pair("abcd", "hij"));
        assert_eq!(graphemes("abcdefghij", 0, 0), pair("", ""));
        assert_eq!(graphemes("a👍b漢c😀d", 2, 2), pair("a👍", "😀d"));
    }

    #[test]
    fn a_cluster_goes_whole() {
        let text = format!("ab{FAMILY}cdef{FAMILY}gh");
        assert_eq!(graphemes(&text, 4, 4), pair("ab", "gh"));
        assert_eq!(graphemes(&text, 7, 7), pair(&format!("ab{FAMILY}"), &format!("{FAMILY}gh")));
        assert_eq!(graphemes("ae\u{301}\u{301}bcdee\u{301}f", 2, 2), pair("a", "f"));
        assert_eq!(graphemes("a\r\nbcd\r\ne", 2, 2), pair("a", "e"));
        assert_eq!(graphemes("각\u{11a8}xyz각\u{11a8}", 1, 1), pair("", ""));
    }

    #[test]
    fn flags_are_paired_from_the_start_of_their_run() {
        // Four flags, eight regional indicators: an odd edge is inside a flag, an even one between two.
        let flags = "🇩🇪🇫🇷🇮🇹🇪🇸";
        assert_eq!(graphemes(flags, 3, 3), pair("🇩🇪", "🇪🇸"));
        assert_eq!(graphemes(flags, 2, 4), pair("🇩🇪", "🇮🇹🇪🇸"));
    }

    #[test]
    fn one_cluster_that_is_longer_than_head_and_tail_goes_with_both() {
        let text = "e".to_owned() + &"\u{301}".repeat(50_000);
        assert_eq!(graphemes(&text, 4096, 1024), pair("", ""));
    }

    #[test]
    fn a_sequence_of_a_terminal_goes_whole() {
        for sequence in [
            "\x1b[31m",
            "\x1b[?25;7 q",
            "\x1b]0;title\x07",
            "\x1b]8;;http://é\x1b\\",
            "\x1bPq#0\x1b\\",
            "\x1bM",
            "\x1b(B",
        ] {
            let length = text::code_points(sequence.as_bytes());
            let text = format!("ab{sequence}cdefg{sequence}hi");
            for inside in 1..length {
                assert_eq!(graphemes(&text, 2 + inside, 2 + inside), pair("ab", "hi"), "{sequence:?}, {inside}");
            }
            let whole = (format!("ab{sequence}"), format!("{sequence}hi"));
            assert_eq!(graphemes(&text, 2 + length, 2 + length), whole, "{sequence:?}");
        }
    }

    #[test]
    fn a_mark_on_the_last_character_of_a_sequence_goes_with_it() {
        assert_eq!(graphemes("ab\x1b[1m\u{301}cdefg", 6, 0), pair("ab", ""));
        assert_eq!(graphemes("abcdef\x1b[1m\u{301}g", 0, 3), pair("", "g"));
    }

    #[test]
    fn what_has_no_end_is_no_sequence() {
        // ESC and the byte behind it stay together, the rest is text.
        assert_eq!(graphemes("a\x1b[31\nbcdefg", 4, 0), pair("a\x1b[3", ""));
        assert_eq!(graphemes("a\x1b[31\nbcdefg", 2, 0), pair("a", ""));
        assert_eq!(graphemes("a\x1b]0;title\nbcdefg", 6, 0), pair("a\x1b]0;t", ""));
        assert_eq!(graphemes("a\x1b漢bcdefg", 2, 0), pair("a\x1b", ""));
        assert_eq!(graphemes("abcdefg\x1b", 0, 1), pair("", "\x1b"));
        assert_eq!(graphemes("abcdefg\x1b[", 0, 1), pair("", ""));
    }

    #[test]
    fn lines_stay_whole() {
        assert_eq!(lines("one\ntwo\nthree\nfour\nfive\n", 9, 7), pair("one\ntwo\n", "five\n"));
        // Edges right behind a line feed stand where they should.
        assert_eq!(lines("one\ntwo\nthree\nfour\nfive\n", 8, 10), pair("one\ntwo\n", "four\nfive\n"));
        assert_eq!(lines("one\r\ntwo\r\nthree\r\nfour", 6, 5), pair("one\r\n", "four"));
    }

    #[test]
    fn a_side_that_would_keep_the_start_of_no_line_is_cut_between_graphemes() {
        assert_eq!(lines("a long line that is FAILED", 6, 6), pair("a long", "FAILED"));
        assert_eq!(lines("a long line that is FAILED\n", 6, 7), pair("a long", "FAILED\n"));
        assert_eq!(lines("one\nand one long line e\u{301}", 6, 1), pair("one\n", ""));
        assert_eq!(lines("one\ntwo\n", 0, 0), pair("", ""));
    }

    #[test]
    fn lone_surrogates_are_controls() {
        // An accent behind one is no part of it, nor is a joiner: the edges stay.
        let wtf8 = b"\xED\xA0\xBD\xCC\x81abcdef\xE2\x80\x8D\xED\xB8\x80";
        let plan = Budget::new(2, 1, 1, 0).unwrap().plan(&[10]).unwrap().unwrap();
        assert_eq!(Boundary::Grapheme.inward(plan, wtf8), plan);
    }

    /// Text of every class that the rules about clusters tell apart, and of what escape sequences are made of.
    fn text_of_all_classes() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            "[\r\n\u{7}\u{1b}]",
            "[a\u{301}\u{308}\u{200d}\u{200c}\u{903}\u{600}\u{fe0f}\u{2028}]",
            "[\u{1f1e9}\u{1f1ea}😀👨👩❤\u{1f3fb}]",
            "[\u{1100}\u{1161}\u{11a8}각가]",
            "[\u{915}\u{937}\u{94d}\u{93c}\u{ad0}\u{acd}]",
            "\u{1b}[\\[\\]P\\\\(0-9;mB~]{0,4}",
            any::<char>().prop_map(String::from),
        ];
        proptest::collection::vec(piece, 2..60).prop_map(|pieces| pieces.concat())
    }

    /// Where no escape sequence is parted, found from the start of the text on.
    fn between_sequences(text: &str) -> Vec<bool> {
        let mut between = vec![true; text.len() + 1];
        let mut at = 0;
        while at < text.len() {
            let length = if text.as_bytes()[at] == ESCAPE { sequence_length(&text.as_bytes()[at..]) } else { 1 };
            between[at + 1..at + length].fill(false);
            at += length;
        }
        between
    }

    proptest! {
        #[test]
        fn each_edge_is_the_nearest_boundary_inward(text in text_of_all_classes(), (head, tail) in (0_u64..80, 0_u64..80)) {
            let length = text::code_points(text.as_bytes());
            let head = head.min(length - 1);
            let tail = tail.min(length - 1 - head);
            let mut boundaries: Vec<usize> = text.grapheme_indices(true).map(|(at, _)| at).collect();
            boundaries.push(text.len());
            let between = between_sequences(&text);
            boundaries.retain(|&at| between[at]);
            let start = text::nth_code_point(text.as_bytes(), head);
            let end = text::nth_code_point(text.as_bytes(), length - tail);
            let head_end = *boundaries.iter().rfind(|&&at| at <= start).unwrap();
            let tail_start = *boundaries.iter().find(|&&at| at >= end).unwrap();
            prop_assert_eq!(graphemes(&text, head, tail), pair(&text[..head_end], &text[tail_start..]));
            let starts: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
            prop_assert!(starts.iter().all(|at| boundaries.contains(at)), "a line begins on a boundary");
            let head_end = starts.iter().rfind(|&&at| at <= start).map_or(head_end, |&at| at);
            let tail_start = starts.iter().find(|&&at| at >= end && at < text.len()).map_or(tail_start, |&at| at);
            prop_assert_eq!(lines(&text, head, tail), pair(&text[..head_end], &text[tail_start..]));
        }
    }
}
