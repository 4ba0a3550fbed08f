//! What one pass over the bytes of a JSON line says of its structure, before anything is parsed.
//!
//! The pass finds the *tokens* (operators, the opening quote of every string, the first byte of every other scalar)
//! and marks, in bitmaps with one bit a byte, which bytes of a string add no code point and which add a second UTF-16
//! unit. Counting a string of any length is then a population count, and walking the line touches its tokens alone.
//! The method is that of Langdale and Lemire, "Parsing gigabytes of JSON per second" (VLDB Journal 28, 2019),
//! restarted at each line so that a bad line cannot spoil the next.
//!
//! A line may be given in windows, so that one of any length is read in bounded memory. This file holds the state and
//! the plain reader of blocks; `simd.rs` holds its vector twin, which must agree with it to the bit.

use crate::simd::Vectors;

/// Bytes in a block: one bit each in the words of the bitmaps.
pub const BLOCK: usize = 64;

/// Bytes that must be readable before a line's first byte: the vector pass looks back over an unfinished UTF-8
/// sequence.
pub const MARGIN: usize = BLOCK;

/// Why a pass over a line's bytes found it broken, before any parsing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    /// A byte sequence that is not UTF-8.
    pub utf8: bool,
    /// An unknown escape, a bad `\u`, or a control character inside a string.
    pub string: bool,
}

/// Where a pass over a line stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// At the line's end: the offset of its newline from the base.
    Newline(usize),
    /// Before the window's last, incomplete block: bytes read from the base.
    Window(usize),
}

/// What the blocks before the next one leave behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Carry {
    /// 1 when the next byte is escaped by a backslash.
    pub escaped: u64,
    /// All ones inside a string, else 0.
    pub in_string: u64,
    /// 1 when the last byte belongs to a scalar that is no string.
    pub in_scalar: u64,
    /// One bit for each of the last three bytes that is no ASCII: a UTF-8 sequence may be unfinished.
    pub multibyte: u64,
    /// Where `\u` escapes stood in the last block.
    pub unicode: UnicodeCarry,
    /// Not 0 when a `\u` escape of the last block reaches into the next, or may pair with one there.
    pub unicode_open: u64,
    /// Whether the line has a `\u` escape.
    pub has_unicode: bool,
    /// Whether any byte of the line was read.
    pub started: bool,
}

/// The masks of one block that the next one shifts in, for `\uXXXX` escapes and their surrogate pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnicodeCarry {
    /// the `u` of each escape
    pub u: u64,
    /// each `d` or `D`
    pub d: u64,
    /// second hexadecimal digit of each high surrogate
    pub high: u64,
    /// the `u` of each escape that follows a high surrogate directly
    pub pair: u64,
}

/// The structure of one line, or of the window of it that was read last. Positions count from the base.
#[derive(Debug)]
pub struct Structure {
    /// Positions of the tokens; behind the last stand two more that point at the line's newline.
    pub(crate) tokens: Vec<u32>,
    /// How many tokens there are, the two behind them apart.
    pub(crate) count: usize,
    /// One bit a byte that adds no code point to the string it stands in.
    pub(crate) dropped: Vec<u64>,
    /// One bit for each code point that is two UTF-16 units.
    pub(crate) astral: Vec<u64>,
    /// Blocks read since the base.
    pub(crate) blocks: usize,
    pub(crate) carry: Carry,
    pub(crate) faults: Faults,
    vectors: Vectors,
}

impl Default for Structure {
    fn default() -> Self {
        Self::new()
    }
}

impl Structure {
    /// An empty structure that reads with the widest vectors this processor has.
    #[must_use]
    pub fn new() -> Self {
        Self::with(Vectors::available().pop().unwrap_or(Vectors::None))
    }

    /// An empty structure that reads byte by byte, as every processor can: the reference for the vector passes.
    #[must_use]
    pub fn plain() -> Self {
        Self::with(Vectors::None)
    }

    pub(crate) fn with(vectors: Vectors) -> Self {
        Self {
            tokens: vec![0; 32 * 1024],
            count: 0,
            dropped: vec![0; 1024],
            astral: vec![0; 1024],
            blocks: 0,
            carry: Carry::default(),
            faults: Faults::default(),
            vectors,
        }
    }

    /// Forget the line before.
    pub fn start_line(&mut self) {
        self.count = 0;
        self.blocks = 0;
        self.carry = Carry::default();
        self.faults = Faults::default();
    }

    /// Read on in the line whose base is `buffer[base]`, up to its newline or to the last whole block before `end`.
    ///
    /// # Panics
    /// When `base` is less than [`MARGIN`], fewer than [`BLOCK`] bytes lie behind `end`, or the buffer has 4 GiB or
    /// more.
    pub fn read(&mut self, buffer: &[u8], base: usize, end: usize) -> Stop {
        assert!(base >= MARGIN && end + BLOCK <= buffer.len() && u32::try_from(end).is_ok());
        assert!(base + self.blocks * BLOCK <= end, "what was read before lies in the buffer");
        let stop = match self.vectors.read(self, buffer, base, end) {
            Some(stop) => stop,
            None => read_plain(self, buffer, base, end),
        };
        let last = match stop {
            Stop::Newline(length) | Stop::Window(length) => length,
        };
        // Two behind the last: a reader may look one token ahead of the one it is at.
        self.reserve_tokens(2);
        for slot in &mut self.tokens[self.count..self.count + 2] {
            *slot = u32::try_from(last).unwrap_or(u32::MAX);
        }
        stop
    }

    /// Make room for the tokens and the bitmaps of at least one more block.
    pub(crate) fn reserve_blocks(&mut self) {
        // Six more than a block can have: the vector pass writes tokens in sixes.
        self.reserve_tokens(BLOCK + 6);
        if self.blocks == self.dropped.len() {
            let length = self.dropped.len() * 2;
            self.dropped.resize(length, 0);
            self.astral.resize(length, 0);
        }
    }

    fn reserve_tokens(&mut self, more: usize) {
        if self.count + more > self.tokens.len() {
            let length = (self.tokens.len() * 2).max(self.count + more);
            self.tokens.resize(length, 0);
        }
    }

    /// Move the base forward by `blocks` whole blocks and drop all tokens but the last `kept`, which must lie behind
    /// it.
    pub(crate) fn advance(&mut self, blocks: usize, kept: usize) {
        let shift = u32::try_from(blocks * BLOCK).unwrap_or(u32::MAX);
        let first = self.count - kept;
        for i in 0..kept {
            self.tokens[i] = self.tokens[first + i] - shift;
        }
        self.count = kept;
        self.dropped.copy_within(blocks..self.blocks, 0);
        self.astral.copy_within(blocks..self.blocks, 0);
        self.blocks -= blocks;
    }

    /// Whether the last token goes on beyond what was read: a string without its closing quote, a scalar without its
    /// delimiter.
    pub(crate) fn is_open(&self) -> bool {
        self.carry.in_string != 0 || self.carry.in_scalar != 0
    }

    /// Faults so far. At a line's end an open string is one, and so is a string that ends in half an escape.
    pub(crate) fn faults(&self) -> Faults {
        self.faults
    }

    /// Whether no fault was found.
    pub(crate) fn is_sound(&self) -> bool {
        self.faults == Faults::default()
    }

    /// Whether nothing but white space was read.
    pub(crate) fn is_blank(&self) -> bool {
        self.count == 0 && self.is_sound()
    }

    /// Code points in the bytes `start..end` of one string.
    #[inline]
    pub(crate) fn code_points(&self, start: usize, end: usize) -> u64 {
        (end - start) as u64 - count_bits(&self.dropped, start, end, self.vectors)
    }

    /// Code points in the bytes `start..end` of one string that are two UTF-16 units.
    pub(crate) fn astral(&self, start: usize, end: usize) -> u64 {
        count_bits(&self.astral, start, end, self.vectors)
    }

    /// Whether the line has a `\u` escape so far: only such a one can hide an ASCII letter.
    #[inline]
    pub(crate) fn has_unicode(&self) -> bool {
        self.carry.has_unicode
    }

    /// Whether the bytes `start..end` of a string are all ASCII without escapes, so that they are their own decoded
    /// text.
    #[inline]
    pub(crate) fn is_verbatim(&self, start: usize, end: usize) -> bool {
        if end <= start {
            return true;
        }
        // Most ask for a key or a name, which lies in one word or in two.
        let (first, last) = (start / BLOCK, (end - 1) / BLOCK);
        let from_start = self.dropped[first] & mask_from(start);
        if first == last {
            return from_start & mask_to(end) == 0;
        }
        (from_start | (self.dropped[last] & mask_to(end))) == 0
            && self.dropped[first + 1..last].iter().all(|&word| word == 0)
    }
}

/// Ones from bit `start % 64` up.
const fn mask_from(start: usize) -> u64 {
    !0 << (start % BLOCK)
}

/// Ones below bit `end % 64`, or all of them when `end` is a multiple of 64; `end` is not 0.
const fn mask_to(end: usize) -> u64 {
    !0 >> (BLOCK - 1 - (end - 1) % BLOCK)
}

#[inline]
fn count_bits(words: &[u64], start: usize, end: usize, vectors: Vectors) -> u64 {
    if end <= start {
        return 0;
    }
    let (first, last) = (start / BLOCK, (end - 1) / BLOCK);
    if first == last {
        return u64::from((words[first] & mask_from(start) & mask_to(end)).count_ones());
    }
    let edges = (words[first] & mask_from(start)).count_ones() + (words[last] & mask_to(end)).count_ones();
    let inner = &words[first + 1..last];
    u64::from(edges) + vectors.count_ones(inner).unwrap_or_else(|| count_ones_plain(inner))
}

#[inline]
pub(crate) fn count_ones_plain(words: &[u64]) -> u64 {
    words.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// The plain twin of [`Vectors::read`].
fn read_plain(s: &mut Structure, buffer: &[u8], base: usize, end: usize) -> Stop {
    loop {
        let from = base + s.blocks * BLOCK;
        let block = &buffer[from.min(end)..(from + BLOCK).min(end)];
        let newline = memchr::memchr(b'\n', block);
        if newline.is_none() && block.len() < BLOCK {
            return Stop::Window(s.blocks * BLOCK);
        }
        // Behind the newline the block is blank, so that a line of any length is whole blocks.
        let mut bytes = [b' '; BLOCK];
        let length = newline.unwrap_or(BLOCK);
        bytes[..length].copy_from_slice(&block[..length]);
        let before = if s.carry.started { [buffer[from - 3], buffer[from - 2], buffer[from - 1]] } else { [b' '; 3] };
        read_block_plain(s, &bytes, before);
        if newline.is_some() {
            let faults = &mut s.faults;
            faults.string |= s.carry.in_string != 0 || s.carry.escaped != 0;
            return Stop::Newline((s.blocks - 1) * BLOCK + length);
        }
    }
}

fn read_block_plain(s: &mut Structure, bytes: &[u8; BLOCK], before: [u8; 3]) {
    s.reserve_blocks();
    if s.carry.multibyte != 0 || !bytes.is_ascii() {
        s.faults.utf8 |= !is_utf8_after(before, bytes);
    }
    s.carry.multibyte = (0..3).fold(0, |last, i| last | (u64::from(!bytes[BLOCK - 3 + i].is_ascii()) << i));
    let (mut dropped, mut astral) = (0u64, 0u64);
    let (mut backslashes, mut u, mut d) = (0u64, 0u64, 0u64);
    for (i, &byte) in bytes.iter().enumerate() {
        let bit = 1u64 << i;
        let position = u32::try_from(s.blocks * BLOCK + i).unwrap_or(u32::MAX);
        d |= if byte | 0x20 == b'd' { bit } else { 0 };
        dropped |= if byte & 0xC0 == 0x80 { bit } else { 0 };
        astral |= if byte >= 0xF0 { bit } else { 0 };
        let escaped = std::mem::take(&mut s.carry.escaped) != 0;
        if escaped {
            match byte {
                b'u' => u |= bit,
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                _ => s.faults.string = true,
            }
        } else if byte == b'\\' {
            s.carry.escaped = 1;
            backslashes |= bit;
        }
        if byte == b'"' && !escaped {
            if s.carry.in_string == 0 {
                s.tokens[s.count] = position;
                s.count += 1;
            }
            s.carry.in_string = !s.carry.in_string;
            s.carry.in_scalar = 0;
        } else if s.carry.in_string != 0 {
            s.faults.string |= byte < 0x20;
            s.carry.in_scalar = 0;
        } else {
            let blank = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
            // Two control characters fold onto operators in the vector pass; a parser refuses them as such.
            let operator = matches!(byte, b'{' | b'}' | b'[' | b']' | b':' | b',' | 0x0C | 0x1A);
            let scalar = !blank && !operator;
            if operator || (scalar && s.carry.in_scalar == 0) {
                s.tokens[s.count] = position;
                s.count += 1;
            }
            s.carry.in_scalar = u64::from(scalar);
        }
    }
    let unicode = unicode_escapes_plain(bytes, u, d, &mut s.carry.unicode);
    s.faults.string |= unicode.bad;
    s.carry.unicode_open = u >> 54;
    s.carry.has_unicode |= u != 0;
    s.dropped[s.blocks] = dropped | backslashes | unicode.dropped;
    s.astral[s.blocks] = astral | unicode.astral;
    s.blocks += 1;
    s.carry.started = true;
}

struct UnicodeEscapes {
    dropped: u64,
    astral: u64,
    bad: bool,
}

/// Of `\uXXXX` one byte counts, its second digit; the low half of a pair counts nothing but makes the pair two units.
fn unicode_escapes_plain(bytes: &[u8; BLOCK], u: u64, d: u64, carry: &mut UnicodeCarry) -> UnicodeEscapes {
    let shifted = |mask: u64, before: u64, by: u32| (mask << by) | (before >> (64 - by));
    let digits = [1, 2, 3, 4].map(|by| shifted(u, carry.u, by));
    let after_d = shifted(d, carry.d, 1);
    let has = |mask: u64, test: fn(u8) -> bool| -> u64 {
        (0..BLOCK).filter(|&i| mask & (1 << i) != 0 && test(bytes[i])).fold(0, |found, i| found | 1 << i)
    };
    let all = digits.iter().fold(0, |all, mask| all | mask);
    let bad = all & !has(all, |byte| byte.is_ascii_hexdigit()) != 0;
    let high = has(digits[1] & after_d, |byte| matches!(byte, b'8' | b'9' | b'a' | b'b' | b'A' | b'B'));
    let pair = shifted(high, carry.high, 4) & u;
    let low = has(shifted(pair, carry.pair, 2) & after_d, |byte| matches!(byte, b'c'..=b'f' | b'C'..=b'F'));
    *carry = UnicodeCarry { u, d, high, pair };
    UnicodeEscapes { dropped: u | digits[0] | low | digits[2] | digits[3], astral: low, bad }
}

/// Whether `bytes` goes on as UTF-8 after `before`; a sequence that its end breaks off is the next block's to judge.
fn is_utf8_after(before: [u8; 3], bytes: &[u8; BLOCK]) -> bool {
    let mut joined = [0; 3 + BLOCK];
    joined[..3].copy_from_slice(&before);
    joined[3..].copy_from_slice(bytes);
    // Start at the last byte before the block that begins a sequence; earlier ones were judged with the block before.
    let start = (0..3).rev().find(|&i| before[i] & 0xC0 != 0x80).unwrap_or(3);
    match std::str::from_utf8(&joined[start..]) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;

    /// Everything that a reading of one line leaves, read whole or in windows of `step` blocks.
    #[derive(Debug, PartialEq)]
    struct Reading {
        stop: Stop,
        tokens: Vec<u32>,
        dropped: Vec<u64>,
        astral: Vec<u64>,
        carry: Carry,
        faults: Faults,
    }

    fn read(vectors: Vectors, line: &[u8], steps: &[usize]) -> Reading {
        let mut buffer = vec![0xE4; MARGIN];
        buffer.extend_from_slice(line);
        buffer.push(b'\n');
        let end = buffer.len();
        // Bytes behind the end must not matter, a newline and half a character among them.
        buffer.extend_from_slice(b"\n\xF0\"\\");
        buffer.resize(end + BLOCK, 0xFF);
        let mut structure = Structure::with(vectors);
        structure.start_line();
        let mut stop = Stop::Window(0);
        let mut to = MARGIN;
        for step in steps.iter().copied().chain([usize::MAX]) {
            to = to.saturating_add(step).min(end);
            stop = structure.read(&buffer, MARGIN, to);
            if matches!(stop, Stop::Newline(_)) {
                break;
            }
        }
        if structure.carry.unicode_open == 0 {
            // No escape is open: what the masks hold of the last one that was is never looked at.
            structure.carry.unicode = UnicodeCarry::default();
        }
        Reading {
            stop,
            tokens: structure.tokens[..structure.count + 2].to_vec(),
            dropped: structure.dropped[..structure.blocks].to_vec(),
            astral: structure.astral[..structure.blocks].to_vec(),
            carry: structure.carry,
            faults: structure.faults,
        }
    }

    /// Bytes that meet the corners: quotes, runs of backslashes, `\u` escapes whole and broken, UTF-8 whole and
    /// broken, operators.
    fn line() -> impl Strategy<Value = Vec<u8>> {
        let fixed = |text: &'static str| Just(text.as_bytes().to_vec());
        let piece = prop_oneof![
            4 => fixed("\""),
            3 => fixed("\\"),
            2 => fixed("\\u"),
            2 => fixed("\\ud83d\\ude00"),
            1 => fixed("\\uD8"),
            1 => fixed("\\udbff"),
            2 => fixed("{\"a\":[1,true,null]},"),
            2 => fixed("日本語"),
            2 => fixed("😀"),
            1 => Just(vec![0xF0, 0x9F]),
            1 => Just(vec![0xED, 0xA0, 0x80]),
            1 => fixed("                                                                "),
            3 => "[ -~]{0,80}".prop_map(String::into_bytes),
            1 => prop::collection::vec((0u8..=255).prop_filter("ends the line", |&byte| byte != b'\n'), 0..9),
        ];
        prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn every_pass_reads_every_line_as_the_plain_one_does(line in line()) {
            let plain = read(Vectors::None, &line, &[]);
            for vectors in Vectors::available() {
                prop_assert_eq!(&read(vectors, &line, &[]), &plain, "{:?}", vectors);
            }
        }

        #[test]
        fn a_line_read_in_windows_reads_as_whole(line in line(), steps in prop::collection::vec(0usize..300, 0..20)) {
            for vectors in Vectors::available() {
                prop_assert_eq!(read(vectors, &line, &steps), read(vectors, &line, &[]), "{:?}", vectors);
            }
        }

        #[test]
        fn utf8_is_what_the_standard_library_says_it_is(bytes in prop::collection::vec(
            prop_oneof![
                Just(b'a'), 0x80u8..=0xBF, Just(0xC2), Just(0xE0), Just(0xE4), Just(0xED), Just(0xEF), Just(0xF0), Just(0xF4), 0xC0u8..=0xFF,
            ], 0..200))
        {
            for vectors in Vectors::available() {
                let fault = read(vectors, &bytes, &[]).faults.utf8;
                prop_assert_eq!(fault, std::str::from_utf8(&bytes).is_err(), "{:?}", vectors);
            }
        }

        #[test]
        fn counts_of_a_string_are_those_of_the_json_carrier(text in "[ -~é日😀\u{0}-\u{1f}]{0,300}", ascii in any::<bool>()) {
            let raw = if ascii { escaped_ascii(&text) } else { serde_json::to_string(&text).unwrap().into_bytes() };
            let inner = &raw[1..raw.len() - 1];
            for vectors in Vectors::available() {
                let mut buffer = vec![b' '; MARGIN];
                buffer.extend_from_slice(&raw);
                buffer.push(b'\n');
                let end = buffer.len();
                buffer.resize(end + BLOCK, b' ');
                let mut structure = Structure::with(vectors);
                structure.start_line();
                structure.read(&buffer, MARGIN, end);
                let code_points = structure.code_points(1, raw.len() - 1);
                prop_assert_eq!(code_points, text.chars().count() as u64);
                prop_assert_eq!(code_points, crate::json::code_points(inner));
                prop_assert_eq!(code_points + structure.astral(1, raw.len() - 1), text.encode_utf16().count() as u64);
            }
        }
    }

    /// The string as JSON in ASCII, everything else as `\uXXXX`.
    fn escaped_ascii(text: &str) -> Vec<u8> {
        let mut json = String::from("\"");
        for unit in text.encode_utf16() {
            match u8::try_from(unit) {
                Ok(byte @ (b' ' | b'!' | b'#'..=b'[' | b']'..=b'~')) => json.push(char::from(byte)),
                _ => write!(json, "\\u{unit:04x}").unwrap(),
            }
        }
        json.push('"');
        json.into_bytes()
    }

    #[test]
    fn an_object_gives_its_operators_opening_quotes_and_scalars() {
        let reading = read(Vectors::None, br#"{"a\"b": [1, "x"], "c":true}"#, &[]);
        // The two behind the last point at the newline, byte 28.
        assert_eq!(reading.tokens, [0, 1, 7, 9, 10, 11, 13, 16, 17, 19, 22, 23, 27, 28, 28]);
        assert_eq!(reading.stop, Stop::Newline(28));
        assert_eq!(reading.faults, Faults::default());
    }

    #[test]
    fn a_control_character_an_unknown_escape_and_an_open_string_are_faults() {
        for line in ["\"a\tb\"", r#""\x""#, r#""\u12g4""#, "\"open", r#""half \"#] {
            assert!(read(Vectors::None, line.as_bytes(), &[]).faults.string, "{line}");
        }
        assert_eq!(read(Vectors::None, b"\t[\"\\u12aB\\/\"]", &[]).faults, Faults::default());
    }
}
