//! Any bytes, read as a log: with vectors and without, whole and in small windows, the same is said of them.
#![no_main]

use std::cell::RefCell;
use std::fmt::Write as _;

use libfuzzer_sys::fuzz_target;
use toolprune_core::logs::{ClaudeCode, Dsh, Lines, Sink, ToolResult};
use toolprune_core::marker::CutForm;
use toolprune_core::read::{CAPACITY, LineSink, Reason, Scratch, Span};
use toolprune_core::structure::Structure;

/// Writes down all that it is told.
#[derive(Debug, Default, PartialEq)]
struct Said(String);

impl Sink for Said {
    fn call(&mut self, id: &[u8], name: Option<&[u8]>) {
        write!(self.0, "call {id:?} {name:?}; ").unwrap();
    }
    fn result(&mut self, found: &ToolResult<'_>) {
        write!(self.0, "{found:?}; ").unwrap();
    }
    fn ui_copy(&mut self, bytes: u64) {
        write!(self.0, "copy {bytes}; ").unwrap();
    }
}

impl LineSink for Said {
    fn line(&mut self, offset: u64) {
        write!(self.0, "\n{offset}: ").unwrap();
    }
    fn malformed(&mut self, reason: Reason) {
        write!(self.0, "malformed: {reason}").unwrap();
    }
}

fn read<L: Lines>(scratch: &mut Scratch, log: &[u8], strict: bool) -> Said {
    let span = Span { origin: 0, mid_line: false, stop: u64::MAX, strict };
    let mut said = Said::default();
    let mut input = log;
    let mut lines = L::new(CutForm::new(4, 2, "[...]"));
    scratch.read_lines(&mut input, span, &mut lines, &mut said).unwrap();
    said
}

thread_local! {
    static PLAIN: RefCell<Scratch> = RefCell::new(Scratch::new(Structure::plain(), CAPACITY));
    static VECTORS: RefCell<Scratch> = RefCell::new(Scratch::new(Structure::new(), CAPACITY));
}

fn hold<L: Lines>(log: &[u8], strict: bool, window: usize) {
    let plain = PLAIN.with_borrow_mut(|scratch| read::<L>(scratch, log, strict));
    assert_eq!(VECTORS.with_borrow_mut(|scratch| read::<L>(scratch, log, strict)), plain);
    // An id longer than half a window is not at hand: such a log says another thing in windows, and is left out.
    if log.split(|&byte| byte == b'"').all(|piece| piece.len() < window / 4) {
        assert_eq!(read::<L>(&mut Scratch::new(Structure::new(), window), log, strict), plain);
    }
}

fuzz_target!(|input: (&[u8], bool, u8)| {
    let (log, strict, size) = input;
    let window = 256 + 64 * usize::from(size);
    hold::<ClaudeCode>(log, strict, window);
    hold::<Dsh>(log, strict, window);
});
