//! A scan: many logs, on several threads, in bounded memory, summed in an order that does not depend on the threads.
//!
//! A file is read in ranges of [`RANGE`] bytes, each by one thread (`work`), which joins results to the calls it has
//! met and sums them by tool (`join`). What is left open, results whose call lies before, is joined when the parts
//! are put together, in the order of the files and of the ranges in them (`merge`), so that the same logs always give
//! the same answer.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::thread;

use crate::logs::Format;
use crate::marker::CutForm;
use crate::read::{CAPACITY, Reason};

mod join;
mod merge;
mod work;

use work::Shared;

/// Bytes of a file that one thread reads before it takes the next ones.
pub const RANGE: u64 = 16 << 20;

/// Malformed lines that are located; more are counted.
pub const LOCATED: usize = 100;

/// So many calls of a file are known before those of its earliest part are forgotten, so that the memory of a scan
/// does not grow with a file. A gigabyte of log holds some 70,000.
pub const CALLS_KEPT: usize = 1 << 18;

/// Code points of the longest cut result that a scan can tell: written in escapes throughout, it is still at hand
/// whole.
pub const LONGEST_CUT: u64 = CAPACITY as u64 / 2 / 12;

/// More threads than this are not started: a disk has fewer readers.
pub const MOST_THREADS: usize = 256;

/// How much of a scan is done at a time.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// Bytes of a file that one thread reads before it takes the next ones.
    range: u64,
    /// Bytes that what was found in a range may take before it is put to the others, though the range goes on.
    part: usize,
    /// Bytes that may wait for an earlier range before their threads wait as well.
    waiting: usize,
    /// Rows that may wait to be handed over, and that are handed over at a time.
    rows: usize,
}

const SIZES: Sizes = Sizes { range: RANGE, part: 1 << 18, waiting: 16 << 20, rows: 2048 };

/// What to count, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// A result of more code points is over the threshold.
    pub threshold: u64,
    /// What counts as already cut.
    pub form: CutForm,
    /// Which results become rows.
    pub rows: Rows,
    /// Leave out results that repeat an earlier one.
    pub unique: bool,
    /// Hold every line to the whole of JSON.
    pub strict: bool,
    /// Hand results over while the scan runs instead of keeping them.
    pub stream: bool,
    /// Threads; 0 is one for each processor.
    pub threads: usize,
}

/// Which results become rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// So many of the longest over the threshold; all over the threshold where they are handed over and not kept.
    Largest(usize),
    /// Every one, in the order of the logs.
    All,
}

/// One result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which of the files.
    pub file: usize,
    /// The format of the file.
    pub format: Format,
    /// Id of its session, as WTF-8.
    pub session: Option<Arc<[u8]>>,
    /// Line in the file, from 1.
    pub line: u64,
    /// Byte in the file, or in the text that it decompresses to, at which the line begins.
    pub offset: u64,
    /// Number of the event in its session.
    pub seq: Option<i64>,
    /// Number of the turn.
    pub turn: Option<i64>,
    /// Number of the step in the turn.
    pub step: Option<i64>,
    /// Name of the tool, as WTF-8; `None` when no call names it.
    pub tool: Option<Arc<[u8]>>,
    /// Id of the call, as WTF-8.
    pub call_id: Option<Arc<[u8]>>,
    /// Whether the log calls it an error.
    pub is_error: bool,
    /// Code points of its text.
    pub code_points: u64,
    /// The host's estimate.
    pub tokens: u64,
    /// Whether its text is exactly what a cut leaves.
    pub already_cut: bool,
    /// Whether it is on a side chain; `None` where the format knows none.
    pub sidechain: Option<bool>,
}

/// Sums over results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many.
    pub results: u64,
    /// Code points of their text.
    pub code_points: u64,
    /// How many are over the threshold.
    pub over_threshold: u64,
    /// How many are already cut.
    pub already_cut: u64,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.results += other.results;
        self.code_points += other.code_points;
        self.over_threshold += other.over_threshold;
        self.already_cut += other.already_cut;
    }

    fn of(code_points: u64, already_cut: bool, threshold: u64) -> Self {
        Self {
            results: 1,
            code_points,
            over_threshold: u64::from(code_points > threshold),
            already_cut: u64::from(already_cut),
        }
    }
}

/// Sums over everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Files that were read.
    pub files: u64,
    /// Their bytes, as they are on disk.
    pub bytes: u64,
    /// Their lines.
    pub lines: u64,
    /// Lines that are not JSON, or not whole.
    pub malformed_lines: u64,
    /// All results.
    pub results: Tally,
    /// Bytes of copies for the user interface.
    pub ui_copy_bytes: u64,
    /// Results without a tool in files so long that the call may have been forgotten.
    pub forgotten_calls: u64,
}

/// A malformed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Which of the files.
    pub file: usize,
    /// Line in the file, from 1.
    pub line: u64,
    /// Byte at which it begins.
    pub offset: u64,
    /// What is wrong with it.
    pub reason: Reason,
}

/// A file that was not read, or not to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Which of the files.
    pub file: usize,
    /// Why, in one sentence.
    pub reason: String,
}

/// What a scan found.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Sums over everything.
    pub totals: Totals,
    /// Sums by tool, the most code points first, then by name.
    pub by_tool: Vec<(Option<Arc<[u8]>>, Tally)>,
    /// The first [`LOCATED`], in the order of the files.
    pub malformed: Vec<Malformed>,
    /// In the order of the files.
    pub skipped: Vec<Skipped>,
    /// The largest over the threshold, longest first; or all, in the order of the logs; or none, when they were
    /// handed over.
    pub rows: Vec<Row>,
}

/// Is told how a scan goes, on the thread that called it.
pub trait Observer {
    /// So many bytes were read; called about ten times a second. A break ends the scan.
    fn progress(&mut self, bytes: u64) -> ControlFlow<()>;
    /// The next results, when they are handed over. A break ends the scan.
    fn rows(&mut self, rows: Vec<Row>) -> ControlFlow<()>;
}

/// The observer ended the scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the scan was interrupted")]
pub struct Interrupted;

/// Scan these files, in this order.
///
/// # Errors
/// [`Interrupted`] when the observer breaks. A file that cannot be read is among [`Summary::skipped`].
pub fn scan(files: &[PathBuf], options: &Options, observer: &mut dyn Observer) -> Result<Summary, Interrupted> {
    scan_in(files, options, SIZES, observer)
}

fn scan_in(
    files: &[PathBuf],
    options: &Options,
    sizes: Sizes,
    observer: &mut dyn Observer,
) -> Result<Summary, Interrupted> {
    let threads = match options.threads {
        0 => thread::available_parallelism().map_or(1, usize::from),
        threads => threads.min(MOST_THREADS),
    };
    let shared = Shared::new(files, options, sizes);
    let watched = thread::scope(|scope| {
        // Should this thread panic, the others must not wait for it.
        let _cancelling = shared.cancel_on_panic();
        let started = (0..threads).take_while(|_| {
            let running = shared.running();
            thread::Builder::new().spawn_scoped(scope, move || running.run()).is_ok()
        });
        if started.count() == 0 {
            // No thread to be had: this one reads, and reports when it is done.
            shared.running().run();
        }
        let watched = shared.watch(observer);
        if watched.is_break() {
            shared.cancel();
        }
        watched
    });
    match watched {
        ControlFlow::Continue(()) => Ok(shared.merger.into_inner().unwrap_or_else(PoisonError::into_inner).finish()),
        ControlFlow::Break(()) => Err(Interrupted),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::fs::File;
    use std::io::{Read as _, Write as _};

    use proptest::prelude::*;
    use tempfile::TempDir;

    use super::*;
    use crate::frames;
    use crate::logs::{HEAD_BYTES, MOST_ENTRIES};

    /// Takes the rows, and can end the scan.
    #[derive(Default)]
    struct Taker {
        rows: Vec<Row>,
        breaks: bool,
    }

    impl Observer for Taker {
        fn progress(&mut self, _: u64) -> ControlFlow<()> {
            if self.breaks { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
        fn rows(&mut self, rows: Vec<Row>) -> ControlFlow<()> {
            self.rows.extend(rows);
            ControlFlow::Continue(())
        }
    }

    fn options(threads: usize) -> Options {
        let form = CutForm::new(4096, 1024, "[...]");
        Options { threshold: 10, form, rows: Rows::All, unique: false, strict: false, stream: false, threads }
    }

    fn files(texts: &[&[u8]]) -> (TempDir, Vec<PathBuf>) {
        let directory = TempDir::new().unwrap();
        let paths: Vec<_> = (0..texts.len()).map(|i| directory.path().join(format!("{i}.jsonl"))).collect();
        for (path, text) in paths.iter().zip(texts) {
            std::fs::write(path, text).unwrap();
        }
        (directory, paths)
    }

    fn summary(paths: &[PathBuf], options: &Options, range: u64) -> Summary {
        scan_in(paths, options, Sizes { range, ..SIZES }, &mut Taker::default()).unwrap()
    }

    fn call(id: &str, name: &str) -> String {
        format!(
            "{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"tool_use\",\"id\":\"{id}\",\"name\":\"{name}\"}}]}}}}\n"
        )
    }

    fn result(id: &str, text: &str) -> String {
        format!(
            "{{\"type\":\"user\",\"message\":{{\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"{id}\",\"content\":\"{text}\"}}]}}}}\n"
        )
    }

    fn names(summary: &Summary) -> Vec<Option<String>> {
        let name = |row: &Row| row.tool.as_ref().map(|tool| String::from_utf8_lossy(tool).into_owned());
        summary.rows.iter().map(name).collect()
    }

    #[test]
    fn a_result_takes_the_tool_of_the_nearest_earlier_call_in_its_own_file() {
        let first = [
            call("a", "Read"),
            result("a", "x"),
            call("a", "Bash"),
            result("a", "x"),
            result("b", "x"),
            call("b", "Grep"),
        ];
        let second = result("a", "x");
        let (_directory, paths) = files(&[first.concat().as_bytes(), second.as_bytes()]);
        let expected = [Some("Read"), Some("Bash"), None, None].map(|name| name.map(str::to_owned));
        for range in [1, 7, 100, 1 << 20] {
            for threads in [1, 2, 5] {
                assert_eq!(names(&summary(&paths, &options(threads), range)), expected, "{range} {threads}");
            }
        }
    }

    #[test]
    fn lines_and_offsets_count_from_the_start_of_the_file() {
        let text = ["\n", &call("a", "Read"), "{\"message\"\n", &result("a", "x")].concat();
        let (_directory, paths) = files(&[text.as_bytes()]);
        let found = summary(&paths, &options(2), 16);
        assert_eq!((found.rows[0].line, found.rows[0].offset), (4, text.len() as u64 - result("a", "x").len() as u64));
        let malformed =
            Malformed { file: 0, line: 3, offset: 1 + call("a", "Read").len() as u64, reason: Reason::Short };
        assert_eq!(found.malformed, [malformed]);
        assert_eq!((found.totals.lines, found.totals.malformed_lines, found.totals.bytes), (4, 1, text.len() as u64));
    }

    #[test]
    fn of_the_longest_as_many_are_kept_as_were_asked_for_longest_first() {
        let lengths = [11, 30, 10, 20, 30, 12];
        let text: String = lengths.iter().map(|&length| result("a", &"x".repeat(length))).collect();
        let (_directory, paths) = files(&[text.as_bytes()]);
        let longest = |most| {
            let options = Options { rows: Rows::Largest(most), ..options(1) };
            summary(&paths, &options, RANGE).rows.iter().map(|row| (row.code_points, row.line)).collect::<Vec<_>>()
        };
        assert_eq!(longest(3), [(30, 2), (30, 5), (20, 4)]);
        assert_eq!(longest(9), [(30, 2), (30, 5), (20, 4), (12, 6), (11, 1)]);
        assert_eq!(longest(0), []);
    }

    #[test]
    fn results_are_handed_over_in_the_order_of_the_logs() {
        let text: String = (0..20_000).map(|i| result(&i.to_string(), "x")).collect();
        let (_directory, paths) = files(&[text.as_bytes(), text.as_bytes()]);
        let mut taker = Taker::default();
        let found =
            scan_in(&paths, &Options { stream: true, ..options(3) }, Sizes { range: 1000, ..SIZES }, &mut taker)
                .unwrap();
        assert!(found.rows.is_empty());
        let places: Vec<_> = taker.rows.iter().map(|row| (row.file, row.line)).collect();
        let expected: Vec<_> = (0..2).flat_map(|file| (1..=20_000).map(move |line| (file, line))).collect();
        assert!(places == expected);
    }

    #[test]
    fn a_result_that_repeats_an_earlier_one_counts_once_on_request() {
        let text = [result("a", "x"), result("b", "yy"), result("a", "x")].concat();
        let unnamed = text.replace("\"tool_use_id\":\"a\",", "");
        let (_directory, paths) = files(&[text.as_bytes(), text.as_bytes(), unnamed.as_bytes()]);
        let found = summary(&paths, &Options { unique: true, ..options(2) }, 64);
        // a and b once each; a result without an id repeats nothing.
        assert_eq!((found.totals.results.results, found.totals.results.code_points), (4, 5));
        assert_eq!(found.rows.len(), 4);
    }

    #[test]
    fn what_is_no_log_is_skipped_with_a_reason_and_the_others_stand() {
        let (directory, mut paths) =
            files(&[b"hello\n", result("a", "x").as_bytes(), b"{\"payload\":1}\n", b"", b"\n\n"]);
        paths.push(directory.path().join("missing"));
        paths.push(directory.path().to_owned());
        let found = summary(&paths, &options(2), RANGE);
        let skipped: Vec<_> = found.skipped.iter().map(|skipped| (skipped.file, skipped.reason.as_str())).collect();
        assert_eq!(skipped[0], (0, "not a session log of DSH or Claude Code"));
        assert_eq!(skipped[1], (2, "a session log of Codex, which this version does not read"));
        assert!(skipped[2].0 == 5 && skipped[2].1.starts_with("cannot be opened: "));
        assert_eq!(skipped[3], (6, "not a regular file"));
        assert_eq!((found.totals.files, found.totals.lines, found.totals.results.results), (3, 3, 1));
    }

    #[test]
    fn an_observer_that_breaks_ends_the_scan() {
        let text = result("a", "x").repeat(10_000);
        let (_directory, paths) = files(&[text.as_bytes()]);
        let mut taker = Taker { breaks: true, ..Taker::default() };
        assert_eq!(scan_in(&paths, &options(2), Sizes { range: 1000, ..SIZES }, &mut taker).unwrap_err(), Interrupted);
    }

    #[test]
    fn calls_long_past_are_forgotten_and_that_is_counted() {
        let mut text = call("first", "Read");
        let later = CALLS_KEPT + 20_000;
        for i in 0..later {
            text += &call(&i.to_string(), "Bash");
        }
        text += &[result("first", "x"), result(&(later - 1).to_string(), "x")].concat();
        let (_directory, paths) = files(&[text.as_bytes()]);
        let found = summary(&paths, &options(2), 1 << 20);
        assert_eq!(names(&found), [None, Some("Bash".to_owned())]);
        assert_eq!(found.totals.forgotten_calls, 1);
    }

    fn compressed(parts: &[&[u8]]) -> Vec<u8> {
        parts.iter().flat_map(|part| zstd::encode_all(*part, 3).unwrap()).collect()
    }

    #[test]
    fn frames_one_behind_the_other_are_one_log() {
        let (a, b) = (call("a", "Read"), result("a", "x"));
        let (head, tail) = b.split_at(9);
        let log = compressed(&[a.as_bytes(), b"", head.as_bytes(), tail.as_bytes()]);
        let (_directory, paths) = files(&[&log]);
        let found = summary(&paths, &options(2), RANGE);
        assert_eq!(names(&found), [Some("Read".to_owned())]);
        assert_eq!(found.rows[0].offset, a.len() as u64);
        assert_eq!((found.totals.bytes, found.totals.lines), (log.len() as u64, 2));
    }

    #[test]
    fn a_torn_frame_loses_itself_and_is_said() {
        let first = result("a", "x").repeat(1000);
        // One block, which no decoder gives out in parts.
        let second = result("b", "y");
        let mut log = compressed(&[first.as_bytes(), second.as_bytes()]);
        log.truncate(log.len() - 3);
        let (_directory, paths) = files(&[&log]);
        let found = summary(&paths, &options(1), RANGE);
        assert_eq!((found.totals.lines, found.totals.results.results, found.totals.malformed_lines), (1000, 1000, 1));
        let torn = Malformed { file: 0, line: 1001, offset: first.len() as u64, reason: Reason::TornFrame };
        assert_eq!(found.malformed, [torn]);
    }

    #[test]
    fn a_compressed_log_tells_its_format_by_a_line_longer_than_a_buffer() {
        let line = result("a", &"x".repeat(3 * CAPACITY));
        let (_directory, paths) = files(&[&compressed(&[line.as_bytes()])]);
        assert_eq!(summary(&paths, &options(1), RANGE).totals.results.code_points, 3 * CAPACITY as u64);
    }

    #[test]
    fn a_damaged_frame_ends_the_log_and_is_said() {
        let good = compressed(&[result("a", "x").as_bytes()]);
        let log = [&good[..], b"not a frame"].concat();
        let (_directory, paths) = files(&[&log]);
        let found = summary(&paths, &options(1), RANGE);
        assert_eq!(found.totals.results.results, 1);
        assert_eq!(found.malformed[0].reason, Reason::DamagedFrame);
    }

    /// Logs of both formats, one compressed: results, calls, sessions and broken lines.
    fn logs(events: &[(u8, u8, usize)]) -> Vec<Vec<u8>> {
        let mut texts = [String::new(), String::new(), String::new()];
        for &(kind, id, length) in events {
            let (log, tool) = (usize::from(id % 3), ["Read", "Bash"][length % 2]);
            let text = &mut texts[log];
            match (kind, log) {
                (0, 0 | 1) => *text += &call(&id.to_string(), tool),
                (0, _) => writeln!(
                    text,
                    r#"{{"type":"tool/call","seq":{length},"data":{{"callId":"{id}","name":"{tool}"}}}}"#
                )
                .unwrap(),
                (1, _) => writeln!(text, "{{\"seq\":{}", "y".repeat(length)).unwrap(),
                (2, 2) => writeln!(text, r#"{{"type":"session","id":"s{length}","createdAt":1}}"#).unwrap(),
                (_, 0 | 1) => *text += &result(&id.to_string(), &"é".repeat(length)),
                (_, _) => {
                    let content = "é".repeat(length);
                    writeln!(
                        text,
                        r#"{{"type":"tool/result","seq":{length},"data":{{"callId":"{id}","content":"{content}"}}}}"#
                    )
                    .unwrap();
                }
            }
        }
        let [first, second, third] = texts;
        vec![first.into_bytes(), compressed(&[second.as_bytes()]), third.into_bytes()]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn neither_ranges_nor_parts_nor_threads_change_the_answer(
            events in prop::collection::vec((0u8..5, 0u8..6, 0usize..40), 0..80),
            range in 1u64..2000, part in 1usize..4000, waiting in 0usize..4000, rows in 1usize..9,
            threads in 1usize..4, unique in any::<bool>(), stream in any::<bool>(),
        ) {
            let logs = logs(&events);
            let (_directory, paths) = files(&logs.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let options = |threads, stream| Options { unique, stream, ..options(threads) };
            let whole = summary(&paths, &options(1, false), RANGE);
            let mut taker = Taker::default();
            let split = scan_in(&paths, &options(threads, stream), Sizes { range, part, waiting, rows }, &mut taker).unwrap();
            prop_assert_eq!(split.totals, whole.totals);
            prop_assert_eq!(split.by_tool, whole.by_tool);
            prop_assert_eq!(if stream { taker.rows } else { split.rows }, whole.rows);
            prop_assert_eq!(split.malformed, whole.malformed);
        }
    }

    #[test]
    fn many_ranges_of_a_later_file_wait_for_an_earlier_one() {
        // The first file opens last: it tells its format only behind a long blank, and by then the other's ranges are
        // all taken.
        let first = [" ".repeat(900_000).as_str(), "\n", &result("a", "x").repeat(9)].concat();
        let second = result("b", "yy").repeat(5000);
        let (_directory, paths) = files(&[first.as_bytes(), second.as_bytes()]);
        for _ in 0..20 {
            let sizes = Sizes { range: 1000, part: 500, waiting: 0, rows: 1 };
            let found = scan_in(&paths, &options(3), sizes, &mut Taker::default()).unwrap();
            assert_eq!(found.totals.results.results, 5009);
        }
    }

    #[test]
    fn a_dsh_session_names_every_row_of_its_log() {
        let row = |seq: u32| format!("{{\"type\":\"tool/result\",\"seq\":{seq},\"data\":{{\"content\":\"x\"}}}}\n");
        let text =
            [&row(1), "{\"type\":\"session\",\"id\":7}\n{\"type\":\"session\",\"id\":\"s\"}\n", &row(2).repeat(90)]
                .concat();
        let (_directory, paths) = files(&[text.as_bytes()]);
        let found = summary(&paths, &options(2), 50);
        assert_eq!(found.rows.len(), 91);
        assert!(found.rows.iter().all(|row| row.session.as_deref() == Some(b"s")));
    }

    #[test]
    fn a_frame_torn_in_a_line_longer_than_the_buffer_loses_that_line_alone() {
        let second = result("b", &"x".repeat(3 * CAPACITY));
        let mut log = compressed(&[result("a", "x").as_bytes(), second.as_bytes()]);
        log.truncate(log.len() - 3);
        let (_directory, paths) = files(&[&log]);
        let found = summary(&paths, &options(1), RANGE);
        let torn = Malformed { file: 0, line: 2, offset: result("a", "x").len() as u64, reason: Reason::TornFrame };
        assert_eq!((found.totals.lines, found.totals.results.results), (1, 1));
        assert_eq!(found.malformed, [torn]);
    }

    #[test]
    fn a_fault_behind_a_line_longer_than_the_buffer_leaves_that_line() {
        for length in [CAPACITY - 1, CAPACITY, CAPACITY + 1, 2 * CAPACITY, 2 * CAPACITY + 1] {
            let line = result("a", &"x".repeat(length + 1 - result("a", "").len())).into_bytes();
            assert_eq!(line.len(), length + 1);
            let (_directory, paths) = files(&[&[&compressed(&[&line])[..], b"\n"].concat()]);
            let found = summary(&paths, &options(1), RANGE);
            assert_eq!((found.totals.lines, found.totals.results.results), (1, 1), "{length}");
            assert_eq!((found.malformed[0].line, found.malformed[0].offset), (2, line.len() as u64), "{length}");
        }
    }

    #[test]
    fn a_log_that_begins_with_a_mebibyte_of_blank_tells_nothing() {
        let blank = "\n".repeat(HEAD_BYTES);
        let (_directory, paths) =
            files(&[&blank.as_bytes()[1..], [&blank, result("a", "x").as_str()].concat().as_bytes()]);
        let found = summary(&paths, &options(1), RANGE);
        assert_eq!((found.totals.files, found.totals.lines), (1, HEAD_BYTES as u64 - 1));
        assert_eq!(found.skipped.len(), 1);
    }

    #[test]
    fn a_line_of_more_results_than_are_kept_is_refused_whole() {
        let block = r#"{"type":"tool_result","content":"x"}"#;
        let line =
            |count: usize| format!(r#"{{"type":"user","message":{{"content":[{}]}}}}"#, vec![block; count].join(","));
        let (_directory, paths) = files(&[line(MOST_ENTRIES).as_bytes(), line(MOST_ENTRIES + 1).as_bytes()]);
        let found = summary(&paths, &Options { rows: Rows::Largest(1), ..options(2) }, RANGE);
        assert_eq!(found.totals.results.results, MOST_ENTRIES as u64);
        assert_eq!(found.malformed[0].reason, Reason::Full);
    }

    #[test]
    fn the_bytes_of_a_compressed_file_are_all_progress() {
        struct Last(u64);
        impl Observer for Last {
            fn progress(&mut self, bytes: u64) -> ControlFlow<()> {
                self.0 = bytes;
                ControlFlow::Continue(())
            }
            fn rows(&mut self, _: Vec<Row>) -> ControlFlow<()> {
                ControlFlow::Continue(())
            }
        }
        let lines: String = (0..20_000).map(|i| result(&i.to_string(), &format!("{:x}", i * 7919))).collect();
        let log = compressed(&[lines.as_bytes()]);
        let (_directory, paths) = files(&[&log]);
        let mut last = Last(0);
        scan_in(&paths, &options(1), Sizes { range: 100, ..SIZES }, &mut last).unwrap();
        assert_eq!(last.0, log.len() as u64);
    }

    #[test]
    fn a_log_that_grows_is_read_up_to_its_size_at_opening() {
        let (_directory, paths) = files(&[result("a", "x").as_bytes()]);
        let file = Arc::new(File::open(&paths[0]).unwrap());
        let size = file.metadata().unwrap().len();
        let mut range = frames::Range::new(file, Arc::default(), 0, size, size);
        let mut appender = File::options().append(true).open(&paths[0]).unwrap();
        appender.write_all(result("b", "y").as_bytes()).unwrap();
        let mut read = Vec::new();
        range.read_to_end(&mut read).unwrap();
        assert_eq!(read, result("a", "x").as_bytes());
    }
}
