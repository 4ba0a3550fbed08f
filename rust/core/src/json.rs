//! Counting and cutting a raw JSON string: the bytes between its quotes as they stand in a log, escapes and all.
//!
//! The counts are those of the decoded string: an escape is 1 code point, a surrogate pair written as two escapes is 1
//! (and 2 UTF-16 units), a lone surrogate is 1 (and 1). Nothing is decoded to find them, since each escape is ASCII:
//! the counts of the bytes as they stand, less what every escape is longer than what it stands for.
//!
//! The bytes should be valid inside a JSON string. Over any others every function still returns and they still agree
//! with each other: a `\u` without four hexadecimal digits or before an unknown letter stands for that letter, a `\`
//! at the end or before a byte that is not ASCII for itself, and bytes that are no UTF-8 count as in [`crate::text`].

use std::borrow::Cow;

use memchr::memchr;

use crate::cut::{Budget, BudgetError};
use crate::text;

/// The number of code points in the decoded string.
#[must_use]
pub fn code_points(raw: &[u8]) -> u64 {
    Escapes::of(raw).fold(text::code_points(raw), |count, escape| count - escape.length() + 1)
}

/// The length of the decoded string in UTF-16 units.
#[must_use]
pub fn utf16_units(raw: &[u8]) -> u64 {
    Escapes::of(raw).fold(text::utf16_units(raw), |units, escape| units - escape.length() + escape.utf16_units())
}

/// The byte offset of the `n`-th code point of the decoded string, from 0; `raw.len()` when it has no more than `n`.
#[must_use]
pub fn nth_code_point(raw: &[u8], mut n: u64) -> usize {
    let mut start = 0;
    for escape in Escapes::of(raw) {
        let plain = &raw[start..escape.start];
        let count = text::code_points(plain);
        if n < count {
            return start + text::nth_code_point(plain, n);
        }
        if n == count {
            return escape.start;
        }
        n -= count + 1;
        start = escape.end;
    }
    start + text::nth_code_point(&raw[start..], n)
}

/// The decoded string in WTF-8, that is UTF-8 in which a lone surrogate has the three bytes that its number would get.
///
/// Borrowed when there is nothing to decode.
#[must_use]
pub fn unescape(raw: &[u8]) -> Cow<'_, [u8]> {
    if memchr(b'\\', raw).is_none() {
        return Cow::Borrowed(raw);
    }
    // No escape is shorter than what it stands for.
    let mut decoded = Vec::with_capacity(raw.len());
    let mut start = 0;
    for escape in Escapes::of(raw) {
        decoded.extend_from_slice(&raw[start..escape.start]);
        push_wtf8(&mut decoded, escape.stands_for);
        start = escape.end;
    }
    decoded.extend_from_slice(&raw[start..]);
    Cow::Owned(decoded)
}

/// Cuts the text blocks of one result, given as raw JSON strings: one raw string a block, in order, or `None` when they
/// are within the budget.
///
/// `marker` is the one that the budget was made for, as text; it is written as `JSON.stringify` writes it. What is kept
/// keeps its escapes. An empty string stands for a block to drop.
///
/// # Errors
/// [`BudgetError::TooLong`], as in [`Budget::plan`].
pub fn cut(blocks: &[&[u8]], budget: &Budget, marker: &str) -> Result<Option<Vec<Vec<u8>>>, BudgetError> {
    let lengths: Vec<u64> = blocks.iter().map(|raw| code_points(raw)).collect();
    let Some(plan) = budget.plan(&lengths)? else { return Ok(None) };
    let marker = escape(marker);
    let cut = blocks.iter().zip(plan.pieces(&lengths)).map(|(raw, piece)| {
        let (head, rest) = raw.split_at(nth_code_point(raw, piece.head_end));
        let tail = &rest[nth_code_point(rest, piece.tail_start - piece.head_end)..];
        let marker = if piece.marker { marker.as_bytes() } else { b"" };
        [head, marker, tail].concat()
    });
    Ok(Some(cut.collect()))
}

/// A text as a raw JSON string, with the shortest escape of what must be escaped, as in `JSON.stringify`.
fn escape(text: &str) -> String {
    let mut raw = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' => raw.push_str("\\\""),
            '\\' => raw.push_str("\\\\"),
            '\n' => raw.push_str("\\n"),
            '\r' => raw.push_str("\\r"),
            '\t' => raw.push_str("\\t"),
            '\u{8}' => raw.push_str("\\b"),
            '\u{c}' => raw.push_str("\\f"),
            '\0'..'\u{20}' => raw.extend([format!("\\u{:04x}", u32::from(character))]),
            _ => raw.push(character),
        }
    }
    raw
}

/// Where an escape stands, `[start, end)` in bytes, and the code point that it stands for, surrogates included.
struct Escape {
    start: usize,
    end: usize,
    stands_for: u32,
}

impl Escape {
    fn length(&self) -> u64 {
        (self.end - self.start) as u64
    }

    fn utf16_units(&self) -> u64 {
        if self.stands_for > 0xFFFF { 2 } else { 1 }
    }
}

/// The escapes of a raw JSON string in order; two that make a surrogate pair are one.
struct Escapes<'a> {
    raw: &'a [u8],
    from: usize,
}

impl<'a> Escapes<'a> {
    fn of(raw: &'a [u8]) -> Self {
        Self { raw, from: 0 }
    }
}

impl Iterator for Escapes<'_> {
    type Item = Escape;

    #[inline]
    fn next(&mut self) -> Option<Escape> {
        let start = self.from + memchr(b'\\', &self.raw[self.from..])?;
        let (length, stands_for) = match self.raw.get(start + 1) {
            Some(b'u') => unicode_escape(&self.raw[start..]),
            Some(&letter) if letter.is_ascii() => (2, short_escape(letter)),
            _ => (1, u32::from(b'\\')),
        };
        self.from = start + length;
        Some(Escape { start, end: self.from, stands_for })
    }
}

/// What a backslash before this letter stands for; the letter itself for `"`, `\`, `/` and whatever JSON does not know.
fn short_escape(letter: u8) -> u32 {
    u32::from(match letter {
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        other => other,
    })
}

/// The length of the `\u` escape at the start of `raw`, with the second of a pair, and the code point it stands for.
fn unicode_escape(raw: &[u8]) -> (usize, u32) {
    let Some(first) = hex_escape(raw) else { return (2, u32::from(b'u')) };
    if (0xD800..0xDC00).contains(&first)
        && let Some(second @ 0xDC00..0xE000) = hex_escape(&raw[6..])
    {
        return (12, 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00));
    }
    (6, first)
}

/// The number in `\uXXXX` at the start of `raw`.
fn hex_escape(raw: &[u8]) -> Option<u32> {
    let digits = raw.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |number, &digit| Some(number << 4 | char::from(digit).to_digit(16)?))
}

/// Appends a code point in WTF-8; `char` refuses surrogates, so their three bytes are written out.
fn push_wtf8(wtf8: &mut Vec<u8>, code_point: u32) {
    if let Some(character) = char::from_u32(code_point) {
        wtf8.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    } else {
        let [.., high, low] = code_point.to_be_bytes();
        wtf8.extend_from_slice(&[0xED, 0x80 | (high & 0x0F) << 2 | low >> 6, 0x80 | low & 0x3F]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cut::Marker;

    fn counts(raw: &str) -> (u64, u64) {
        (code_points(raw.as_bytes()), utf16_units(raw.as_bytes()))
    }

    #[test]
    fn an_escape_is_one_code_point_and_a_pair_of_surrogate_escapes_is_one_of_two_units() {
        assert_eq!(counts(""), (0, 0));
        assert_eq!(counts(r#"a\n\"\\\/\b\f\r\t\u00e9"#), (10, 10));
        assert_eq!(counts(r"\\n"), (2, 2)); // a backslash and an n
        assert_eq!(counts(r"\\\\u0041"), (7, 7)); // two backslashes and u0041
        assert_eq!(counts(r"\ud83d\ude00"), (1, 2));
        assert_eq!(counts(r"\uD83D\uDE00😀"), (2, 4));
    }

    #[test]
    fn lone_surrogates_count_one_and_one() {
        assert_eq!(counts(r"\ud83d"), (1, 1));
        assert_eq!(counts(r"\ude00\ud83d"), (2, 2)); // the wrong way round
        assert_eq!(counts(r"\ud83d\ud83d\ude00"), (2, 3)); // a lone one before a pair
        assert_eq!(counts(r"\ud83d\\ude00"), (7, 7)); // an escaped backslash, then ude00
        assert_eq!(counts(r"\ud83d \ude00"), (3, 3));
        assert_eq!(counts(&r"\udfff".repeat(8193)), (8193, 8193));
    }

    #[test]
    fn the_nth_code_point_starts_at_an_escape_and_never_inside_one() {
        let raw = r"a\né\ud83d\ude00\ud83db"; // offsets 0, 1, 3, 5, 17, 23; 24 bytes
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(|n| nth_code_point(raw.as_bytes(), n)), [0, 1, 3, 5, 17, 23, 24, 24]);
        assert_eq!(nth_code_point(raw.as_bytes(), u64::MAX), 24);
    }

    #[test]
    fn decoding_gives_wtf8_and_borrows_what_has_no_escape() {
        assert!(matches!(unescape("aé😀".as_bytes()), Cow::Borrowed(b"a\xC3\xA9\xF0\x9F\x98\x80")));
        assert_eq!(*unescape(br#"\"\\\/\b\f\n\r\t"#), *b"\"\\/\x08\x0C\n\r\t");
        assert_eq!(*unescape(br"\u00E9\ud83d\ude00\u0000"), *b"\xC3\xA9\xF0\x9F\x98\x80\0");
        assert_eq!(*unescape(br"x\ud800\udfff\udbff"), *b"x\xF0\x90\x8F\xBF\xED\xAF\xBF");
        assert_eq!(*unescape(br"\udc00"), *b"\xED\xB0\x80");
    }

    #[test]
    fn what_is_no_json_string_still_has_an_end() {
        assert_eq!(*unescape(br"\"), *br"\");
        assert_eq!(*unescape(br"\u12"), *b"u12");
        assert_eq!(*unescape(br"\ud83d\u"), *b"\xED\xA0\xBDu");
        assert_eq!(*unescape("\\é".as_bytes()), *"\\é".as_bytes());
    }

    #[test]
    fn the_middle_of_a_raw_string_goes_and_the_escapes_that_stay_stay_as_they_were() {
        let budget = Budget::new(7, 2, 1, 3).unwrap();
        let raw: &[u8] = br"\ud83d\ude00\u00e9abcdefgh\ud83d";
        assert_eq!(cut(&[raw], &budget, "\n\u{1b}\"").unwrap().unwrap(), [br#"\ud83d\ude00\u00e9\n\u001b\"\ud83d"#]);
        assert_eq!(cut(&[br"\n\n\n\n\n\n\n"], &budget, "\n\u{1b}\""), Ok(None));
    }

    /// A character, and which of its escapes to write.
    fn characters() -> impl Strategy<Value = Vec<(char, u8)>> {
        let character = prop_oneof![any::<char>(), prop::char::range('\0', '\u{7f}'), Just('\u{200d}'), Just('\\')];
        proptest::collection::vec((character, any::<u8>()), 0..80)
    }

    fn text_of(characters: &[(char, u8)]) -> String {
        characters.iter().map(|&(character, _)| character).collect()
    }

    /// A text as a raw JSON string: each character as it is where that is allowed, in its short escape where it has
    /// one, or as `\uXXXX` in digits of either case.
    fn raw_of(characters: &[(char, u8)]) -> String {
        let mut raw = String::new();
        for &(character, choice) in characters {
            match choice % 3 {
                0 if character == '/' => raw.push_str("\\/"),
                0 => raw.push_str(&escape(&character.to_string())),
                1 => raw.extend(character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}"))),
                _ => raw.extend(character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04X}"))),
            }
        }
        raw
    }

    proptest! {
        #[test]
        fn any_spelling_counts_and_decodes_as_the_text_that_serde_reads(characters in characters()) {
            let (text, raw) = (text_of(&characters), raw_of(&characters));
            let read: String = serde_json::from_str(&format!("\"{raw}\"")).unwrap();
            prop_assert_eq!(&read, &text);
            prop_assert_eq!(counts(&raw), (text.chars().count() as u64, text.encode_utf16().count() as u64));
            prop_assert_eq!(&*unescape(raw.as_bytes()), text.as_bytes());
            for n in 0..=text.chars().count() {
                let decoded = unescape(&raw.as_bytes()[nth_code_point(raw.as_bytes(), n as u64)..]).into_owned();
                prop_assert_eq!(String::from_utf8(decoded).unwrap(), text.chars().skip(n).collect::<String>());
            }
        }

        #[test]
        fn a_raw_cut_is_the_cut_of_the_text(
            blocks in proptest::collection::vec(characters(), 0..5),
            (head, tail, slack) in (0_u64..60, 0_u64..60, 0_u64..60),
            marker in ".{0,5}",
        ) {
            let marker_length = text::code_points(marker.as_bytes());
            let budget = Budget::new((head + marker_length + tail + slack).max(1), head, tail, marker_length).unwrap();
            let texts: Vec<String> = blocks.iter().map(|block| text_of(block)).collect();
            let raws: Vec<String> = blocks.iter().map(|block| raw_of(block)).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let raws: Vec<&[u8]> = raws.iter().map(String::as_bytes).collect();
            let decoded = cut(&raws, &budget, &marker).unwrap().map(|after| {
                after.iter().map(|raw| String::from_utf8(unescape(raw).into_owned()).unwrap()).collect::<Vec<_>>()
            });
            prop_assert_eq!(decoded, text::cut(&texts, &budget, None, Marker { text: &marker, numbered: None }).unwrap());
        }

        #[test]
        fn over_any_bytes_the_functions_return_and_agree(
            raw in proptest::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(&b"\\\\uuddDD8cC0"[..])], 0..60),
        ) {
            let decoded = unescape(&raw);
            prop_assert_eq!(code_points(&raw), text::code_points(&decoded));
            prop_assert_eq!(utf16_units(&raw), text::utf16_units(&decoded));
            for n in 0..code_points(&raw) {
                let offset = nth_code_point(&raw, n);
                prop_assert!(offset < nth_code_point(&raw, n + 1));
                prop_assert_eq!(code_points(&raw[offset..]), code_points(&raw) - n);
            }
            prop_assert_eq!(nth_code_point(&raw, code_points(&raw)), raw.len());
        }
    }
}
