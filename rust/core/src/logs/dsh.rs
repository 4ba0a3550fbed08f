//! The `DeepSeek` Harness: `$DSH_HOME/sessions/**/session[.v4].jsonl[.zstd]`, log versions 0 and 4.
//!
//! A result is an event of type `tool/result`. Version 0 wraps its blocks in one of type `tool-result`, version 4 has them in the
//! message itself, and some recordings have them in `data` without a message. A host that replaces a result appends another event.

use super::{Block, Content, Found, Lines, Measure, Name, Names, Sink, integer, is};
use crate::marker::CutForm;
use crate::walk::{Kind, Node, ROOT, SKIP, Shape, Text};

const TYPE: Node = 2;
const SEQ: Node = 3;
const ID: Node = 4;
const DATA: Node = 5;
const TURN: Node = 6;
const STEP: Node = 7;
const DATA_CALL_ID: Node = 8;
const DATA_NAME: Node = 9;
const DATA_ERROR: Node = 10;
const DATA_CONTENT: Node = 11;
const DATA_BLOCK: Node = 12;
const DATA_BLOCK_TYPE: Node = 13;
const DATA_BLOCK_TEXT: Node = 14;
const MESSAGE: Node = 15;
const MESSAGE_CALL_ID: Node = 16;
const MESSAGE_ERROR: Node = 17;
const MESSAGE_CONTENT: Node = 18;
const BLOCK: Node = 19;
const BLOCK_TYPE: Node = 20;
const BLOCK_TEXT: Node = 21;
const WRAPPED_CALL_ID: Node = 22;
const WRAPPED_ERROR: Node = 23;
const WRAPPED_CONTENT: Node = 24;
const PART: Node = 25;
const PART_TYPE: Node = 26;
const PART_TEXT: Node = 27;

/// Which of the types of event that a scan reads a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Session,
    Call,
    Result,
    Other,
}

/// What a message or a wrapper says of its result.
#[derive(Clone, Copy, Debug)]
struct Answer {
    call_id: Option<Name>,
    is_error: bool,
    content: Content,
}

const NO_ANSWER: Answer = Answer { call_id: None, is_error: false, content: Content::EMPTY };

/// A reader of the harness's lines.
#[derive(Debug)]
pub struct Dsh {
    form: CutForm,
    names: Names,
    event: Event,
    id: Option<Name>,
    seq: Option<i64>,
    turn: Option<i64>,
    step: Option<i64>,
    name: Option<Name>,
    data: Answer,
    has_message: bool,
    message: Answer,
    /// Id and error of the message's `tool-result` blocks.
    wrapped_id: Option<Name>,
    wrapped_error: bool,
    block: Block,
    /// The block in hand, should it be a wrapper.
    is_wrapper: bool,
    wrapper: Answer,
    part: Block,
}

impl Dsh {
    fn clear_message(&mut self) {
        self.has_message = false;
        self.message = NO_ANSWER;
        self.wrapped_id = None;
        self.wrapped_error = false;
    }

    fn clear_data(&mut self) {
        self.turn = None;
        self.step = None;
        self.name = None;
        self.data = NO_ANSWER;
        self.clear_message();
    }

    /// Where a wrapper's next text stands in the whole result.
    fn before_part(&self) -> Content {
        let code_points = self.message.content.code_points + self.wrapper.content.code_points;
        Content { code_points, ..Content::EMPTY }
    }

    fn end_block(&mut self, at: u64) {
        if !(self.is_wrapper && self.block.is_object) {
            self.block.end(at, &mut self.message.content);
            return;
        }
        self.message.content.add_wrapped(&self.wrapper.content);
        self.wrapped_id = self.wrapped_id.or(self.wrapper.call_id);
        self.wrapped_error |= self.wrapper.is_error;
    }
}

impl Shape for Dsh {
    #[inline]
    fn member(node: Node, key: &[u8]) -> Node {
        match (node, key) {
            (ROOT, b"type") => TYPE,
            (ROOT, b"seq") => SEQ,
            (ROOT, b"id") => ID,
            (ROOT, b"data") => DATA,
            (DATA, b"turn") => TURN,
            (DATA, b"step") => STEP,
            (DATA, b"callId") => DATA_CALL_ID,
            (DATA, b"name") => DATA_NAME,
            (DATA, b"isError") => DATA_ERROR,
            (DATA, b"content") => DATA_CONTENT,
            (DATA, b"message") => MESSAGE,
            (DATA_BLOCK, b"type") => DATA_BLOCK_TYPE,
            (DATA_BLOCK, b"text") => DATA_BLOCK_TEXT,
            (MESSAGE, b"toolCallId") => MESSAGE_CALL_ID,
            (MESSAGE, b"isError") => MESSAGE_ERROR,
            (MESSAGE, b"content") => MESSAGE_CONTENT,
            (BLOCK, b"type") => BLOCK_TYPE,
            (BLOCK, b"text") => BLOCK_TEXT,
            (BLOCK, b"toolCallId") => WRAPPED_CALL_ID,
            (BLOCK, b"isError") => WRAPPED_ERROR,
            (BLOCK, b"content") => WRAPPED_CONTENT,
            (PART, b"type") => PART_TYPE,
            (PART, b"text") => PART_TEXT,
            _ => SKIP,
        }
    }

    #[inline]
    fn element(node: Node) -> Node {
        match node {
            DATA_CONTENT => DATA_BLOCK,
            MESSAGE_CONTENT => BLOCK,
            WRAPPED_CONTENT => PART,
            _ => SKIP,
        }
    }

    #[inline]
    fn begin(&mut self, node: Node, kind: Kind, at: u64) {
        match node {
            TYPE => self.event = Event::Other,
            SEQ => self.seq = None,
            ID => self.id = None,
            DATA => self.clear_data(),
            TURN => self.turn = None,
            STEP => self.step = None,
            DATA_CALL_ID => self.data.call_id = None,
            DATA_NAME => self.name = None,
            DATA_ERROR => self.data.is_error = false,
            DATA_CONTENT => self.data.content = Content::EMPTY,
            MESSAGE => {
                self.clear_message();
                self.has_message = kind == Kind::Object;
            }
            MESSAGE_CALL_ID => self.message.call_id = None,
            MESSAGE_ERROR => self.message.is_error = false,
            MESSAGE_CONTENT => {
                self.message.content = Content::EMPTY;
                self.wrapped_id = None;
                self.wrapped_error = false;
            }
            BLOCK => {
                self.block = Block::begin(kind, at);
                self.is_wrapper = false;
                self.wrapper = NO_ANSWER;
            }
            DATA_BLOCK => self.block = Block::begin(kind, at),
            DATA_BLOCK_TYPE => self.block.is_text = false,
            BLOCK_TYPE => (self.block.is_text, self.is_wrapper) = (false, false),
            BLOCK_TEXT | DATA_BLOCK_TEXT => self.block.text = Measure::NO_TEXT,
            WRAPPED_CALL_ID => self.wrapper.call_id = None,
            WRAPPED_ERROR => self.wrapper.is_error = false,
            WRAPPED_CONTENT => self.wrapper.content = Content::EMPTY,
            PART => self.part = Block::begin(kind, at),
            PART_TYPE => self.part.is_text = false,
            PART_TEXT => self.part.text = Measure::NO_TEXT,
            _ => {}
        }
    }

    #[inline]
    fn string(&mut self, node: Node, text: &Text<'_>) {
        match node {
            TYPE => {
                self.event = if is(text, "tool/result") {
                    Event::Result
                } else if is(text, "tool/call") {
                    Event::Call
                } else if is(text, "session") {
                    Event::Session
                } else {
                    Event::Other
                };
            }
            ID => self.id = self.names.keep(text),
            DATA_CALL_ID => self.data.call_id = self.names.keep(text),
            DATA_NAME => self.name = self.names.keep(text),
            DATA_CONTENT => self.data.content.add_text(Content::measure_whole(text, &self.form)),
            DATA_BLOCK_TYPE => self.block.is_text = is(text, "text"),
            DATA_BLOCK_TEXT => self.block.text = self.data.content.measure(text, &self.form),
            MESSAGE_CALL_ID => self.message.call_id = self.names.keep(text),
            MESSAGE_CONTENT => self.message.content.add_text(Content::measure_whole(text, &self.form)),
            BLOCK_TYPE => {
                self.block.is_text = is(text, "text");
                self.is_wrapper = is(text, "tool-result");
            }
            BLOCK_TEXT => self.block.text = self.message.content.measure(text, &self.form),
            WRAPPED_CALL_ID => self.wrapper.call_id = self.names.keep(text),
            WRAPPED_CONTENT => {
                let measure = self.before_part().measure(text, &self.form);
                self.wrapper.content.add_text(measure);
            }
            PART_TYPE => self.part.is_text = is(text, "text"),
            PART_TEXT => self.part.text = self.before_part().measure(text, &self.form),
            _ => {}
        }
    }

    #[inline]
    fn literal(&mut self, node: Node, raw: &[u8]) {
        match node {
            SEQ => self.seq = integer(raw),
            TURN => self.turn = integer(raw),
            STEP => self.step = integer(raw),
            DATA_ERROR => self.data.is_error = raw == b"true",
            MESSAGE_ERROR => self.message.is_error = raw == b"true",
            WRAPPED_ERROR => self.wrapper.is_error = raw == b"true",
            _ => {}
        }
    }

    #[inline]
    fn end(&mut self, node: Node, at: u64) {
        match node {
            DATA_BLOCK => self.block.end(at, &mut self.data.content),
            BLOCK => self.end_block(at),
            PART => self.part.end(at, &mut self.wrapper.content),
            _ => {}
        }
    }
}

impl Lines for Dsh {
    const WORDS: &'static [&'static str] = &["tool/result", "tool/call", "assistant/message", "compaction/"];

    fn new(form: CutForm) -> Self {
        Self {
            form,
            names: Names::default(),
            event: Event::Other,
            id: None,
            seq: None,
            turn: None,
            step: None,
            name: None,
            data: NO_ANSWER,
            has_message: false,
            message: NO_ANSWER,
            wrapped_id: None,
            wrapped_error: false,
            block: Block::NONE,
            is_wrapper: false,
            wrapper: NO_ANSWER,
            part: Block::NONE,
        }
    }

    #[inline]
    fn start_line(&mut self) {
        self.names.clear();
        self.event = Event::Other;
        self.id = None;
        self.seq = None;
        self.clear_data();
    }

    #[inline]
    fn finish(&mut self, sink: &mut impl Sink) {
        match self.event {
            Event::Session => {
                if let Some(id) = self.names.get(self.id) {
                    sink.session(id);
                }
            }
            Event::Call => {
                if let Some(id) = self.names.get(self.data.call_id) {
                    sink.call(id, self.names.get(self.name));
                }
            }
            Event::Result => {
                let content = if self.has_message { self.message.content } else { self.data.content };
                sink.result(&Found {
                    call_id: self.names.get(self.message.call_id.or(self.wrapped_id).or(self.data.call_id)),
                    seq: self.seq,
                    turn: self.turn,
                    step: self.step,
                    is_error: self.message.is_error || self.wrapped_error || self.data.is_error,
                    code_points: content.code_points,
                    tokens: content.tokens + 4,
                    already_cut: content.is_cut(&self.form),
                    ..Found::default()
                });
            }
            Event::Other => {}
        }
    }
}
