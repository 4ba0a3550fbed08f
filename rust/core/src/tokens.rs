//! The host's estimate of tokens, from lengths alone: a quarter of the UTF-16 units, and a little for each thing
//! around them.

/// For the message that a result is in.
pub const MESSAGE: u64 = 4;

/// For a wrapper around the blocks of a result, where the host has one.
pub const WRAPPER: u64 = 4;

/// For each block.
const BLOCK: u64 = 4;

/// Tokens of a text of so many UTF-16 units.
#[must_use]
pub const fn text(utf16_units: u64) -> u64 {
    utf16_units.div_ceil(4) + BLOCK
}

/// Tokens of a block that is no text, of so many bytes of JSON.
#[must_use]
pub const fn other(json_bytes: u64) -> u64 {
    json_bytes.div_ceil(4) + BLOCK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_begun_quarter_counts_whole() {
        assert_eq!([text(0), text(1), text(4), text(5)], [4, 5, 5, 6]);
        assert_eq!([other(0), other(8), other(9)], [4, 6, 7]);
    }
}
