//! The vector pass over a JSON line, 64 bytes at a time: the twin of the plain pass in `structure.rs`, which it must equal.
//!
//! The only file of this crate with `unsafe`: vector loads through raw pointers. Every pointer is derived from a slice whose bounds
//! the safe entry points check first.
#![allow(unsafe_code)]

use crate::structure::{Stop, Structure};

/// Whether this processor has the instructions that the vector pass needs.
#[must_use]
pub(crate) fn available() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("pclmulqdq")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// See [`Structure::read`]; only called where [`available`] holds.
pub(crate) fn read(s: &mut Structure, buffer: &[u8], base: usize, end: usize) -> Stop {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: `available` was asked when the structure was made.
        unsafe { x86::read(s, buffer, base, end) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        unreachable!("no vectors on this processor: {:?} {} {base} {end}", s.blocks, buffer.len())
    }
}

/// Ones in these words; only called where [`available`] holds.
pub(crate) fn count_ones(words: &[u64]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: `available` was asked when the structure was made.
        unsafe { x86::count_ones(words) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        crate::structure::count_ones_plain(words)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_clmulepi64_si128, _mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_loadu_si128, _mm_set1_epi8,
        _mm256_and_si256, _mm256_blendv_epi8, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8,
        _mm256_loadu_si256, _mm256_max_epu8, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
        _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_storeu_si256, _mm256_subs_epu8,
        _mm256_testz_si256, _mm256_xor_si256,
    };

    use crate::structure::{BLOCK, Stop, Structure, UnicodeCarry, count_ones_plain};

    /// The 64 bytes of a block.
    #[derive(Clone, Copy)]
    struct Bytes(__m256i, __m256i);

    impl Bytes {
        /// # Safety
        /// 64 bytes must be readable at `from`.
        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
        unsafe fn load(from: *const u8) -> Self {
            // SAFETY: the caller's.
            unsafe { Self(_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(32).cast())) }
        }

        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
        fn equal(self, byte: u8) -> u64 {
            let wanted = _mm256_set1_epi8(byte.cast_signed());
            mask(_mm256_cmpeq_epi8(self.0, wanted), _mm256_cmpeq_epi8(self.1, wanted))
        }

        /// Bytes in `low..=high`, both ASCII; `fold` turns capitals into small letters first.
        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
        fn between(self, low: u8, high: u8, fold: u8) -> u64 {
            let fold = _mm256_set1_epi8(fold.cast_signed());
            let (a, b) = (_mm256_or_si256(self.0, fold), _mm256_or_si256(self.1, fold));
            let (below, above) =
                (_mm256_set1_epi8((low - 1).cast_signed()), _mm256_set1_epi8((high + 1).cast_signed()));
            let (a, b) = (
                _mm256_and_si256(_mm256_cmpgt_epi8(a, below), _mm256_cmpgt_epi8(above, a)),
                _mm256_and_si256(_mm256_cmpgt_epi8(b, below), _mm256_cmpgt_epi8(above, b)),
            );
            mask(a, b)
        }

        /// Bytes that stand in the table at their own low four bits.
        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
        fn in_table(self, table: __m256i) -> u64 {
            mask(
                _mm256_cmpeq_epi8(self.0, _mm256_shuffle_epi8(table, self.0)),
                _mm256_cmpeq_epi8(self.1, _mm256_shuffle_epi8(table, self.1)),
            )
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
    fn mask(a: __m256i, b: __m256i) -> u64 {
        u64::from(_mm256_movemask_epi8(a).cast_unsigned()) | (u64::from(_mm256_movemask_epi8(b).cast_unsigned()) << 32)
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
    fn table(values: [u8; 16]) -> __m256i {
        // SAFETY: the array is the 16 bytes that are loaded.
        unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(values.as_ptr().cast::<__m128i>())) }
    }

    /// 64 zeros, then 64 bytes of ones: loaded at `64 - n`, it blends away all but a block's first `n` bytes.
    #[repr(align(64))]
    struct Blanks([u8; 2 * BLOCK]);
    static BLANKS: Blanks = {
        let mut bytes = [0; 2 * BLOCK];
        let mut i = BLOCK;
        while i < 2 * BLOCK {
            bytes[i] = 0xFF;
            i += 1;
        }
        Blanks(bytes)
    };

    /// # Safety
    /// The processor must have the features; `base` must be at least `MARGIN`, and `end` a block before the buffer's end.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
    pub(super) unsafe fn read(s: &mut Structure, buffer: &[u8], base: usize, end: usize) -> Stop {
        let space = _mm256_set1_epi8(b' '.cast_signed());
        let mut utf8_faults = _mm256_setzero_si256();
        let mut string_faults = 0u64;
        let mut carry = s.carry;
        // The line's last block is read again from here, blank behind its newline; 32 bytes before it for looking back.
        let mut copy = [b' '; 32 + BLOCK];
        let mut stop = None;
        loop {
            let from = base + s.blocks * BLOCK;
            if from + BLOCK > end && memchr::memchr(b'\n', &buffer[from..end]).is_none() {
                break;
            }
            s.reserve_block();
            // SAFETY: `from` is at most `end`, and a block behind that is within the buffer.
            let mut bytes = unsafe { Bytes::load(buffer.as_ptr().add(from)) };
            // Where the bytes before the block can be read too: it begins at least MARGIN into the buffer.
            let mut at = buffer[from - 32..].as_ptr();
            // Control characters and all that is no ASCII; most blocks have neither.
            let mut unusual = mask(_mm256_cmpgt_epi8(space, bytes.0), _mm256_cmpgt_epi8(space, bytes.1));
            if unusual != 0 {
                let newlines = bytes.equal(b'\n');
                if newlines != 0 {
                    let length = newlines.trailing_zeros() as usize;
                    stop = Some(Stop::Newline(s.blocks * BLOCK + length));
                    // SAFETY: both copies stay within their arrays: length <= 63, and 32 bytes are readable at `at`.
                    unsafe {
                        let blank = Bytes::load(BLANKS.0.as_ptr().add(BLOCK - length));
                        let to = copy.as_mut_ptr();
                        _mm256_storeu_si256(to.cast(), _mm256_loadu_si256(at.cast()));
                        _mm256_storeu_si256(to.add(32).cast(), _mm256_blendv_epi8(bytes.0, space, blank.0));
                        _mm256_storeu_si256(to.add(64).cast(), _mm256_blendv_epi8(bytes.1, space, blank.1));
                        bytes = Bytes::load(to.add(32));
                    }
                    at = copy.as_ptr();
                    unusual = mask(_mm256_cmpgt_epi8(space, bytes.0), _mm256_cmpgt_epi8(space, bytes.1));
                }
            }
            let (mut control, mut dropped, mut astral) = (0u64, 0u64, 0u64);
            if unusual != 0 || carry.multibyte != 0 {
                let high = mask(bytes.0, bytes.1);
                control = unusual & !high;
                if high != 0 || carry.multibyte != 0 {
                    // SAFETY: 32 bytes before the block and the block are readable at `at`.
                    let found = unsafe {
                        if carry.started {
                            utf8_fault(at.add(32), at.add(64))
                        } else {
                            let mut first = [b' '; 32 + BLOCK];
                            first[32..].copy_from_slice(std::slice::from_raw_parts(at.add(32), BLOCK));
                            utf8_fault(first.as_ptr().add(32), first.as_ptr().add(64))
                        }
                    };
                    utf8_faults = _mm256_or_si256(utf8_faults, found);
                    // As signed numbers, continuation bytes are those below -64.
                    let least = _mm256_set1_epi8(-64);
                    dropped = mask(_mm256_cmpgt_epi8(least, bytes.0), _mm256_cmpgt_epi8(least, bytes.1));
                    let four = _mm256_set1_epi8(0xF0u8.cast_signed());
                    astral = mask(
                        _mm256_cmpeq_epi8(_mm256_max_epu8(bytes.0, four), bytes.0),
                        _mm256_cmpeq_epi8(_mm256_max_epu8(bytes.1, four), bytes.1),
                    );
                    carry.multibyte = high >> 61;
                }
            }
            let backslashes = bytes.equal(b'\\');
            let escapes = escapes(backslashes, &mut carry.escaped);
            dropped |= escapes.backslashes;
            // The frequent escaped characters by their low four bits; b and r share theirs with the quote.
            let frequent =
                table([0x7F, 0, b'"', 0, b't', 0, b'f', 0, 0, 0, 0, 0, b'\\', 0, b'n', b'/']);
            let rare = if escapes.escaped == 0 { 0 } else { escapes.escaped & !bytes.in_table(frequent) };
            if rare != 0 || carry.unicode_open != 0 {
                let unicode = unicode_escapes(bytes, rare, &mut carry.unicode);
                dropped |= unicode.dropped;
                astral |= unicode.astral;
                string_faults |= unicode.faults;
                carry.unicode_open = carry.unicode.u >> 54;
            }
            s.dropped[s.blocks] = dropped;
            s.astral[s.blocks] = astral;
            let quotes = bytes.equal(b'"') & !escapes.escaped;
            if quotes == 0 && carry.in_string == !0 {
                string_faults |= control;
            } else {
                let strings = prefix_xor(quotes) ^ carry.in_string;
                carry.in_string = (strings.cast_signed() >> 63).cast_unsigned();
                string_faults |= control & strings;
                let tokens = tokens(bytes, quotes, strings, &mut carry.in_scalar);
                // SAFETY: `reserve_block` made room for a block's tokens.
                unsafe { push_tokens(s, tokens) };
            }
            s.blocks += 1;
            carry.started = true;
            if stop.is_some() {
                break;
            }
        }
        s.carry = carry;
        s.faults.utf8 |= _mm256_testz_si256(utf8_faults, utf8_faults) == 0;
        s.faults.string |= string_faults != 0;
        match stop {
            Some(stop) => {
                s.faults.string |= carry.in_string != 0 || carry.escaped != 0;
                stop
            }
            None => Stop::Window(s.blocks * BLOCK),
        }
    }

    struct Escapes {
        /// backslashes that begin an escape
        backslashes: u64,
        /// the characters behind them
        escaped: u64,
    }

    /// Which characters are escaped: those behind a run of backslashes of odd length (the subtraction carries through runs).
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
    fn escapes(backslashes: u64, carry: &mut u64) -> Escapes {
        const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
        let possible = backslashes & !*carry;
        let codes = ((possible << 1) | ODD).wrapping_sub(possible) ^ ODD;
        let escaped = codes ^ (backslashes | *carry);
        let begins = codes & backslashes;
        *carry = begins >> 63;
        Escapes { backslashes: begins, escaped }
    }

    /// Each bit the parity of the bits up to it: ones from an opening quote up to, not including, the closing one.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
    fn prefix_xor(bits: u64) -> u64 {
        let product = _mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(bits.cast_signed()), _mm_set1_epi8(-1));
        _mm_cvtsi128_si64(product).cast_unsigned()
    }

    /// Operators outside strings, opening quotes, and first bytes of other scalars.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
    fn tokens(bytes: Bytes, quotes: u64, strings: u64, in_scalar: &mut u64) -> u64 {
        let operators = table([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, b':', b'{', b',', b'}', 0, 0]);
        let blanks = table([b' ', 0, 0, 0, 0, 0, 0, 0, 0, b'\t', b'\n', 0, 0, b'\r', 0, 0]);
        // With bit 5 set, `[` and `]` become `{` and `}`.
        let fold = _mm256_set1_epi8(0x20);
        let operators = mask(
            _mm256_cmpeq_epi8(_mm256_or_si256(bytes.0, fold), _mm256_shuffle_epi8(operators, bytes.0)),
            _mm256_cmpeq_epi8(_mm256_or_si256(bytes.1, fold), _mm256_shuffle_epi8(operators, bytes.1)),
        );
        let scalars = !(operators | bytes.in_table(blanks) | strings | quotes);
        let starts = scalars & !((scalars << 1) | *in_scalar);
        *in_scalar = scalars >> 63;
        (operators & !strings) | (quotes & strings) | starts
    }

    /// # Safety
    /// There must be room for 64 tokens behind `s.count`.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
    unsafe fn push_tokens(s: &mut Structure, mut bits: u64) {
        let count = bits.count_ones() as usize;
        debug_assert!(s.count + BLOCK <= s.tokens.len());
        #[allow(clippy::cast_possible_truncation)] // a window is shorter than 4 GiB
        let position = (s.blocks * BLOCK) as u32;
        // Written in sixes whether there are as many or not: a branch a token would cost more than the stores.
        // SAFETY: the caller's; at most 64 are written.
        unsafe {
            let to = s.tokens.as_mut_ptr().add(s.count);
            let mut written = 0;
            loop {
                for i in 0..6 {
                    *to.add(written + i) = position + bits.trailing_zeros();
                    bits &= bits.wrapping_sub(1);
                }
                written += 6;
                if written >= count {
                    break;
                }
            }
        }
        s.count += count;
    }

    struct Unicode {
        dropped: u64,
        astral: u64,
        faults: u64,
    }

    /// Escapes other than the frequent ones: `\uXXXX`, of which only the second digit counts, nothing for the low half of a pair.
    #[inline(never)]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
    fn unicode_escapes(bytes: Bytes, rare: u64, carry: &mut UnicodeCarry) -> Unicode {
        let shifted = |mask: u64, before: u64, by: u32| (mask << by) | (before >> (64 - by));
        let u = rare & bytes.equal(b'u');
        let others = rare ^ u;
        let mut faults = if others == 0 { 0 } else { others & !(bytes.equal(b'b') | bytes.equal(b'r')) };
        let (first, second) = (shifted(u, carry.u, 1), shifted(u, carry.u, 2));
        let (third, fourth) = (shifted(u, carry.u, 3), shifted(u, carry.u, 4));
        let digits = bytes.between(b'0', b'9', 0) | bytes.between(b'a', b'f', 0x20);
        faults |= (first | second | third | fourth) & !digits;
        let d = bytes.between(b'd', b'd', 0x20);
        let after_d = second & shifted(d, carry.d, 1);
        let high = after_d & (bytes.between(b'8', b'9', 0) | bytes.between(b'a', b'b', 0x20));
        let pair = shifted(high, carry.high, 4) & u;
        let low = shifted(pair, carry.pair, 2) & after_d & bytes.between(b'c', b'f', 0x20);
        *carry = UnicodeCarry { u, d, high, pair };
        Unicode { dropped: u | first | third | fourth | low, astral: low, faults }
    }

    /// Not zero where the 64 bytes at `a` and `b` break the rules of UTF-8, given the bytes before them.
    ///
    /// # Safety
    /// 3 bytes before `a` and 32 from `a` and from `b` must be readable.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
    unsafe fn utf8_fault(a: *const u8, b: *const u8) -> __m256i {
        // SAFETY: the caller's.
        unsafe { _mm256_or_si256(utf8_fault_32(a), utf8_fault_32(b)) }
    }

    /// The three-table check of Keiser and Lemire, "Validating UTF-8 in less than one instruction per byte" (2021): each table names, for
    /// one half-byte, the errors that it does not rule out; an error that all three leave standing is one.
    ///
    /// # Safety
    /// 3 bytes before `at` and 32 from it must be readable.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
    unsafe fn utf8_fault_32(at: *const u8) -> __m256i {
        /// a continuation is missing
        const SHORT: u8 = 1;
        /// a continuation too many
        const LONG: u8 = 1 << 1;
        /// three bytes for what fits in two
        const OVERLONG_3: u8 = 1 << 2;
        /// beyond U+10FFFF
        const LARGE: u8 = 1 << 3;
        /// a surrogate
        const SURROGATE: u8 = 1 << 4;
        /// two bytes for ASCII
        const OVERLONG_2: u8 = 1 << 5;
        /// beyond U+10FFFF by the lead byte, or four bytes for what fits in three
        const LARGE_LEAD: u8 = 1 << 6;
        const OVERLONG_4: u8 = 1 << 6;
        /// two continuations: right only as third or fourth byte
        const CONTINUATIONS: u8 = 1 << 7;
        /// errors that the low half of the first byte cannot rule out
        const ANY: u8 = SHORT | LONG | CONTINUATIONS;
        let first_high = table([
            LONG,
            LONG,
            LONG,
            LONG,
            LONG,
            LONG,
            LONG,
            LONG,
            CONTINUATIONS,
            CONTINUATIONS,
            CONTINUATIONS,
            CONTINUATIONS,
            SHORT | OVERLONG_2,
            SHORT,
            SHORT | OVERLONG_3 | SURROGATE,
            SHORT | LARGE | LARGE_LEAD | OVERLONG_4,
        ]);
        let beyond = ANY | LARGE | LARGE_LEAD;
        let first_low = table([
            ANY | OVERLONG_3 | OVERLONG_2 | OVERLONG_4,
            ANY | OVERLONG_2,
            ANY,
            ANY,
            ANY | LARGE,
            beyond,
            beyond,
            beyond,
            beyond,
            beyond,
            beyond,
            beyond,
            beyond,
            beyond | SURROGATE,
            beyond,
            beyond,
        ]);
        let continued = LONG | OVERLONG_2 | CONTINUATIONS;
        let second_high = table([
            SHORT,
            SHORT,
            SHORT,
            SHORT,
            SHORT,
            SHORT,
            SHORT,
            SHORT,
            continued | OVERLONG_3 | LARGE_LEAD | OVERLONG_4,
            continued | OVERLONG_3 | LARGE,
            continued | SURROGATE | LARGE,
            continued | SURROGATE | LARGE,
            SHORT,
            SHORT,
            SHORT,
            SHORT,
        ]);
        // SAFETY: the caller's.
        let (now, one, two, three) = unsafe {
            (
                _mm256_loadu_si256(at.cast()),
                _mm256_loadu_si256(at.sub(1).cast()),
                _mm256_loadu_si256(at.sub(2).cast()),
                _mm256_loadu_si256(at.sub(3).cast()),
            )
        };
        let low_half = _mm256_set1_epi8(0x0F);
        let standing = _mm256_and_si256(
            _mm256_and_si256(
                _mm256_shuffle_epi8(first_high, _mm256_and_si256(_mm256_srli_epi16(one, 4), low_half)),
                _mm256_shuffle_epi8(first_low, _mm256_and_si256(one, low_half)),
            ),
            _mm256_shuffle_epi8(second_high, _mm256_and_si256(_mm256_srli_epi16(now, 4), low_half)),
        );
        // Bytes two behind a lead of three, or three behind a lead of four, must be continuations, and only they may.
        let must = _mm256_and_si256(
            _mm256_or_si256(
                _mm256_subs_epu8(two, _mm256_set1_epi8(0x60)),
                _mm256_subs_epu8(three, _mm256_set1_epi8(0x70)),
            ),
            _mm256_set1_epi8(0x80u8.cast_signed()),
        );
        _mm256_xor_si256(must, standing)
    }

    /// # Safety
    /// The processor must have the features.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
    pub(super) unsafe fn count_ones(words: &[u64]) -> u64 {
        count_ones_plain(words)
    }
}
