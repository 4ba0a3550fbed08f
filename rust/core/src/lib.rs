//! The parts of toolprune that touch text in bulk: the cut, the counting and the scan of session logs.
//!
//! Nothing here knows Python. The cut is planned once, over lengths ([`cut`]), and applied to UTF-8 ([`text`]) and to
//! raw JSON strings ([`json`]); the bindings apply the same plan to Python strings. On request its edges move to where
//! they part nothing ([`boundary`]).
//!
//! A scan reads a log's bytes ([`frames`]) line by line ([`read`]): one pass finds a line's structure
//! ([`structure`]), a walk along it ([`walk`]) hands values to the log's format ([`logs`]), and the results of all
//! lines, ranges and files are joined with their calls and summed ([`scan`]).

pub mod boundary;
pub mod cut;
pub mod frames;
pub mod json;
pub mod logs;
pub mod marker;
pub mod read;
pub mod scan;
mod simd;
pub mod structure;
pub mod text;
pub mod tokens;
pub mod walk;
