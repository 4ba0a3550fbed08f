//! The scan's question, answered with `serde_json`: for every tool result its tool, its id, its code points.
//!
//! usage: serde-json-peer FILE THREADS
//!
//! As one would write it for speed: each thread reads its part of the file through one buffer, looks for `"tool_` in a
//! line before it parses it, and deserializes only what it needs. Texts are asked for as bytes, because `serde_json`
//! refuses a lone surrogate in a `str` and gives it as three bytes in bytes; they are counted and never copied.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::thread;

use memchr::memmem;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

const THRESHOLD: u64 = 8192;
const LONGEST: usize = 1000;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    message: Message<'a>,
}

#[derive(Default, Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    content: Blocks<'a>,
}

/// The blocks of a message whose content is a list; none where it is a string.
#[derive(Default)]
struct Blocks<'a>(Vec<Block<'a>>);

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tool_use_id: Option<Cow<'a, str>>,
    #[serde(default)]
    content: CodePoints,
}

/// Code points of a result's content: a string, or a list of blocks.
#[derive(Default)]
struct CodePoints(u64);

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(default)]
    text: CodePoints,
}

fn code_points(text: &[u8]) -> u64 {
    text.iter().filter(|&&byte| byte.cast_signed() > -65).count() as u64
}

impl<'de: 'a, 'a> Deserialize<'de> for Blocks<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Content;

        impl<'de> Visitor<'de> for Content {
            type Value = Blocks<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a string or a list of blocks")
            }

            fn visit_bytes<E>(self, _: &[u8]) -> Result<Self::Value, E> {
                Ok(Blocks(Vec::new()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut blocks = Vec::new();
                while let Some(block) = list.next_element()? {
                    blocks.push(block);
                }
                Ok(Blocks(blocks))
            }
        }

        deserializer.deserialize_bytes(Content)
    }
}

impl<'de> Deserialize<'de> for CodePoints {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Content;

        impl<'de> Visitor<'de> for Content {
            type Value = CodePoints;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a string or a list of blocks")
            }

            fn visit_bytes<E>(self, text: &[u8]) -> Result<Self::Value, E> {
                Ok(CodePoints(code_points(text)))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut sum = 0;
                while let Some(part) = list.next_element::<Part<'de>>()? {
                    sum += if part.kind == "text" { part.text.0 } else { 0 };
                }
                Ok(CodePoints(sum))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(CodePoints(0))
            }
        }

        deserializer.deserialize_bytes(Content)
    }
}

#[derive(Default)]
struct Sums {
    results: u64,
    code_points: u64,
    over: u64,
}

struct Long {
    code_points: u64,
    place: u64,
    id: String,
    tool: Option<String>,
}

/// What a part of the file holds; results whose call may stand in an earlier part are left open.
#[derive(Default)]
struct Found {
    calls: HashMap<String, Option<String>>,
    sums: BTreeMap<Option<String>, Sums>,
    long: Vec<Long>,
    open: Vec<(u64, String, u64)>,
}

impl Found {
    fn add(&mut self, place: u64, id: &str, tool: Option<String>, code_points: u64) {
        if code_points > THRESHOLD {
            self.long.push(Long { code_points, place, id: id.to_owned(), tool: tool.clone() });
        }
        let sums = self.sums.entry(tool).or_default();
        sums.results += 1;
        sums.code_points += code_points;
        sums.over += u64::from(code_points > THRESHOLD);
    }

    fn line(&mut self, place: u64, line: &Line<'_>) {
        for block in &line.message.content.0 {
            if block.kind == "tool_use" {
                let id = block.id.as_deref().unwrap_or_default();
                self.calls.insert(id.to_owned(), block.name.as_deref().map(str::to_owned));
            } else if block.kind == "tool_result" && line.kind == "user" {
                let id = block.tool_use_id.as_deref().unwrap_or_default();
                match self.calls.get(id) {
                    Some(tool) => self.add(place, id, tool.clone(), block.content.0),
                    None => self.open.push((place, id.to_owned(), block.content.0)),
                }
            }
        }
    }

    /// Take in the part that follows.
    fn join(&mut self, next: Self) {
        for (place, id, code_points) in next.open {
            let tool = self.calls.get(&id).cloned().flatten();
            self.add(place, &id, tool, code_points);
        }
        for (tool, sums) in next.sums {
            let together = self.sums.entry(tool).or_default();
            together.results += sums.results;
            together.code_points += sums.code_points;
            together.over += sums.over;
        }
        self.calls.extend(next.calls);
        self.long.extend(next.long);
    }
}

/// Read the lines that begin in [start, end).
fn read_part(path: &str, start: u64, end: u64) -> io::Result<Found> {
    let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
    let mut at = start;
    let mut line = Vec::new();
    if start > 0 {
        file.seek(SeekFrom::Start(start - 1))?;
        at += file.read_until(b'\n', &mut line)? as u64 - 1;
    }
    let word = memmem::Finder::new(b"\"tool_");
    let mut found = Found::default();
    while at < end {
        line.clear();
        let length = file.by_ref().read_until(b'\n', &mut line)?;
        if length == 0 {
            break;
        }
        if word.find(&line).is_some() {
            match serde_json::from_slice::<Line<'_>>(&line) {
                Ok(parsed) => found.line(at, &parsed),
                Err(error) => return Err(io::Error::other(format!("byte {at}: {error}"))),
            }
        }
        at += length as u64;
    }
    Ok(found)
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, path, threads] = &arguments[..] else {
        eprintln!("usage: serde-json-peer FILE THREADS");
        std::process::exit(2);
    };
    let threads: u64 = threads.parse().expect("THREADS is a number");
    let size = std::fs::metadata(path)?.len();
    let parts = thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|part| scope.spawn(move || read_part(path, size * part / threads, size * (part + 1) / threads)))
            .collect();
        running.into_iter().map(|part| part.join().expect("a thread ended")).collect::<io::Result<Vec<_>>>()
    })?;
    let mut whole = Found::default();
    parts.into_iter().for_each(|part| whole.join(part));
    whole.long.sort_by_key(|long| (u64::MAX - long.code_points, long.place));
    let by_tool: Vec<_> =
        whole.sums.iter().map(|(tool, sums)| (tool, sums.results, sums.code_points, sums.over)).collect();
    let longest: Vec<_> =
        whole.long.iter().take(LONGEST).map(|long| (long.code_points, &long.id, &long.tool)).collect();
    println!("{}", serde_json::json!({ "by_tool": by_tool, "longest": longest }));
    Ok(())
}
