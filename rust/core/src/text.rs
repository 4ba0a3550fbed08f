//! Code points and UTF-16 units of UTF-8, in bulk, and the cut of UTF-8 blocks.
//!
//! The counts look at lead bytes alone, so they take WTF-8 too (UTF-8 that may hold lone surrogates) and never fail:
//! over other bytes they count every byte that is no continuation byte.

use std::borrow::Cow;

use crate::boundary::Boundary;
use crate::cut::{Budget, BudgetError, Marker};

/// Bytes whose counts, 2 each at most, are summed in a `u8`: so the loop over them stays one of whole vectors of bytes.
const CHUNK: usize = 112;

/// The number of code points in UTF-8.
#[must_use]
pub fn code_points(utf8: &[u8]) -> u64 {
    count(utf8, |byte| u8::from(is_lead(byte)))
}

/// The length of UTF-8 text in UTF-16 units: 2 for a code point of four bytes, 1 for any other.
#[must_use]
pub fn utf16_units(utf8: &[u8]) -> u64 {
    count(utf8, |byte| u8::from(is_lead(byte)) + u8::from(byte >= 0xF0))
}

/// The byte offset of the `n`-th code point, from 0; the length of `utf8` when it has no more than `n`.
#[must_use]
pub fn nth_code_point(utf8: &[u8], n: u64) -> usize {
    let mut before = 0;
    let mut start = 0;
    for chunk in utf8.chunks(CHUNK) {
        let through = before + code_points(chunk);
        if through > n {
            break;
        }
        before = through;
        start += chunk.len();
    }
    for (offset, &byte) in utf8[start..].iter().enumerate() {
        if is_lead(byte) {
            if before == n {
                return start + offset;
            }
            before += 1;
        }
    }
    utf8.len()
}

/// Cuts the text blocks of one result: one text a block, in order, or `None` when they are within the budget.
///
/// The marker's text is the one that the budget was made for. With a boundary, both edges of the cut move inward to one.
/// An empty text stands for a block to drop.
///
/// # Errors
/// [`BudgetError::TooLong`], as in [`Budget::plan`].
pub fn cut(
    blocks: &[&str],
    budget: &Budget,
    boundary: Option<Boundary>,
    marker: Marker<'_>,
) -> Result<Option<Vec<String>>, BudgetError> {
    let lengths: Vec<u64> = blocks.iter().map(|block| code_points(block.as_bytes())).collect();
    let Some(plan) = budget.plan(&lengths)? else { return Ok(None) };
    let plan = boundary.map_or(plan, |boundary| boundary.inward(plan, blocks.concat().as_bytes()));
    let numbered = marker.numbered.and_then(|(before, behind)| {
        let words = code_points(before.as_bytes()) + code_points(behind.as_bytes());
        Some([before, &budget.number(&plan, words)?, behind].concat())
    });
    let marker = numbered.as_deref().unwrap_or(marker.text);
    let cut = blocks.iter().zip(plan.pieces(&lengths)).map(|(block, piece)| {
        let head_end = nth_code_point(block.as_bytes(), piece.head_end);
        let rest = &block[head_end..];
        let tail_start = nth_code_point(rest.as_bytes(), piece.tail_start - piece.head_end);
        let marker = if piece.marker { marker } else { "" };
        [&block[..head_end], marker, &rest[tail_start..]].concat()
    });
    Ok(Some(cut.collect()))
}

/// WTF-8 as UTF-8, which has no form for a lone surrogate: `stand_in` is put for each.
#[must_use]
pub fn with_surrogates_as(wtf8: &[u8], stand_in: char) -> Cow<'_, str> {
    if let Ok(utf8) = std::str::from_utf8(wtf8) {
        return Cow::Borrowed(utf8);
    }
    let mut text = String::with_capacity(wtf8.len());
    for chunk in wtf8.utf8_chunks() {
        text.push_str(chunk.valid());
        // Each of a surrogate's three bytes is invalid by itself, and the first stands for all.
        if chunk.invalid().first() == Some(&0xED) {
            text.push(stand_in);
        }
    }
    Cow::Owned(text)
}

/// Whether a byte begins a code point: any but `10xxxxxx`.
const fn is_lead(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

/// The sum over all bytes of `of`, which is 2 at most.
fn count(bytes: &[u8], of: impl Fn(u8) -> u8) -> u64 {
    let (chunks, rest) = bytes.as_chunks::<CHUNK>();
    let sum = |bytes: &[u8]| u64::from(bytes.iter().map(|&byte| of(byte)).sum::<u8>());
    chunks.iter().map(|chunk| sum(chunk)).sum::<u64>() + sum(rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FAMILY: &str = "👨\u{200d}👩\u{200d}👧"; // 5 code points, 18 bytes, 8 units
    const ELLIPSIS: Marker<'_> = plain("…");

    const fn plain(text: &str) -> Marker<'_> {
        Marker { text, numbered: None }
    }

    #[test]
    fn each_length_of_utf8_counts_one_code_point_and_four_bytes_count_two_units() {
        let text = "aé漢😀"; // 1, 2, 3 and 4 bytes
        assert_eq!((code_points(text.as_bytes()), utf16_units(text.as_bytes())), (4, 5));
        assert_eq!((code_points(FAMILY.as_bytes()), utf16_units(FAMILY.as_bytes())), (5, 8));
        assert_eq!((code_points(b""), utf16_units(b"")), (0, 0));
    }

    #[test]
    fn the_most_units_that_a_chunk_can_hold_are_counted() {
        // Not text, but bytes of the largest count: 2 each.
        assert_eq!(utf16_units(&[0xF0; CHUNK]), 2 * CHUNK as u64);
        assert_eq!(utf16_units("😀".repeat(1000).as_bytes()), 2000);
    }

    #[test]
    fn a_lone_surrogate_in_wtf8_counts_one_and_one() {
        assert_eq!((code_points(b"\xED\xA0\xBD"), utf16_units(b"\xED\xA0\xBD")), (1, 1));
    }

    #[test]
    fn the_nth_code_point_is_found_in_the_first_chunk_and_behind_many() {
        assert_eq!([0, 1, 2, 3, 4, 5].map(|n| nth_code_point("aé漢😀".as_bytes(), n)), [0, 1, 3, 6, 10, 10]);
        let han = "漢".repeat(1000);
        assert_eq!(nth_code_point(han.as_bytes(), 37), 111); // begins in the first chunk, ends in the second
        assert_eq!(nth_code_point(han.as_bytes(), 38), 114);
        assert_eq!(nth_code_point(han.as_bytes(), 999), 2997);
        assert_eq!(nth_code_point(han.as_bytes(), 1000), 3000);
        assert_eq!(nth_code_point(han.as_bytes(), u64::MAX), 3000);
    }

    #[test]
    fn a_code_point_over_a_chunk_edge_is_counted_once_and_found_whole() {
        let text = "a".repeat(CHUNK - 1) + "😀b";
        assert_eq!(code_points(text.as_bytes()), CHUNK as u64 + 1);
        assert_eq!(nth_code_point(text.as_bytes(), CHUNK as u64 - 1), CHUNK - 1);
        assert_eq!(nth_code_point(text.as_bytes(), CHUNK as u64), CHUNK + 3);
    }

    #[test]
    fn the_middle_goes_and_the_marker_stands_for_it() {
        let budget = Budget::new(6, 2, 1, 1).unwrap();
        assert_eq!(cut(&["😀é漢bcdé"], &budget, None, ELLIPSIS).unwrap().unwrap(), ["😀é…é"]);
        assert_eq!(cut(&["😀é漢bcé"], &budget, None, ELLIPSIS), Ok(None));
    }

    #[test]
    fn blocks_left_without_text_come_back_empty() {
        let budget = Budget::new(6, 2, 1, 1).unwrap();
        let cut = cut(&["ab", "", "cde", "fgh", "", "i"], &budget, None, ELLIPSIS).unwrap().unwrap();
        assert_eq!(cut, ["ab", "", "…", "", "", "i"]);
    }

    #[test]
    fn a_boundary_moves_both_edges_over_all_blocks() {
        // A family lies over the head's edge and two blocks, e and its accent over the tail's.
        let budget = Budget::new(9, 4, 2, 1).unwrap();
        let blocks = ["ab👨\u{200d}👩", "\u{200d}👧cdefe", "\u{301}g"];
        let cut = cut(&blocks, &budget, Some(Boundary::Grapheme), ELLIPSIS).unwrap().unwrap();
        assert_eq!(cut, ["ab…", "", "g"]);
    }

    #[test]
    fn a_marker_with_a_number_stands_where_it_fits() {
        let numbered = Marker { text: "…", numbered: Some(("[", " gone]")) };
        let thirteen = Budget::new(13, 2, 2, 1).unwrap();
        // 16 - 4 = 12 go: 4 and the marker's 9 are the 13 of the threshold.
        assert_eq!(cut(&["0123456789abcdef"], &thirteen, None, numbered).unwrap().unwrap(), ["01[12 gone]ef"]);
        // 104 - 4 = 100 go, of one digit more.
        assert_eq!(cut(&["0123".repeat(26).as_str()], &thirteen, None, numbered).unwrap().unwrap(), ["01…23"]);
        // The number is of the gap after its edges moved.
        let text = "0e\u{301}3456789abcdef";
        assert_eq!(cut(&[text], &thirteen, Some(Boundary::Grapheme), numbered).unwrap().unwrap(), ["0[13 gone]ef"]);
    }

    #[test]
    fn a_stand_in_is_put_for_each_lone_surrogate() {
        assert!(matches!(with_surrogates_as("é😀".as_bytes(), '?'), Cow::Borrowed("é😀")));
        assert_eq!(with_surrogates_as(b"a\xED\xA0\xBD\xED\xB8\x80\xC3\xA9\xED\xBF\xBF", '?'), "a??é?");
    }

    proptest! {
        #[test]
        fn counts_and_offsets_are_those_of_std(text: String, repeat in 1_usize..40) {
            let text = text.repeat(repeat);
            prop_assert_eq!(code_points(text.as_bytes()), text.chars().count() as u64);
            prop_assert_eq!(utf16_units(text.as_bytes()), text.encode_utf16().count() as u64);
            for (n, (offset, _)) in text.char_indices().enumerate() {
                prop_assert_eq!(nth_code_point(text.as_bytes(), n as u64), offset);
            }
        }

        #[test]
        fn a_cut_leaves_head_marker_and_tail_and_a_second_pass_nothing_to_do(
            blocks in proptest::collection::vec(".{0,12}", 0..6),
            (head, tail, slack) in (0_u64..8, 0_u64..8, 0_u64..8),
            marker in ".{0,5}",
        ) {
            let marker_length = code_points(marker.as_bytes());
            let threshold = (head + marker_length + tail + slack).max(1);
            let budget = Budget::new(threshold, head, tail, marker_length).unwrap();
            let blocks: Vec<&str> = blocks.iter().map(String::as_str).collect();
            let whole: Vec<char> = blocks.concat().chars().collect();
            match cut(&blocks, &budget, None, plain(&marker)).unwrap() {
                None => prop_assert!(whole.len() as u64 <= threshold),
                Some(after) => {
                    prop_assert!(whole.len() as u64 > threshold);
                    let (head, tail) = (usize::try_from(head).unwrap(), usize::try_from(tail).unwrap());
                    let kept: String = whole[..head].iter().chain(&whole[whole.len() - tail..]).collect();
                    let (first, last) = kept.split_at(nth_code_point(kept.as_bytes(), head as u64));
                    prop_assert_eq!(after.concat(), format!("{first}{marker}{last}"));
                    let again: Vec<&str> = after.iter().map(String::as_str).collect();
                    prop_assert_eq!(cut(&again, &budget, None, plain(&marker)), Ok(None));
                }
            }
        }
    }
}
