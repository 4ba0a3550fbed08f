//! The parts of toolprune that touch text in bulk: the cut, the counting and the scan of session logs.
//!
//! Nothing here knows Python. The cut is planned once, over lengths ([`cut`]), and applied to UTF-8 ([`text`]) and to raw
//! JSON strings ([`json`]); the bindings apply the same plan to Python strings.

pub mod cut;
pub mod json;
pub mod marker;
pub mod text;
