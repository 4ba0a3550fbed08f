//! A line as types that name only what is asked for, for every engine that deserializes through serde.
//!
//! Texts are counted and never copied. They are asked for as bytes, because `serde_json` refuses a lone surrogate in a
//! `str` and gives it as three bytes in bytes; an engine that has no bytes of its own gives a `str` in their place.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};

use crate::found::Found;

/// A line that holds calls or results.
#[derive(Deserialize)]
pub struct Line<'a> {
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
    id: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tool_use_id: Cow<'a, str>,
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

impl Line<'_> {
    /// Add the line's calls and results; `place` is the byte at which the line begins.
    pub fn add_to(&self, found: &mut Found, place: u64) {
        for block in &self.message.content.0 {
            if block.kind == "tool_use" {
                found.call(&block.id, block.name.as_deref());
            } else if block.kind == "tool_result" && self.kind == "user" {
                found.result(place, &block.tool_use_id, block.content.0);
            }
        }
    }
}

/// Every byte but those that continue a code point.
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

            fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
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

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(CodePoints(code_points(text.as_bytes())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut sum = 0;
                while let Some(part) = list.next_element::<Part<'de>>()? {
                    sum += if part.kind == "text" { part.text.0 } else { 0 };
                }
                Ok(CodePoints(sum))
            }
        }

        deserializer.deserialize_bytes(Content)
    }
}
