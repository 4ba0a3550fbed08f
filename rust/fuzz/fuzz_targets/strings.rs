//! Any bytes, walked as a raw JSON string: the counts agree with what is decoded, and no place lies outside.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolprune_core::{json, text};

fuzz_target!(|input: (&[u8], u16)| {
    let (raw, n) = input;
    let n = u64::from(n);
    let decoded = json::unescape(raw);
    let (code_points, units) = (json::code_points(raw), json::utf16_units(raw));
    assert_eq!(code_points, text::code_points(&decoded));
    assert_eq!(units, text::utf16_units(&decoded));
    let place = json::nth_code_point(raw, n);
    assert!(place <= raw.len());
    if std::str::from_utf8(raw).is_ok() {
        // What stands before the n-th code point is n of them, or all.
        assert_eq!(json::code_points(&raw[..place]), n.min(code_points));
    }
});
