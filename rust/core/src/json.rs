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
            '\0'..'\u{20}' => raw.push_str(&format!("\\u{:04x}", u32::from(character))),
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
