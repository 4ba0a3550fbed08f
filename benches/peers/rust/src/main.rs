//! The scan's question, answered with Rust's JSON libraries: for every tool result its tool, its id, its code points.
//!
//! usage: rust-peers serde_json|serde_json-values|sonic-rs|simd-json FILE THREADS
//!
//! As one would write it for speed: each thread reads its part of the file through one buffer, looks for `"tool_` in a
//! line before it parses it, and deserializes only what it needs. `serde_json-values` alone is as most would write it:
//! every line becomes a value. A line that an engine refuses is given to `serde_json`: `simd-json` and whole values
//! refuse half a surrogate pair. `serde_json` fails the run on what it refuses itself.

mod engines;
mod found;
mod typed;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::thread;

use memchr::memmem;

use crate::engines::{Engine, Reader, read_typed};
use crate::found::Found;

/// Read the lines that begin in [start, end).
fn read_part(engine: Engine, path: &str, start: u64, end: u64) -> io::Result<Found> {
    let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
    let mut at = start;
    let mut line = Vec::new();
    if start > 0 {
        file.seek(SeekFrom::Start(start - 1))?;
        at += file.read_until(b'\n', &mut line)? as u64 - 1;
    }
    let word = memmem::Finder::new(b"\"tool_");
    let mut reader = Reader::new(engine);
    let mut found = Found::default();
    while at < end {
        line.clear();
        let length = file.by_ref().read_until(b'\n', &mut line)?;
        if length == 0 {
            break;
        }
        let parsed = engine == Engine::SerdeJsonValues || word.find(&line).is_some();
        if parsed && reader.read(&mut line, at, &mut found).is_err() {
            // The engine may have unescaped it in place: the file has it as it was.
            file.get_ref().read_exact_at(&mut line, at)?;
            read_typed(&line, at, &mut found).map_err(|error| io::Error::other(format!("byte {at}: {error}")))?;
        }
        at += length as u64;
    }
    Ok(found)
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [engine, path, threads] = &arguments[..] else {
        eprintln!("usage: rust-peers serde_json|serde_json-values|sonic-rs|simd-json FILE THREADS");
        std::process::exit(2);
    };
    let engine = Engine::named(engine).expect("the engine is one of those that the usage names");
    let threads: u64 = threads.parse().expect("THREADS is a number");
    let size = std::fs::metadata(path)?.len();
    let parts = thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|part| {
                scope.spawn(move || read_part(engine, path, size * part / threads, size * (part + 1) / threads))
            })
            .collect();
        running.into_iter().map(|part| part.join().expect("a thread ended")).collect::<io::Result<Vec<_>>>()
    })?;
    let mut whole = Found::default();
    for part in parts {
        whole.join(part);
    }
    println!("{}", whole.answer());
    Ok(())
}
