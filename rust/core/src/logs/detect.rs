//! Which format a log has, by the names of the members at the top of its lines, so that a torn or broken line tells
//! too.

use super::{Format, Name, Names, is};
use crate::structure::{BLOCK, MARGIN, Stop, Structure};
use crate::walk::{Kind, Node, ROOT, SKIP, Shape, Text, Walker};

/// A log tells its format within so many bytes, or not at all.
pub const HEAD_BYTES: usize = 1 << 20;

/// How much of a log its head is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// All of it.
    All,
    /// As much as is looked at, [`HEAD_BYTES`]: the last line may be cut.
    Enough,
    /// Less: the last line is left out, and more may be asked for.
    Part,
}

/// What the head of a log tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The format.
    pub detected: Detected,
    /// Id of the first `session` line of the harness, decoded: all lines of the log are that session's.
    pub session: Option<Vec<u8>>,
}

/// Which format the head of a log tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detected {
    /// A format that a scan reads.
    Format(Format),
    /// A known format that a scan does not read, by its name.
    Unread(&'static str),
    /// None: the log is blank.
    Blank,
    /// None that is known.
    #[default]
    Unknown,
}

const TYPE: Node = 2;
const CODEX: Node = 3;
const DSH: Node = 4;
const CREATED_AT: Node = 5;
const MESSAGE: Node = 6;
const CLAUDE_CODE: Node = 7;
const ID: Node = 8;

/// What `type` says, as far as it tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kinds {
    Session,
    Message,
    #[default]
    Other,
}

/// The members of one line that tell.
#[derive(Debug, Default)]
struct Members {
    /// One bit for each node that was met.
    met: u32,
    kind: Kinds,
    names: Names,
    id: Option<Name>,
}

impl Members {
    fn has(&self, node: Node) -> bool {
        self.met & (1 << node) != 0
    }

    fn tell(&self) -> Option<Detected> {
        let is_session = self.kind == Kinds::Session;
        if self.has(CODEX) {
            return Some(Detected::Unread("Codex"));
        }
        // Before DSH: some of Claude Code's lines have a `data` too.
        if self.has(CLAUDE_CODE) {
            return Some(Detected::Format(Format::ClaudeCode));
        }
        if self.has(DSH) || (is_session && self.has(CREATED_AT)) {
            return Some(Detected::Format(Format::Dsh));
        }
        if is_session || (self.kind == Kinds::Message && self.has(MESSAGE)) {
            return Some(Detected::Unread("pi"));
        }
        self.has(MESSAGE).then_some(Detected::Format(Format::ClaudeCode))
    }
}

impl Shape for Members {
    fn member(node: Node, key: &[u8]) -> Node {
        if node != ROOT {
            return SKIP;
        }
        match key {
            b"type" => TYPE,
            b"payload" => CODEX,
            b"data" | b"seq" | b"seq0" => DSH,
            b"createdAt" => CREATED_AT,
            b"message" => MESSAGE,
            b"id" => ID,
            b"sessionId" | b"leafUuid" | b"parentUuid" | b"toolUseResult" | b"snapshot" | b"isSnapshotUpdate" => {
                CLAUDE_CODE
            }
            _ => SKIP,
        }
    }

    fn element(_: Node) -> Node {
        SKIP
    }

    fn begin(&mut self, node: Node, _: Kind, _: u64) {
        self.met |= 1 << node;
        match node {
            TYPE => self.kind = Kinds::Other,
            ID => self.names.forget(&mut self.id),
            _ => {}
        }
    }

    fn string(&mut self, node: Node, text: &Text<'_>) {
        match node {
            TYPE if is(text, "session") => self.kind = Kinds::Session,
            TYPE if is(text, "message") => self.kind = Kinds::Message,
            ID => self.id = self.names.keep(text),
            _ => {}
        }
    }

    fn literal(&mut self, _: Node, _: &[u8]) {}

    fn end(&mut self, _: Node, _: u64) {}
}

/// What `head`, the first bytes of a log, tells; `None` when more of it might tell more.
#[must_use]
pub fn detect(head: &[u8], seen: Seen) -> Option<Head> {
    let mut buffer = vec![b' '; MARGIN];
    buffer.extend_from_slice(head);
    buffer.push(b'\n');
    let end = buffer.len();
    buffer.resize(end + BLOCK, b' ');
    detect_in(&buffer, end, seen, &mut Structure::new(), &mut Walker::default())
}

/// The same for a head that stands in a reader's buffer, from [`MARGIN`] to a newline before `end`.
pub(crate) fn detect_in(
    buffer: &[u8],
    end: usize,
    seen: Seen,
    structure: &mut Structure,
    walker: &mut Walker,
) -> Option<Head> {
    let mut head: Option<Head> = None;
    let mut blank = true;
    let mut base = MARGIN + if buffer[MARGIN..end].starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    while base < end {
        structure.start_line();
        let Stop::Newline(length) = structure.read(buffer, base, end) else { break };
        let next = base + length + 1;
        if next == end && seen == Seen::Part {
            return None;
        }
        walker.start_line();
        let mut members = Members::default();
        let done = walker.line(&buffer[base..next], structure, &mut members);
        blank &= structure.is_blank();
        if head.is_none() {
            // A torn line tells by the members that came before the tear.
            head = members.tell().map(|detected| Head { detected, session: None });
        }
        if let Some(found) = &mut head {
            if found.detected != Detected::Format(Format::Dsh) {
                return head;
            }
            let is_session = done.is_ok() && structure.is_sound() && members.kind == Kinds::Session;
            if let Some(id) = members.names.get(members.id).filter(|_| is_session) {
                found.session = Some(id.to_vec());
                return head;
            }
        }
        base = next;
    }
    let nothing = if blank && seen == Seen::All { Detected::Blank } else { Detected::Unknown };
    Some(head.unwrap_or(Head { detected: nothing, session: None }))
}
