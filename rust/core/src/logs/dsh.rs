//! The `DeepSeek` Harness: `$DSH_HOME/sessions/**/session[.v4].jsonl[.zstd]`, log versions 0 and 4.
//!
//! A result is an event of type `tool/result`. Version 0 wraps its blocks in one of type `tool-result`, version 4 has
//! them in the message itself, and some recordings have them in `data` without a message. A host that replaces a
//! result appends another event.

use super::{Block, Content, Lines, Measure, Name, Names, Sink, ToolResult, integer, is};
use crate::marker::CutForm;
use crate::tokens;
use crate::walk::{Kind, Node, ROOT, SKIP, Shape, Text};

const TYPE: Node = 2;
const SEQ: Node = 3;
const DATA: Node = 4;
const TURN: Node = 5;
const STEP: Node = 6;
const DATA_CALL_ID: Node = 7;
const DATA_NAME: Node = 8;
const DATA_ERROR: Node = 9;
const DATA_CONTENT: Node = 10;
const MESSAGE: Node = 11;
const MESSAGE_CALL_ID: Node = 12;
const MESSAGE_ERROR: Node = 13;
const MESSAGE_CONTENT: Node = 14;
const BLOCK: Node = 15;
const BLOCK_TYPE: Node = 16;
const BLOCK_TEXT: Node = 17;
const WRAPPED_CALL_ID: Node = 18;
const WRAPPED_ERROR: Node = 19;
const WRAPPED_CONTENT: Node = 20;
const PART: Node = 21;
const PART_TYPE: Node = 22;
const PART_TEXT: Node = 23;

/// Which of the types of event that a scan reads a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Call,
    Result,
    Other,
}

/// What a message, the data around it or a wrapper in it says of its result.
#[derive(Clone, Copy, Debug)]
struct Answer {
    call_id: Option<Name>,
    is_error: bool,
    content: Content,
    /// Of the wrappers in the content.
    wrapped_id: Option<Name>,
    wrapped_error: bool,
}

const NO_ANSWER: Answer =
    Answer { call_id: None, is_error: false, content: Content::EMPTY, wrapped_id: None, wrapped_error: false };

impl Answer {
    /// Void the content, because a later one takes its place.
    fn clear_content(&mut self) {
        *self = Self { call_id: self.call_id, is_error: self.is_error, ..NO_ANSWER };
    }
}

/// A reader of the harness's lines.
#[derive(Debug)]
pub struct Dsh {
    form: CutForm,
    names: Names,
    event: Event,
    seq: Option<i64>,
    turn: Option<i64>,
    step: Option<i64>,
    name: Option<Name>,
    data: Answer,
    message: Answer,
    has_message: bool,
    /// Whether the content in hand is the message's, and not the data's.
    in_message: bool,
    block: Block,
    /// Whether the block in hand is a wrapper, and what it says if it is.
    is_wrapper: bool,
    wrapper: Answer,
    part: Block,
}

impl Dsh {
    fn clear_message(&mut self) {
        self.has_message = false;
        self.message = NO_ANSWER;
    }

    fn clear_data(&mut self) {
        self.turn = None;
        self.step = None;
        self.name = None;
        self.data = NO_ANSWER;
        self.clear_message();
    }

    /// What the content in hand belongs to.
    fn answer(&mut self) -> &mut Answer {
        if self.in_message { &mut self.message } else { &mut self.data }
    }

    /// Measure a text of a block in hand.
    fn measure(&mut self, text: &Text<'_>) -> Measure {
        let content = self.answer().content;
        content.measure(text, &self.form)
    }

    /// Measure a text of a wrapper in hand: in the whole result it stands behind the blocks before the wrapper.
    fn measure_wrapped(&mut self, text: &Text<'_>) -> Measure {
        let code_points = self.answer().content.code_points + self.wrapper.content.code_points;
        Content { code_points, ..Content::EMPTY }.measure(text, &self.form)
    }

    fn end_block(&mut self, at: u64) {
        let (block, wrapper, is_wrapper) = (self.block, self.wrapper, self.is_wrapper);
        let answer = self.answer();
        if is_wrapper && block.is_object {
            answer.content.add_wrapped(&wrapper.content);
            answer.wrapped_id = answer.wrapped_id.or(wrapper.call_id);
            answer.wrapped_error |= wrapper.is_error;
        } else {
            block.end(at, &mut answer.content);
        }
    }
}

impl Shape for Dsh {
    #[inline]
    fn member(node: Node, key: &[u8]) -> Node {
        match (node, key) {
            (ROOT, b"type") => TYPE,
            (ROOT, b"seq") => SEQ,
            (ROOT, b"data") => DATA,
            (DATA, b"turn") => TURN,
            (DATA, b"step") => STEP,
            (DATA, b"callId") => DATA_CALL_ID,
            (DATA, b"name") => DATA_NAME,
            (DATA, b"isError") => DATA_ERROR,
            (DATA, b"content") => DATA_CONTENT,
            (DATA, b"message") => MESSAGE,
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
            DATA_CONTENT | MESSAGE_CONTENT => BLOCK,
            WRAPPED_CONTENT => PART,
            _ => SKIP,
        }
    }

    #[inline]
    fn begin(&mut self, node: Node, kind: Kind, at: u64) {
        match node {
            TYPE => self.event = Event::Other,
            SEQ => self.seq = None,
            DATA => self.clear_data(),
            TURN => self.turn = None,
            STEP => self.step = None,
            DATA_CALL_ID => self.names.forget(&mut self.data.call_id),
            DATA_NAME => self.names.forget(&mut self.name),
            DATA_ERROR => self.data.is_error = false,
            DATA_CONTENT => {
                self.in_message = false;
                self.data.clear_content();
            }
            MESSAGE => {
                self.clear_message();
                self.has_message = kind == Kind::Object;
            }
            MESSAGE_CALL_ID => self.names.forget(&mut self.message.call_id),
            MESSAGE_ERROR => self.message.is_error = false,
            MESSAGE_CONTENT => {
                self.in_message = true;
                self.message.clear_content();
            }
            BLOCK => {
                self.block = Block::begin(kind, at);
                self.is_wrapper = false;
                self.wrapper = NO_ANSWER;
            }
            BLOCK_TYPE => (self.block.is_text, self.is_wrapper) = (false, false),
            BLOCK_TEXT => self.block.text = Measure::NO_TEXT,
            WRAPPED_CALL_ID => self.names.forget(&mut self.wrapper.call_id),
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
                } else {
                    Event::Other
                };
            }
            DATA_CALL_ID => self.data.call_id = self.names.keep(text),
            DATA_NAME => self.name = self.names.keep(text),
            DATA_CONTENT | MESSAGE_CONTENT => {
                let measure = Content::measure_whole(text, &self.form);
                self.answer().content.add_text(measure);
            }
            MESSAGE_CALL_ID => self.message.call_id = self.names.keep(text),
            BLOCK_TYPE => {
                self.block.is_text = is(text, "text");
                self.is_wrapper = is(text, "tool-result");
            }
            BLOCK_TEXT => self.block.text = self.measure(text),
            WRAPPED_CALL_ID => self.wrapper.call_id = self.names.keep(text),
            WRAPPED_CONTENT => {
                let measure = self.measure_wrapped(text);
                self.wrapper.content.add_text(measure);
            }
            PART_TYPE => self.part.is_text = is(text, "text"),
            PART_TEXT => self.part.text = self.measure_wrapped(text),
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
            seq: None,
            turn: None,
            step: None,
            name: None,
            data: NO_ANSWER,
            message: NO_ANSWER,
            has_message: false,
            in_message: false,
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
        self.seq = None;
        self.clear_data();
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.names.is_full()
    }

    #[inline]
    fn finish(&mut self, sink: &mut impl Sink) {
        match self.event {
            Event::Call => {
                if let Some(id) = self.names.get(self.data.call_id) {
                    sink.call(id, self.names.get(self.name));
                }
            }
            Event::Result => {
                let (message, data) = (&self.message, &self.data);
                let answer = if self.has_message { message } else { data };
                sink.result(&ToolResult {
                    call_id: self.names.get(message.call_id.or(answer.wrapped_id).or(data.call_id)),
                    seq: self.seq,
                    turn: self.turn,
                    step: self.step,
                    is_error: message.is_error || answer.wrapped_error || data.is_error,
                    code_points: answer.content.code_points,
                    tokens: answer.content.tokens + tokens::MESSAGE,
                    already_cut: answer.content.is_cut(&self.form),
                    ..ToolResult::default()
                });
            }
            Event::Other => {}
        }
    }
}
