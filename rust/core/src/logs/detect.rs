//! Which format a log has, by the names of the members at the top of its lines, so that a torn or broken line tells too.

use super::{Format, is};
use crate::structure::{BLOCK, MARGIN, Stop, Structure};
use crate::walk::{Kind, Node, ROOT, SKIP, Shape, Text, Walker};

/// A log tells its format within so many bytes, or not at all.
pub const HEAD_BYTES: usize = 1 << 20;

/// What the first lines of a file tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detected {
    /// A format that a scan reads.
    Format(Format),
    /// A known format that a scan does not read, by its name.
    Unread(&'static str),
    /// Nothing but blank lines.
    Blank,
    /// Lines, none of which tells.
    Unknown,
}

const TYPE: Node = 2;
const CODEX: Node = 3;
const DSH: Node = 4;
const CREATED_AT: Node = 5;
const MESSAGE: Node = 6;
const CLAUDE_CODE: Node = 7;

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
        if node == TYPE {
            self.kind = Kinds::Other;
        }
    }

    fn string(&mut self, node: Node, text: &Text<'_>) {
        if node == TYPE {
            self.kind = if is(text, "session") {
                Kinds::Session
            } else if is(text, "message") {
                Kinds::Message
            } else {
                Kinds::Other
            };
        }
    }

    fn literal(&mut self, _: Node, _: &[u8]) {}

    fn end(&mut self, _: Node, _: u64) {}
}

/// What `head`, the first bytes of a log, tells. `whole` says that no more would: the log ends there, or [`HEAD_BYTES`] are there;
/// otherwise the last, unfinished line is left out, and `None` asks for more.
#[must_use]
pub fn detect(head: &[u8], whole: bool) -> Option<Detected> {
    let mut buffer = vec![b' '; MARGIN];
    buffer.extend_from_slice(head);
    buffer.push(b'\n');
    let end = buffer.len();
    buffer.resize(end + BLOCK, b' ');
    detect_in(&buffer, end, whole, &mut Structure::new(), &mut Walker::default())
}

/// The same for a head that stands in a reader's buffer, from [`MARGIN`] to a newline before `end`.
pub(crate) fn detect_in(
    buffer: &[u8],
    end: usize,
    whole: bool,
    structure: &mut Structure,
    walker: &mut Walker,
) -> Option<Detected> {
    let mut blank = true;
    let mut base = MARGIN + if buffer[MARGIN..end].starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    while base < end {
        structure.start_line();
        let Stop::Newline(length) = structure.read(buffer, base, end) else { break };
        let next = base + length + 1;
        if next == end && !whole {
            break;
        }
        walker.start_line();
        let mut members = Members::default();
        // A torn line tells by the members that came before the tear.
        let _ = walker.line(&buffer[base..next], structure, &mut members);
        blank &= structure.is_blank();
        if let Some(told) = members.tell() {
            return Some(told);
        }
        base = next;
    }
    whole.then_some(if blank { Detected::Blank } else { Detected::Unknown })
}
