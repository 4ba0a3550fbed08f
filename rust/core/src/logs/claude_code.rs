//! Claude Code: `~/.claude/projects/*/*.jsonl`.
//!
//! A result is a block of `message.content` in a line of type `user`; the call that names its tool is a block of an
//! earlier line. `toolUseResult` is a copy of the result for the user interface, which no model sees.

use super::{Block, Content, Lines, MOST_ENTRIES, Measure, Name, Names, Sink, ToolResult, is};
use crate::marker::CutForm;
use crate::tokens;
use crate::walk::{Kind, Node, ROOT, SKIP, Shape, Text};

const TYPE: Node = 2;
const SESSION: Node = 3;
const SIDECHAIN: Node = 4;
const UI_COPY: Node = 5;
const MESSAGE: Node = 6;
const BLOCKS: Node = 7;
const BLOCK: Node = 8;
const BLOCK_TYPE: Node = 9;
const CALL_ID: Node = 10;
const CALL_NAME: Node = 11;
const RESULT_ID: Node = 12;
const RESULT_ERROR: Node = 13;
const CONTENT: Node = 14;
const PART: Node = 15;
const PART_TYPE: Node = 16;
const PART_TEXT: Node = 17;

/// What a block of `message.content` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockKind {
    Call,
    Result,
    Other,
}

/// One block of `message.content`.
#[derive(Clone, Copy, Debug)]
struct Entry {
    kind: BlockKind,
    call_id: Option<Name>,
    call_name: Option<Name>,
    result_id: Option<Name>,
    is_error: bool,
    content: Content,
}

const NO_ENTRY: Entry = Entry {
    kind: BlockKind::Other,
    call_id: None,
    call_name: None,
    result_id: None,
    is_error: false,
    content: Content::EMPTY,
};

/// A reader of Claude Code's lines.
#[derive(Debug)]
pub struct ClaudeCode {
    form: CutForm,
    names: Names,
    is_user: bool,
    session: Option<Name>,
    is_sidechain: bool,
    copy_start: u64,
    copy_bytes: u64,
    entries: Vec<Entry>,
    entry: Entry,
    part: Block,
}

impl Shape for ClaudeCode {
    #[inline]
    fn member(node: Node, key: &[u8]) -> Node {
        match (node, key) {
            (ROOT, b"type") => TYPE,
            (ROOT, b"sessionId") => SESSION,
            (ROOT, b"isSidechain") => SIDECHAIN,
            (ROOT, b"toolUseResult") => UI_COPY,
            (ROOT, b"message") => MESSAGE,
            (MESSAGE, b"content") => BLOCKS,
            (BLOCK, b"type") => BLOCK_TYPE,
            (BLOCK, b"id") => CALL_ID,
            (BLOCK, b"name") => CALL_NAME,
            (BLOCK, b"tool_use_id") => RESULT_ID,
            (BLOCK, b"is_error") => RESULT_ERROR,
            (BLOCK, b"content") => CONTENT,
            (PART, b"type") => PART_TYPE,
            (PART, b"text") => PART_TEXT,
            _ => SKIP,
        }
    }

    #[inline]
    fn element(node: Node) -> Node {
        match node {
            BLOCKS => BLOCK,
            CONTENT => PART,
            _ => SKIP,
        }
    }

    #[inline]
    fn begin(&mut self, node: Node, kind: Kind, at: u64) {
        match node {
            TYPE => self.is_user = false,
            SESSION => self.names.forget(&mut self.session),
            SIDECHAIN => self.is_sidechain = false,
            UI_COPY => self.copy_start = at,
            MESSAGE | BLOCKS => self.entries.clear(),
            BLOCK => self.entry = NO_ENTRY,
            BLOCK_TYPE => self.entry.kind = BlockKind::Other,
            CALL_ID => self.names.forget(&mut self.entry.call_id),
            CALL_NAME => self.names.forget(&mut self.entry.call_name),
            RESULT_ID => self.names.forget(&mut self.entry.result_id),
            RESULT_ERROR => self.entry.is_error = false,
            CONTENT => self.entry.content = Content::EMPTY,
            PART => self.part = Block::begin(kind, at),
            PART_TYPE => self.part.is_text = false,
            PART_TEXT => self.part.text = Measure::NO_TEXT,
            _ => {}
        }
    }

    #[inline]
    fn string(&mut self, node: Node, text: &Text<'_>) {
        match node {
            TYPE => self.is_user = is(text, "user"),
            SESSION => self.session = self.names.keep(text),
            UI_COPY => self.copy_bytes = text.raw_len() + 2,
            BLOCK_TYPE => {
                self.entry.kind = if is(text, "tool_result") {
                    BlockKind::Result
                } else if is(text, "tool_use") {
                    BlockKind::Call
                } else {
                    BlockKind::Other
                };
            }
            CALL_ID => self.entry.call_id = self.names.keep(text),
            CALL_NAME => self.entry.call_name = self.names.keep(text),
            RESULT_ID => self.entry.result_id = self.names.keep(text),
            CONTENT => self.entry.content.add_text(Content::measure_whole(text, &self.form)),
            PART_TYPE => self.part.is_text = is(text, "text"),
            PART_TEXT => self.part.text = self.entry.content.measure(text, &self.form),
            _ => {}
        }
    }

    #[inline]
    fn literal(&mut self, node: Node, raw: &[u8]) {
        match node {
            SIDECHAIN => self.is_sidechain = raw == b"true",
            UI_COPY => self.copy_bytes = raw.len() as u64,
            RESULT_ERROR => self.entry.is_error = raw == b"true",
            _ => {}
        }
    }

    #[inline]
    fn end(&mut self, node: Node, at: u64) {
        match node {
            UI_COPY => self.copy_bytes = at - self.copy_start,
            // An array in place of a block has no type, and so is dropped here too.
            BLOCK if self.entry.kind != BlockKind::Other && !self.is_full() => self.entries.push(self.entry),
            PART => self.part.end(at, &mut self.entry.content),
            _ => {}
        }
    }
}

impl Lines for ClaudeCode {
    const WORDS: &'static [&'static str] =
        &["tool_result", "tool_use", "usage", "compact_boundary", "isCompactSummary"];

    fn new(form: CutForm) -> Self {
        Self {
            form,
            names: Names::default(),
            is_user: false,
            session: None,
            is_sidechain: false,
            copy_start: 0,
            copy_bytes: 0,
            entries: Vec::new(),
            entry: NO_ENTRY,
            part: Block::NONE,
        }
    }

    #[inline]
    fn start_line(&mut self) {
        self.names.clear();
        self.is_user = false;
        self.session = None;
        self.is_sidechain = false;
        self.copy_bytes = 0;
        self.entries.clear();
        self.entries.shrink_to(MOST_ENTRIES / 64);
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.entries.len() > MOST_ENTRIES || self.names.is_full()
    }

    #[inline]
    fn finish(&mut self, sink: &mut impl Sink) {
        if self.copy_bytes > 0 {
            sink.ui_copy(self.copy_bytes);
        }
        for entry in &self.entries {
            match entry.kind {
                BlockKind::Call => {
                    if let Some(id) = self.names.get(entry.call_id) {
                        sink.call(id, self.names.get(entry.call_name));
                    }
                }
                BlockKind::Result if self.is_user => sink.result(&ToolResult {
                    call_id: self.names.get(entry.result_id),
                    session: self.names.get(self.session),
                    sidechain: Some(self.is_sidechain),
                    is_error: entry.is_error,
                    code_points: entry.content.code_points,
                    tokens: entry.content.tokens + tokens::WRAPPER + tokens::MESSAGE,
                    already_cut: entry.content.is_cut(&self.form),
                    ..ToolResult::default()
                }),
                BlockKind::Result | BlockKind::Other => {}
            }
        }
    }
}
