//! The libraries, each asked as one would ask it for speed.
//!
//! What they make of half a surrogate pair, written as an escape (JSON has it, UTF-8 has not):
//!
//! - `serde_json` gives it as three bytes where bytes are asked for, so that counting stays exact.
//! - `sonic-rs` puts U+FFFD in its place when it is asked to be lossy: one code point for another.
//! - `simd-json` refuses the line, and so do whole values of `serde_json`, whose strings are UTF-8. The caller gives
//!   such a line to `serde_json`'s types.

use std::io;

use serde_json::Value;
use simd_json::Buffers;

use crate::found::Found;
use crate::typed::Line;

/// The longest line that buffers are made for at first; they grow with a longer one.
const LINE: usize = 1 << 16;

/// How lines become calls and results.
#[derive(Clone, Copy, PartialEq)]
pub enum Engine {
    /// `serde_json`, into types.
    SerdeJson,
    /// `serde_json`, every line into a whole value that is then walked, as it is written when speed is no matter.
    SerdeJsonValues,
    /// `sonic-rs`, into types.
    SonicRs,
    /// `simd-json`, into types, in place.
    SimdJson,
}

impl Engine {
    /// The engine that an argument names.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "serde_json" => Some(Self::SerdeJson),
            "serde_json-values" => Some(Self::SerdeJsonValues),
            "sonic-rs" => Some(Self::SonicRs),
            "simd-json" => Some(Self::SimdJson),
            _ => None,
        }
    }
}

/// An engine with the buffers that it keeps from line to line.
pub struct Reader {
    engine: Engine,
    buffers: Buffers,
}

impl Reader {
    pub fn new(engine: Engine) -> Self {
        Self { engine, buffers: Buffers::new(LINE) }
    }

    /// Add a line's calls and results. The line is used up; where it is refused, nothing has been added.
    pub fn read(&mut self, line: &mut [u8], place: u64, found: &mut Found) -> io::Result<()> {
        match self.engine {
            Engine::SerdeJson => read_typed(line, place, found)?,
            Engine::SerdeJsonValues => add_value(&serde_json::from_slice(line)?, place, found),
            Engine::SonicRs => {
                let mut deserializer = sonic_rs::Deserializer::from_slice(line).utf8_lossy();
                let parsed: Line<'_> = deserializer.deserialize().map_err(io::Error::other)?;
                deserializer.end().map_err(io::Error::other)?;
                parsed.add_to(found, place);
            }
            Engine::SimdJson => {
                let parsed: Line<'_> =
                    simd_json::serde::from_slice_with_buffers(line, &mut self.buffers).map_err(io::Error::other)?;
                parsed.add_to(found, place);
            }
        }
        Ok(())
    }
}

/// Add a line's calls and results by `serde_json`'s types, which take every line that is JSON.
pub fn read_typed(line: &[u8], place: u64, found: &mut Found) -> serde_json::Result<()> {
    serde_json::from_slice::<Line<'_>>(line)?.add_to(found, place);
    Ok(())
}

fn add_value(line: &Value, place: u64, found: &mut Found) {
    for block in line["message"]["content"].as_array().into_iter().flatten() {
        if block["type"] == "tool_use" {
            found.call(block["id"].as_str().unwrap_or_default(), block["name"].as_str());
        } else if block["type"] == "tool_result" && line["type"] == "user" {
            let id = block["tool_use_id"].as_str().unwrap_or_default();
            found.result(place, id, code_points(&block["content"]));
        }
    }
}

fn code_points(content: &Value) -> u64 {
    match content {
        Value::String(text) => text.chars().count() as u64,
        Value::Array(parts) => {
            parts.iter().filter(|part| part["type"] == "text").map(|part| code_points(&part["text"])).sum()
        }
        _ => 0,
    }
}
