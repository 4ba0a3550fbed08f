//! Walking one JSON line along its tokens: checks the grammar whole and hands the values that a format asks for to
//! its reader.
//!
//! The walk keeps no recursion and one bit a level, so that nesting has no limit, and can stop at any token and go on
//! with the next window of a line that is longer than memory should hold.
// One state machine, written as several functions: called and not inlined, they would cost a tenth of a scan.
#![allow(clippy::inline_always)]

use crate::structure::{BLOCK, Structure};

/// A place in a format's lines, such as "`name` of a block of `message.content`".
pub type Node = u8;

/// The node of everything that a format does not ask for.
pub const SKIP: Node = 0;

/// The node of the line's own object.
pub const ROOT: Node = 1;

/// A level at which values are asked for is at most this deep; below it everything is skipped.
const DEEPEST_NODE: usize = 16;

/// A line nested deeper is refused: one bit a level is 32 MiB by then, and the line longer than any log's.
const MOST_LEVELS: usize = 1 << 28;

/// What a format asks of a line. The line's own object, [`ROOT`], neither begins nor ends: the line does.
pub trait Shape {
    /// The node of the member `key` (decoded) of an object at `node`.
    fn member(node: Node, key: &[u8]) -> Node;
    /// The node of each element of an array at `node`.
    fn element(node: Node) -> Node;
    /// A value begins at byte `at` of the line. An earlier value of the same node is void: of duplicate keys the last
    /// wins.
    fn begin(&mut self, node: Node, kind: Kind, at: u64);
    /// The value is this string.
    fn string(&mut self, node: Node, text: &Text<'_>);
    /// The value is this number, `true`, `false` or `null`.
    fn literal(&mut self, node: Node, raw: &[u8]);
    /// The object or array that began at this node ends before byte `at`.
    fn end(&mut self, node: Node, at: u64);
}

/// What a value is, by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `{`
    Object,
    /// `[`
    Array,
    /// `"`
    String,
    /// A number, `true`, `false` or `null`.
    Literal,
}

/// A string of the line: its raw bytes where they are at hand, and their counts in any case.
pub struct Text<'a> {
    structure: &'a Structure,
    window: &'a [u8],
    start: usize,
    end: usize,
    before: Counts,
}

/// What earlier windows held of a string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    bytes: u64,
    code_points: u64,
    astral: u64,
}

impl<'a> Text<'a> {
    /// The bytes between the quotes, undecoded; `None` when the string is too long to be at hand whole.
    #[must_use]
    #[inline]
    pub fn raw(&self) -> Option<&'a [u8]> {
        (self.before.bytes == 0).then(|| &self.window[self.start..self.end])
    }

    /// Bytes between the quotes.
    #[must_use]
    #[inline]
    pub fn raw_len(&self) -> u64 {
        self.before.bytes + (self.end - self.start) as u64
    }

    /// Code points of the decoded string.
    #[must_use]
    #[inline]
    pub fn code_points(&self) -> u64 {
        self.before.code_points + self.structure.code_points(self.start, self.end)
    }

    /// UTF-16 units of the decoded string.
    #[must_use]
    #[inline]
    pub fn utf16_units(&self) -> u64 {
        self.code_points() + self.before.astral + self.structure.astral(self.start, self.end)
    }

    /// Whether the raw bytes are the decoded text.
    #[must_use]
    #[inline]
    pub fn is_verbatim(&self) -> bool {
        self.before.bytes == 0 && self.structure.is_verbatim(self.start, self.end)
    }
}

/// A number of more characters is refused. Less than half a window, so that every number that is not is at hand whole.
pub const LONGEST_NUMBER: usize = 100_000;

/// Why a line is not one JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It ends before its value does.
    Short,
    /// It breaks the grammar.
    Grammar,
}

/// What the walk expects next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A value, of the node in hand.
    Value,
    /// `]`, or the array's first element.
    FirstElement,
    /// `}`, or the object's first key.
    FirstKey,
    /// A key.
    Key,
    /// The colon behind a key.
    Colon,
    /// A comma or the end of the object or array around.
    After,
    /// The rest of a string whose beginning was in an earlier window, as a value or as a key.
    Rest { key: bool },
}

/// A walk along one line.
#[derive(Debug)]
pub struct Walker {
    state: State,
    /// The node of the value that is expected, or of the string whose rest is.
    node: Node,
    depth: usize,
    /// One bit a level: set for an object.
    kinds: Vec<u64>,
    path: [Node; DEEPEST_NODE],
    /// What earlier windows held of the string whose rest is expected.
    before: Counts,
    /// Bytes of the line before the base.
    origin: u64,
    is_object: bool,
}

impl Default for Walker {
    fn default() -> Self {
        Self {
            state: State::Value,
            node: ROOT,
            depth: 0,
            kinds: Vec::new(),
            path: [SKIP; DEEPEST_NODE],
            before: Counts::default(),
            origin: 0,
            is_object: false,
        }
    }
}

impl Walker {
    /// Be at the start of a line.
    pub fn start_line(&mut self) {
        self.state = State::Value;
        self.node = ROOT;
        self.depth = 0;
        self.before = Counts::default();
        self.origin = 0;
        self.is_object = false;
        // A line nested deeper than any sane one should not hold its memory for the rest of the log.
        if self.kinds.len() > 1024 {
            self.kinds = Vec::new();
        }
    }

    /// Whether the line's value is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.is_object
    }

    /// Walk a whole line; `line` ends with its newline.
    ///
    /// # Errors
    /// [`Broken`] when the line is not exactly one JSON value; a blank line is [`Broken::Short`].
    #[inline]
    pub fn line<S: Shape>(&mut self, line: &[u8], structure: &Structure, shape: &mut S) -> Result<(), Broken> {
        self.walk(line, structure, &structure.tokens[..structure.count + 2], shape)?;
        if self.depth == 0 && self.state == State::After { Ok(()) } else { Err(Broken::Short) }
    }

    /// Walk along the window that was read last, up to what the next window may change, and say how many blocks of it
    /// are done with. The structure is moved forward by as many; the caller must do the same with the bytes.
    ///
    /// `window` is the whole blocks read, and one newline behind them.
    ///
    /// # Errors
    /// [`Broken`] when the line cannot become JSON any more.
    pub fn window<S: Shape>(
        &mut self,
        window: &[u8],
        structure: &mut Structure,
        shape: &mut S,
    ) -> Result<usize, Broken> {
        let (blocks, count, open) = (structure.blocks, structure.count, structure.is_open() && structure.count > 0);
        // An unfinished token waits for the next window: a newline in its place stops the walk before it.
        let held = if open { structure.tokens[count - 1] as usize } else { 0 };
        if open {
            structure.tokens[count - 1] = structure.tokens[count];
        }
        self.walk(window, structure, &structure.tokens[..count + 2], shape)?;
        if !open {
            if structure.carry.in_string != 0 {
                self.count_rest(structure, 0, blocks * BLOCK);
            }
            structure.advance(blocks, 0);
            self.origin += (blocks * BLOCK) as u64;
            return Ok(blocks);
        }
        structure.tokens[count - 1] = u32::try_from(held).map_err(|_| Broken::Grammar)?;
        if held >= blocks * BLOCK / 2 {
            structure.advance(held / BLOCK, 1);
            self.origin += (held / BLOCK * BLOCK) as u64;
            return Ok(held / BLOCK);
        }
        self.begin_long(held, blocks, structure, shape)?;
        structure.advance(blocks, 0);
        self.origin += (blocks * BLOCK) as u64;
        Ok(blocks)
    }

    /// The token at `held` fills the window: a string is counted piece by piece, anything else that long is refused.
    fn begin_long<S: Shape>(
        &mut self,
        held: usize,
        blocks: usize,
        structure: &Structure,
        shape: &mut S,
    ) -> Result<(), Broken> {
        if structure.carry.in_string == 0 {
            return Err(Broken::Grammar);
        }
        let key = match self.state {
            State::Value | State::FirstElement => {
                if self.state == State::FirstElement {
                    self.node = self.element_node::<S>();
                }
                if self.node != SKIP && self.depth > 0 {
                    shape.begin(self.node, Kind::String, self.origin + held as u64);
                }
                false
            }
            State::Key | State::FirstKey => true,
            State::Colon | State::After | State::Rest { .. } => return Err(Broken::Grammar),
        };
        self.state = State::Rest { key };
        self.before = Counts::default();
        self.count_rest(structure, held + 1, blocks * BLOCK);
        Ok(())
    }

    fn count_rest(&mut self, structure: &Structure, start: usize, end: usize) {
        self.before.bytes += (end - start) as u64;
        self.before.code_points += structure.code_points(start, end);
        self.before.astral += structure.astral(start, end);
    }

    /// The node of the elements of the array around.
    #[inline]
    fn element_node<S: Shape>(&self) -> Node {
        match self.container() {
            SKIP => SKIP,
            node => S::element(node),
        }
    }

    /// The node of the object or array around.
    #[inline]
    fn container(&self) -> Node {
        if self.depth.wrapping_sub(1) < DEEPEST_NODE { self.path[self.depth - 1] } else { SKIP }
    }

    #[inline]
    fn open(&mut self, object: bool) {
        let (word, bit) = (self.depth / 64, 1u64 << (self.depth % 64));
        if word == self.kinds.len() {
            self.kinds.push(0);
        }
        let word = &mut self.kinds[word];
        *word = if object { *word | bit } else { *word & !bit };
        if self.depth < DEEPEST_NODE {
            self.path[self.depth] = self.node;
        }
        self.depth += 1;
    }

    /// Whether what is around is an object; at the top, nothing is.
    #[inline]
    fn in_object(&self) -> bool {
        self.depth > 0 && self.kinds[(self.depth - 1) / 64] & (1 << ((self.depth - 1) % 64)) != 0
    }

    /// Walk along the tokens until one does not fit. The last two of `tokens` point at a newline, which fits nowhere:
    /// at a line's end or a window's, the walk stops there with its state kept; anywhere else the line is broken.
    #[inline]
    fn walk<S: Shape>(
        &mut self,
        line: &[u8],
        structure: &Structure,
        tokens: &[u32],
        shape: &mut S,
    ) -> Result<(), Broken> {
        let last = tokens.len() - 2;
        let mut cursor = Cursor { line, structure, tokens, i: 0, origin: self.origin };
        let mut state = self.state;
        if let State::Rest { key } = state {
            if structure.carry.in_string != 0 && last == 0 {
                // Still no end: `window` counts it.
                return Ok(());
            }
            state = self.end_long(key, line, structure, tokens[0] as usize, shape);
        }
        self.state = loop {
            // The members of an object and the elements of an array have a loop each, so that the usual way through
            // is straight.
            let step = match state {
                State::FirstKey | State::Key | State::Colon => self.members(state, &mut cursor, shape),
                State::Value if self.in_object() => self.members(state, &mut cursor, shape),
                State::FirstElement | State::Value => self.elements(state, &mut cursor, shape),
                State::After | State::Rest { .. } => Step::After,
            };
            let step = if step == Step::After { self.close(&mut cursor, shape) } else { step };
            state = match step {
                Step::On(next) => next,
                Step::Open { object } => {
                    if self.depth == MOST_LEVELS {
                        return Err(Broken::Grammar);
                    }
                    self.open(object);
                    if object { State::FirstKey } else { State::FirstElement }
                }
                Step::After => State::After,
                Step::Stop(stopped) => break stopped,
            };
        };
        if cursor.i == last || cursor.byte() == b'\n' { Ok(()) } else { Err(Broken::Grammar) }
    }

    /// The members of an object, up to its end or to one that is an object or an array.
    #[inline(always)]
    fn members<S: Shape>(&mut self, state: State, cursor: &mut Cursor<'_>, shape: &mut S) -> Step {
        let around = self.container();
        if state == State::FirstKey && cursor.byte() == b'}' {
            return Step::After;
        }
        let mut from = state;
        loop {
            if matches!(from, State::FirstKey | State::Key) {
                if cursor.byte() != b'"' {
                    return Step::Stop(from);
                }
                let start = cursor.at() + 1;
                cursor.i += 1;
                self.node = if around == SKIP { SKIP } else { cursor.member::<S>(around, start) };
            }
            if from != State::Value {
                if cursor.byte() != b':' {
                    return Step::Stop(State::Colon);
                }
                cursor.i += 1;
            }
            if let Some(step) = cursor.value(self.node, shape) {
                return step;
            }
            if cursor.byte() != b',' {
                return Step::After;
            }
            cursor.i += 1;
            from = State::Key;
        }
    }

    /// The elements of an array, or the line's own value, up to the end or to one that is an object or an array.
    #[inline(always)]
    fn elements<S: Shape>(&mut self, state: State, cursor: &mut Cursor<'_>, shape: &mut S) -> Step {
        if self.depth == 0 {
            return self.top(cursor);
        }
        if state == State::FirstElement {
            if cursor.byte() == b']' {
                return Step::After;
            }
            if cursor.byte() == b'\n' {
                return Step::Stop(state);
            }
            self.node = self.element_node::<S>();
        }
        loop {
            if let Some(step) = cursor.value(self.node, shape) {
                return step;
            }
            if cursor.byte() != b',' {
                return Step::After;
            }
            cursor.i += 1;
        }
    }

    /// The line's own value: what is no object is walked and not looked at.
    #[inline]
    fn top(&mut self, cursor: &mut Cursor<'_>) -> Step {
        let step = cursor.value(SKIP, &mut Nothing);
        self.is_object = step == Some(Step::Open { object: true });
        self.node = if self.is_object { ROOT } else { SKIP };
        step.unwrap_or(Step::After)
    }

    /// The ends of objects and arrays, up to a comma.
    #[inline(always)]
    fn close<S: Shape>(&mut self, cursor: &mut Cursor<'_>, shape: &mut S) -> Step {
        while self.depth > 0 {
            let byte = cursor.byte();
            let object = self.in_object();
            if byte == b',' {
                cursor.i += 1;
                if object {
                    return Step::On(State::Key);
                }
                self.node = self.element_node::<S>();
                return Step::On(State::Value);
            }
            if byte != if object { b'}' } else { b']' } {
                break;
            }
            let node = self.container();
            if node != SKIP && self.depth > 1 {
                shape.end(node, cursor.origin + cursor.at() as u64 + 1);
            }
            cursor.i += 1;
            self.depth -= 1;
        }
        Step::Stop(State::After)
    }

    /// The string that earlier windows began ends before `next`.
    #[cold]
    fn end_long<S: Shape>(
        &mut self,
        key: bool,
        line: &[u8],
        structure: &Structure,
        next: usize,
        shape: &mut S,
    ) -> State {
        let before = std::mem::take(&mut self.before);
        let text = Text { structure, window: line, start: 0, end: closing_quote(line, 0, next), before };
        if key {
            // No format has a key that long.
            self.node = SKIP;
            State::Colon
        } else {
            if self.node != SKIP && self.depth > 0 {
                shape.string(self.node, &text);
            }
            State::After
        }
    }
}

/// What comes behind a value or a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// This state.
    On(State),
    /// The first member or element of the value that begins here.
    Open { object: bool },
    /// A comma or an end.
    After,
    /// Nothing that fits: this state stays.
    Stop(State),
}

/// A place among the tokens of a line.
struct Cursor<'a> {
    line: &'a [u8],
    structure: &'a Structure,
    tokens: &'a [u32],
    i: usize,
    /// Bytes of the line before the base.
    origin: u64,
}

impl<'a> Cursor<'a> {
    /// Where the token is.
    #[inline(always)]
    fn at(&self) -> usize {
        self.tokens[self.i] as usize
    }

    /// Its first byte.
    #[inline(always)]
    fn byte(&self) -> u8 {
        self.line[self.at()]
    }

    /// A value of this node: a scalar is handed on and passed, and nothing is returned; otherwise, what comes next.
    #[inline(always)]
    fn value<S: Shape>(&mut self, node: Node, shape: &mut S) -> Option<Step> {
        let at = self.at();
        let byte = self.line[at];
        if byte == b'"' {
            self.i += 1;
            if node != SKIP {
                let text = self.text(at + 1, Counts::default());
                shape.begin(node, Kind::String, self.origin + at as u64);
                shape.string(node, &text);
            }
        } else if byte == b'{' || byte == b'[' {
            self.i += 1;
            let object = byte == b'{';
            if node != SKIP {
                shape.begin(node, if object { Kind::Object } else { Kind::Array }, self.origin + at as u64);
            }
            return Some(Step::Open { object });
        } else {
            let Some(length) = literal(&self.line[at..]) else { return Some(Step::Stop(State::Value)) };
            self.i += 1;
            if node != SKIP {
                shape.begin(node, Kind::Literal, self.origin + at as u64);
                shape.literal(node, &self.line[at..at + length]);
            }
        }
        None
    }

    /// The string that began at `start` and ends before the token.
    #[inline(always)]
    fn text(&self, start: usize, before: Counts) -> Text<'a> {
        let end = closing_quote(self.line, start, self.at());
        Text { structure: self.structure, window: self.line, start, end, before }
    }

    /// The node of the member whose key began at `start` and ends before the token.
    #[inline(always)]
    fn member<S: Shape>(&self, around: Node, start: usize) -> Node {
        let end = closing_quote(self.line, start, self.at());
        let raw = &self.line[start..end];
        let node = S::member(around, raw);
        // A key of letters may be written with escapes, and nearly none is.
        if node == SKIP && self.structure.has_unicode() && !self.structure.is_verbatim(start, end) {
            return S::member(around, &crate::json::unescape(raw));
        }
        node
    }
}

/// A shape that asks for nothing.
struct Nothing;

impl Shape for Nothing {
    fn member(_: Node, _: &[u8]) -> Node {
        SKIP
    }
    fn element(_: Node) -> Node {
        SKIP
    }
    fn begin(&mut self, _: Node, _: Kind, _: u64) {}
    fn string(&mut self, _: Node, _: &Text<'_>) {}
    fn literal(&mut self, _: Node, _: &[u8]) {}
    fn end(&mut self, _: Node, _: u64) {}
}

/// Where the string that begins at `start` ends: at the last quote before the token that follows it.
#[inline(always)]
fn closing_quote(line: &[u8], start: usize, next: usize) -> usize {
    // Nearly always the quote stands right before it.
    let mut end = next;
    while end > start {
        end -= 1;
        if line[end] == b'"' {
            break;
        }
    }
    end
}

/// Length of the number, `true`, `false` or `null` at the start of `bytes`, which a newline ends; `None` when there
/// is none.
#[inline]
fn literal(bytes: &[u8]) -> Option<usize> {
    let length = match bytes[0] {
        b't' => word(bytes, b"true")?,
        b'f' => word(bytes, b"false")?,
        b'n' => word(bytes, b"null")?,
        b'-' => 1 + number(&bytes[1..])?,
        _ => number(bytes)?,
    };
    let ends = matches!(bytes[length], b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n');
    (ends && length <= LONGEST_NUMBER).then_some(length)
}

#[inline]
fn word(bytes: &[u8], word: &[u8]) -> Option<usize> {
    bytes.starts_with(word).then_some(word.len())
}

#[inline]
fn number(bytes: &[u8]) -> Option<usize> {
    let whole = digits(bytes);
    if whole == 0 || (bytes[0] == b'0' && whole > 1) {
        return None;
    }
    let mut length = whole;
    if bytes[length] == b'.' {
        let fraction = digits(&bytes[length + 1..]);
        if fraction == 0 {
            return None;
        }
        length += 1 + fraction;
    }
    if bytes[length] | 0x20 == b'e' {
        length += 1;
        if matches!(bytes[length], b'+' | b'-') {
            length += 1;
        }
        let exponent = digits(&bytes[length..]);
        if exponent == 0 {
            return None;
        }
        length += exponent;
    }
    Some(length)
}

#[inline]
fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;
    use crate::structure::{MARGIN, Stop};

    /// Writes down every value at `want`, its elements, and theirs.
    #[derive(Debug, Default, PartialEq)]
    struct Log(String);

    const WANT: Node = 2;
    const ELEMENT: Node = 3;

    impl Shape for Log {
        fn member(node: Node, key: &[u8]) -> Node {
            if node == ROOT && key == b"want" { WANT } else { SKIP }
        }
        fn element(node: Node) -> Node {
            if node == WANT || node == ELEMENT { ELEMENT } else { SKIP }
        }
        fn begin(&mut self, node: Node, kind: Kind, at: u64) {
            write!(self.0, "{node}{kind:?}@{at} ").unwrap();
        }
        fn string(&mut self, _: Node, text: &Text<'_>) {
            write!(self.0, "{}b{}c{}u ", text.raw_len(), text.code_points(), text.utf16_units()).unwrap();
        }
        fn literal(&mut self, _: Node, raw: &[u8]) {
            write!(self.0, "{} ", String::from_utf8_lossy(raw)).unwrap();
        }
        fn end(&mut self, node: Node, at: u64) {
            write!(self.0, "/{node}@{at} ").unwrap();
        }
    }

    fn whole(line: &[u8]) -> (bool, Log) {
        let mut buffer = vec![b' '; MARGIN];
        buffer.extend_from_slice(line);
        buffer.push(b'\n');
        let end = buffer.len();
        buffer.resize(end + BLOCK, b' ');
        let (mut structure, mut walk, mut log) = (Structure::plain(), Walker::default(), Log::default());
        structure.start_line();
        walk.start_line();
        let Stop::Newline(length) = structure.read(&buffer, MARGIN, end) else { panic!("the line has a newline") };
        let walked = walk.line(&buffer[MARGIN..=MARGIN + length], &structure, &mut log);
        (walked.is_ok() && structure.is_sound(), log)
    }

    fn says(line: &str) -> String {
        let (sound, log) = whole(line.as_bytes());
        assert!(sound, "{line} is JSON");
        log.0.trim_end().to_owned()
    }

    #[test]
    fn a_wanted_value_is_handed_on_with_its_place() {
        assert_eq!(says(r#"{"x":[{"want":1}],"want":"aé\n😀"}"#), "2String@25 9b4c5u");
        assert_eq!(
            says(r#"{"want":[-1.5e3,[null],{}]}"#),
            "2Array@8 3Literal@9 -1.5e3 3Array@16 3Literal@17 null /3@22 3Object@23 /3@25 /2@26"
        );
        assert_eq!(says(r#"{"want":{"want":1}}"#), "2Object@8 /2@18");
    }

    #[test]
    fn a_key_may_be_written_with_escapes() {
        assert_eq!(says(r#"{"\u0077ant":1}"#), "2Literal@13 1");
        assert_eq!(says(r#"{"want\u0000":1,"w\u00e4nt":2}"#), "");
    }

    #[test]
    fn of_a_value_that_is_no_object_nothing_is_handed_on() {
        for line in [r#"["want",{"want":1}]"#, "\"want\"", "1", "null"] {
            assert_eq!(says(line), "");
        }
    }

    #[test]
    fn nesting_has_no_limit() {
        let deep = 1_000_000;
        let line = [&b"{\"a\":".repeat(deep)[..], b"[]", &b"}".repeat(deep)].concat();
        assert!(whole(&line).0);
        assert!(!whole(&line[..line.len() - 1]).0);
    }

    #[test]
    fn a_number_may_be_long_but_not_endless() {
        assert!(whole("1".repeat(LONGEST_NUMBER).as_bytes()).0);
        assert!(!whole("1".repeat(LONGEST_NUMBER + 1).as_bytes()).0);
    }

    #[test]
    fn what_is_not_json_is_broken() {
        for line in [
            "",
            "{",
            "}",
            "[1,]",
            "[,1]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{1:2}",
            "[1 2]",
            "1 2",
            "01",
            "1.",
            ".5",
            "+1",
            "1e",
            "-",
            "NaN",
            "Infinity",
            "tru",
            "truex",
            "nul",
            "[1}",
            "{\"a\":1]",
            "{\"a\":1}}",
            "'a'",
            "\"a\" \"b\"",
            "{,}",
            "\u{c}",
            "[\u{1a}]",
            "{\"a\":1\u{b}}",
            "[1]x",
        ] {
            assert!(!whole(line.as_bytes()).0, "{line}");
        }
    }

    /// JSON-like text: mostly whole values, sometimes broken by a piece that does not belong.
    fn json_like() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("1".to_owned()),
            Just("-0.5e+7".to_owned()),
            Just("true".to_owned()),
            Just("null".to_owned()),
            Just("01".to_owned()),
            Just("NaN".to_owned()),
            Just("\"a\tb\"".to_owned()),
            Just("\"\\q\"".to_owned()),
            Just(String::new()),
            "[ -~é日😀]{0,90}".prop_map(|text| serde_json::to_string(&text).unwrap()),
            "[a-z😀]{0,40}".prop_map(|text| format!(
                "\"{}\"",
                text.encode_utf16().fold(String::new(), |json, unit| json + &format!("\\u{unit:04X}"))
            )),
        ];
        let key = prop_oneof![3 => Just("\"want\"".to_owned()), 2 => Just("\"k\"".to_owned()), 1 => Just("\"w\\u0061nt\"".to_owned()), 1 => Just("k".to_owned())];
        leaf.prop_recursive(6, 60, 6, move |inner| {
            let member = (key.clone(), prop::sample::select(vec![":", ": ", " :", "", ","]), inner.clone()).prop_map(
                |(k, c, v)| {
                    // Broken separators are rare, so that most lines are whole.
                    let c = if k.len() > 1 && v.len() % 7 != 0 && !c.contains(':') { ":" } else { c };
                    format!("{k}{c}{v}")
                },
            );
            prop_oneof![
                prop::collection::vec(inner, 0..6).prop_map(|values| format!("[{}]", values.join(","))),
                prop::collection::vec(member, 0..6).prop_map(|members| format!("{{{}}}", members.join(" ,"))),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_json_is_what_serde_says_it_is(line in json_like()) {
            let serde = serde_json::from_str::<serde::de::IgnoredAny>(&line).is_ok();
            prop_assert_eq!(whole(line.as_bytes()).0, serde, "{}", line);
        }

        #[test]
        fn a_line_walked_in_windows_says_what_it_says_whole(
            values in prop::collection::vec(json_like(), 1..12), steps in prop::collection::vec(4usize..40, 1..40),
        ) {
            let line = format!("{{\"x\":1,\"want\":[{}],\"y\":[{}]}}", values.join(","), values.join(" , "));
            let (expected_sound, expected) = whole(line.as_bytes());
            let mut stream = line.as_bytes().to_vec();
            stream.push(b'\n');
            let (mut structure, mut walk, mut log) = (Structure::plain(), Walker::default(), Log::default());
            structure.start_line();
            walk.start_line();
            let mut buffer = vec![b' '; MARGIN];
            let mut steps = steps.iter().cycle();
            let mut walked = Ok(());
            loop {
                let take = (steps.next().unwrap() * BLOCK).min(stream.len());
                buffer.extend(stream.drain(..take));
                let end = buffer.len();
                buffer.resize(end + BLOCK, b' ');
                let stop = structure.read(&buffer, MARGIN, end);
                match stop {
                    Stop::Newline(length) => {
                        if walked.is_ok() {
                            walked = walk.line(&buffer[MARGIN..=MARGIN + length], &structure, &mut log);
                        }
                        break;
                    }
                    Stop::Window(length) => {
                        let byte = std::mem::replace(&mut buffer[MARGIN + length], b'\n');
                        let done = walk.window(&buffer[MARGIN..=MARGIN + length], &mut structure, &mut log);
                        buffer[MARGIN + length] = byte;
                        buffer.truncate(end);
                        match done {
                            Ok(blocks) => drop(buffer.drain(..blocks * BLOCK)),
                            Err(broken) => { walked = Err(broken); break }
                        }
                    }
                }
            }
            let sound = walked.is_ok() && structure.is_sound();
            prop_assert_eq!(sound, expected_sound, "{}", line);
            if sound {
                prop_assert_eq!(log, expected);
            }
        }
    }
}
