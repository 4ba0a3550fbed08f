//! The vector pass over a JSON line, 64 bytes at a time: the twin of the plain pass in `structure.rs`, which it must
//! equal.
//!
//! One pass, written over what a block of bytes can be asked ([`Vector`]), and two sets of instructions that answer:
//! AVX2 in two halves, AVX-512 in one. Everything is inlined into the entry that enables the instructions.
//!
//! The only file of this crate with `unsafe`: the instructions and loads through raw pointers. Every pointer is
//! derived from a slice whose bounds the safe entry points check first.
#![allow(unsafe_code)]
// An instruction is inlined only into code compiled for it: whatever stands between it and the entry must be inlined
// first.
#![allow(clippy::inline_always)]

use crate::structure::{Stop, Structure};

/// Which instructions a pass uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vectors {
    /// None: byte by byte.
    None,
    /// AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512, byte and word.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Vectors {
    /// All that this processor has, the widest last.
    pub(crate) fn available() -> Vec<Self> {
        #[allow(unused_mut)]
        let mut all = vec![Self::None];
        #[cfg(target_arch = "x86_64")]
        {
            let common = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt")
                && is_x86_feature_detected!("pclmulqdq");
            if common {
                all.push(Self::Avx2);
            }
            if common && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
                all.push(Self::Avx512);
            }
        }
        all
    }

    /// See [`Structure::read`]. `base` must be at least `MARGIN`, and a block must lie behind `end`. `None` without
    /// vectors.
    #[inline]
    pub(crate) fn read(self, s: &mut Structure, buffer: &[u8], base: usize, end: usize) -> Option<Stop> {
        match self {
            Self::None => None,
            // SAFETY: the variant is made only where the processor has the instructions; the rest is the caller's.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => Some(unsafe { x86::read_avx2(s, buffer, base, end) }),
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => Some(unsafe { x86::read_avx512(s, buffer, base, end) }),
        }
    }

    /// Ones in these words. `None` without vectors.
    #[inline]
    pub(crate) fn count_ones(self, words: &[u64]) -> Option<u64> {
        match self {
            Self::None => None,
            // SAFETY: the variants are made only where the processor has the instruction.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 | Self::Avx512 => Some(unsafe { x86::count_ones(words) }),
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, __m512i, _mm_clmulepi64_si128, _mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_loadu_si128, _mm_set1_epi8,
        _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_loadu_si256,
        _mm256_max_epu8, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8, _mm256_shuffle_epi8,
        _mm256_srli_epi16, _mm256_subs_epu8, _mm256_testz_si256, _mm256_xor_si256, _mm512_and_si512,
        _mm512_broadcast_i32x4, _mm512_cmpeq_epi8_mask, _mm512_cmpge_epu8_mask, _mm512_cmplt_epi8_mask,
        _mm512_loadu_si512, _mm512_movepi8_mask, _mm512_or_si512, _mm512_set1_epi8, _mm512_shuffle_epi8,
        _mm512_srli_epi16, _mm512_subs_epu8, _mm512_test_epi8_mask, _mm512_xor_si512,
    };

    use crate::structure::{BLOCK, Carry, Stop, Structure, UnicodeCarry, count_ones_plain};

    /// What the 64 bytes of a block can be asked; an answer has one bit a byte.
    ///
    /// # Safety
    /// Of every function: the processor must have the instructions.
    trait Vector: Copy {
        /// The 64 bytes at `from`, which must be readable.
        unsafe fn load(from: *const u8) -> Self;
        /// Bytes equal to this one.
        unsafe fn equal(self, byte: u8) -> u64;
        /// Bytes that, as signed numbers, are below this one.
        unsafe fn below(self, limit: i8) -> u64;
        /// Bytes of at least this one.
        unsafe fn at_least(self, byte: u8) -> u64;
        /// The bytes with these bits set.
        unsafe fn with(self, bits: u8) -> Self;
        /// Bytes equal to those that the table has at the low four bits of `index`.
        unsafe fn in_table(self, table: &[u8; 16], index: Self) -> u64;
        /// Whether the block at `at` breaks the rules of UTF-8; the 3 bytes before it must be readable.
        unsafe fn breaks_utf8(at: *const u8) -> bool;
        /// [`unicode_escapes`], called and not inlined: few blocks need it.
        unsafe fn rare_escapes(self, rare: u64, carry: &mut UnicodeCarry) -> Unicode;
    }

    #[derive(Clone, Copy)]
    struct Avx2(__m256i, __m256i);

    #[inline(always)]
    unsafe fn mask(a: __m256i, b: __m256i) -> u64 {
        // SAFETY: the caller's.
        let (a, b) = unsafe { (_mm256_movemask_epi8(a), _mm256_movemask_epi8(b)) };
        u64::from(a.cast_unsigned()) | (u64::from(b.cast_unsigned()) << 32)
    }

    #[inline(always)]
    unsafe fn table_256(values: &[u8; 16]) -> __m256i {
        // SAFETY: the caller's; the array is the 16 bytes that are loaded.
        unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(values.as_ptr().cast())) }
    }

    impl Vector for Avx2 {
        #[inline(always)]
        unsafe fn load(from: *const u8) -> Self {
            // SAFETY: the instructions and the pointers are the caller's to guarantee.
            unsafe { Self(_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(32).cast())) }
        }

        #[inline(always)]
        unsafe fn equal(self, byte: u8) -> u64 {
            // SAFETY: the instructions and the pointers are the caller's to guarantee.
            unsafe {
                let wanted = _mm256_set1_epi8(byte.cast_signed());
                mask(_mm256_cmpeq_epi8(self.0, wanted), _mm256_cmpeq_epi8(self.1, wanted))
            }
        }

        #[inline(always)]
        unsafe fn below(self, limit: i8) -> u64 {
            // SAFETY: the instructions and the pointers are the caller's to guarantee.
            unsafe {
                let limit = _mm256_set1_epi8(limit);
                mask(_mm256_cmpgt_epi8(limit, self.0), _mm256_cmpgt_epi8(limit, self.1))
            }
        }

        #[inline(always)]
        unsafe fn at_least(self, byte: u8) -> u64 {
            // SAFETY: the instructions and the pointers are the caller's to guarantee.
            unsafe {
                let least = _mm256_set1_epi8(byte.cast_signed());
                mask(
                    _mm256_cmpeq_epi8(_mm256_max_epu8(self.0, least), self.0),
                    _mm256_cmpeq_epi8(_mm256_max_epu8(self.1, least), self.1),
                )
            }
        }

        #[inline(always)]
        unsafe fn with(self, bits: u8) -> Self {
            // SAFETY: the instructions and the pointers are the caller's to guarantee.
            unsafe {
                let bits = _mm256_set1_epi8(bits.cast_signed());
                Self(_mm256_or_si256(self.0, bits), _mm256_or_si256(self.1, bits))
            }
        }

        #[inline(always)]
        unsafe fn in_table(self, table: &[u8; 16], index: Self) -> u64 {
            // SAFETY: the instructions and the pointers are the caller's to guarantee.
            unsafe {
                let table = table_256(table);
                mask(
                    _mm256_cmpeq_epi8(self.0, _mm256_shuffle_epi8(table, index.0)),
                    _mm256_cmpeq_epi8(self.1, _mm256_shuffle_epi8(table, index.1)),
                )
            }
        }

        #[inline(always)]
        unsafe fn breaks_utf8(at: *const u8) -> bool {
            /// The check of 32 bytes; not zero where they break a rule.
            #[inline(always)]
            unsafe fn faults(at: *const u8) -> __m256i {
                // SAFETY: the instructions and the pointers are the caller's to guarantee.
                unsafe {
                    let now = _mm256_loadu_si256(at.cast());
                    let one = _mm256_loadu_si256(at.sub(1).cast());
                    let two = _mm256_loadu_si256(at.sub(2).cast());
                    let three = _mm256_loadu_si256(at.sub(3).cast());
                    let low_half = _mm256_set1_epi8(0x0F);
                    let high = |bytes| _mm256_and_si256(_mm256_srli_epi16(bytes, 4), low_half);
                    let standing = _mm256_and_si256(
                        _mm256_and_si256(
                            _mm256_shuffle_epi8(table_256(&utf8::FIRST_HIGH), high(one)),
                            _mm256_shuffle_epi8(table_256(&utf8::FIRST_LOW), _mm256_and_si256(one, low_half)),
                        ),
                        _mm256_shuffle_epi8(table_256(&utf8::SECOND_HIGH), high(now)),
                    );
                    let third = _mm256_subs_epu8(two, _mm256_set1_epi8(utf8::THIRD));
                    let fourth = _mm256_subs_epu8(three, _mm256_set1_epi8(utf8::FOURTH));
                    let must = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8(i8::MIN));
                    _mm256_xor_si256(must, standing)
                }
            }
            // SAFETY: the instructions and the pointers are the caller's to guarantee.
            unsafe {
                let faults = _mm256_or_si256(faults(at), faults(at.add(32)));
                _mm256_testz_si256(faults, faults) == 0
            }
        }

        #[inline(always)]
        unsafe fn rare_escapes(self, rare: u64, carry: &mut UnicodeCarry) -> Unicode {
            #[inline(never)]
            #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
            unsafe fn outlined(bytes: Avx2, rare: u64, carry: &mut UnicodeCarry) -> Unicode {
                // SAFETY: the instructions and the pointers are the caller's to guarantee.
                unsafe { unicode_escapes(bytes, rare, carry) }
            }
            // SAFETY: the instructions and the pointers are the caller's to guarantee.
            unsafe { outlined(self, rare, carry) }
        }
    }

    #[derive(Clone, Copy)]
    struct Avx512(__m512i);

    #[inline(always)]
    unsafe fn table_512(values: &[u8; 16]) -> __m512i {
        // SAFETY: the caller's; the array is the 16 bytes that are loaded.
        unsafe { _mm512_broadcast_i32x4(_mm_loadu_si128(values.as_ptr().cast())) }
    }

    impl Vector for Avx512 {
        #[inline(always)]
        unsafe fn load(from: *const u8) -> Self {
            // SAFETY: the instructions and the pointers are the caller's to guarantee.
            unsafe { Self(_mm512_loadu_si512(from.cast())) }
        }

        #[inline(always)]
        unsafe fn equal(self, byte: u8) -> u64 {
            // SAFETY: the instructions and the pointers are the caller's to guarantee.
            unsafe { _mm512_cmpeq_epi8_mask(self.0, _mm512_set1_epi8(byte.cast_signed())) }
        }

        #[inline(always)]
        unsafe fn below(self, limit: i8) -> u64 {
            // SAFETY: the instructions and the pointers are the caller's to guarantee.
            unsafe { _mm512_cmplt_epi8_mask(self.0, _mm512_set1_epi8(limit)) }
        }

        #[inline(always)]
        unsafe fn at_least(self, byte: u8) -> u64 {
            // SAFETY: the instructions and the pointers are the caller's to guarantee.
            unsafe {
                if byte == 0x80 {
                    return _mm512_movepi8_mask(self.0);
                }
                _mm512_cmpge_epu8_mask(self.0, _mm512_set1_epi8(byte.cast_signed()))
            }
        }

        #[inline(always)]
        unsafe fn with(self, bits: u8) -> Self {
            // SAFETY: the instructions and the pointers are the caller's to guarantee.
            unsafe { Self(_mm512_or_si512(self.0, _mm512_set1_epi8(bits.cast_signed()))) }
        }

        #[inline(always)]
        unsafe fn in_table(self, table: &[u8; 16], index: Self) -> u64 {
            // SAFETY: the instructions and the pointers are the caller's to guarantee.
            unsafe { _mm512_cmpeq_epi8_mask(self.0, _mm512_shuffle_epi8(table_512(table), index.0)) }
        }

        #[inline(always)]
        unsafe fn breaks_utf8(at: *const u8) -> bool {
            // SAFETY: the instructions and the pointers are the caller's to guarantee.
            unsafe {
                let now = _mm512_loadu_si512(at.cast());
                let one = _mm512_loadu_si512(at.sub(1).cast());
                let two = _mm512_loadu_si512(at.sub(2).cast());
                let three = _mm512_loadu_si512(at.sub(3).cast());
                let low_half = _mm512_set1_epi8(0x0F);
                let high = |bytes| _mm512_and_si512(_mm512_srli_epi16(bytes, 4), low_half);
                let standing = _mm512_and_si512(
                    _mm512_and_si512(
                        _mm512_shuffle_epi8(table_512(&utf8::FIRST_HIGH), high(one)),
                        _mm512_shuffle_epi8(table_512(&utf8::FIRST_LOW), _mm512_and_si512(one, low_half)),
                    ),
                    _mm512_shuffle_epi8(table_512(&utf8::SECOND_HIGH), high(now)),
                );
                let third = _mm512_subs_epu8(two, _mm512_set1_epi8(utf8::THIRD));
                let fourth = _mm512_subs_epu8(three, _mm512_set1_epi8(utf8::FOURTH));
                let must = _mm512_and_si512(_mm512_or_si512(third, fourth), _mm512_set1_epi8(i8::MIN));
                let faults = _mm512_xor_si512(must, standing);
                _mm512_test_epi8_mask(faults, faults) != 0
            }
        }

        #[inline(always)]
        unsafe fn rare_escapes(self, rare: u64, carry: &mut UnicodeCarry) -> Unicode {
            #[inline(never)]
            #[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
            unsafe fn outlined(bytes: Avx512, rare: u64, carry: &mut UnicodeCarry) -> Unicode {
                // SAFETY: the instructions and the pointers are the caller's to guarantee.
                unsafe { unicode_escapes(bytes, rare, carry) }
            }
            // SAFETY: the instructions and the pointers are the caller's to guarantee.
            unsafe { outlined(self, rare, carry) }
        }
    }

    /// The tables of Keiser and Lemire, "Validating UTF-8 in less than one instruction per byte" (2021): each names,
    /// for one half of a byte, the errors that it does not rule out; an error that all three leave standing is one.
    mod utf8 {
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
        /// beyond U+10FFFF by the first byte alone; or, as no byte can be both, four bytes for what fits in three
        const LARGE_LEAD: u8 = 1 << 6;
        const OVERLONG_4: u8 = 1 << 6;
        /// two continuations: right only as third or fourth byte
        const CONTINUATIONS: u8 = 1 << 7;
        /// errors that the low half of the first byte cannot rule out
        const ANY: u8 = SHORT | LONG | CONTINUATIONS;
        const BEYOND: u8 = ANY | LARGE | LARGE_LEAD;
        /// errors of a second byte that is a continuation
        const CONTINUED: u8 = LONG | OVERLONG_2 | CONTINUATIONS;

        /// By the high half of the byte before.
        #[rustfmt::skip]
        pub(super) const FIRST_HIGH: [u8; 16] = [
            LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG,
            CONTINUATIONS, CONTINUATIONS, CONTINUATIONS, CONTINUATIONS,
            SHORT | OVERLONG_2, SHORT, SHORT | OVERLONG_3 | SURROGATE, SHORT | LARGE | LARGE_LEAD | OVERLONG_4,
        ];
        /// By the low half of the byte before.
        #[rustfmt::skip]
        pub(super) const FIRST_LOW: [u8; 16] = [
            ANY | OVERLONG_3 | OVERLONG_2 | OVERLONG_4, ANY | OVERLONG_2, ANY, ANY, ANY | LARGE,
            BEYOND, BEYOND, BEYOND, BEYOND, BEYOND, BEYOND, BEYOND, BEYOND, BEYOND | SURROGATE, BEYOND, BEYOND,
        ];
        /// By the high half of the byte itself.
        #[rustfmt::skip]
        pub(super) const SECOND_HIGH: [u8; 16] = [
            SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, SHORT,
            CONTINUED | OVERLONG_3 | LARGE_LEAD | OVERLONG_4, CONTINUED | OVERLONG_3 | LARGE,
            CONTINUED | SURROGATE | LARGE, CONTINUED | SURROGATE | LARGE,
            SHORT, SHORT, SHORT, SHORT,
        ];
        /// Two behind a byte of at least 0xE0, and three behind one of at least 0xF0, there must be a continuation,
        /// and only there may two stand side by side: subtracting these leaves the highest bit set.
        pub(super) const THIRD: i8 = 0xE0_u8.wrapping_sub(0x80).cast_signed();
        pub(super) const FOURTH: i8 = 0xF0_u8.wrapping_sub(0x80).cast_signed();
    }

    /// # Safety
    /// The processor must have the instructions; `base` must be at least `MARGIN`, and a block must lie behind `end`
    /// in the buffer.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
    pub(super) unsafe fn read_avx2(s: &mut Structure, buffer: &[u8], base: usize, end: usize) -> Stop {
        // SAFETY: the caller's.
        unsafe { read::<Avx2>(s, buffer, base, end) }
    }

    /// # Safety
    /// As for [`read_avx2`].
    #[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
    pub(super) unsafe fn read_avx512(s: &mut Structure, buffer: &[u8], base: usize, end: usize) -> Stop {
        // SAFETY: the caller's.
        unsafe { read::<Avx512>(s, buffer, base, end) }
    }

    /// # Safety
    /// The processor must have the instruction.
    #[target_feature(enable = "popcnt")]
    pub(super) unsafe fn count_ones(words: &[u64]) -> u64 {
        count_ones_plain(words)
    }

    #[inline(always)]
    unsafe fn read<V: Vector>(s: &mut Structure, buffer: &[u8], base: usize, end: usize) -> Stop {
        let whole = (end - base) / BLOCK;
        loop {
            s.reserve_blocks();
            // SAFETY: the caller's; `whole` blocks lie before `end`.
            if let Some(length) = unsafe { read_blocks::<V>(s, buffer, base, whole) } {
                return Stop::Newline(length);
            }
            if s.blocks == whole {
                break;
            }
        }
        let rest = &buffer[base + whole * BLOCK..end];
        let Some(newline) = memchr::memchr(b'\n', rest) else { return Stop::Window(whole * BLOCK) };
        s.reserve_blocks();
        // SAFETY: the caller's.
        unsafe { read_last_block::<V>(s, buffer, base, newline) };
        Stop::Newline(whole * BLOCK + newline)
    }

    /// Read on up to the newline, and give its offset; or up to `whole` blocks, or while there is room for tokens and
    /// bitmaps.
    #[inline(always)]
    unsafe fn read_blocks<V: Vector>(s: &mut Structure, buffer: &[u8], base: usize, whole: usize) -> Option<usize> {
        let first = s.blocks;
        let room = s.dropped.len().min(first + (s.tokens.len() - s.count) / (BLOCK + 6)).min(whole);
        let bytes_left = &buffer[base - LOOK_BACK..base + room.max(first) * BLOCK];
        let mut pass = Pass::start(s);
        let mut found = None;
        while pass.block < room {
            // SAFETY: of this and the next two: the block and LOOK_BACK bytes before it lie in `bytes_left`, room was
            // made for what it leaves, and the instructions are the caller's.
            let at = unsafe { bytes_left.as_ptr().add(LOOK_BACK + pass.block * BLOCK) };
            let bytes = unsafe { V::load(at) };
            // Control characters and all that is no ASCII; most blocks have neither.
            let unusual = unsafe { bytes.below(0x20) };
            if unusual != 0 {
                let newlines = unsafe { bytes.equal(b'\n') };
                if newlines != 0 {
                    found = Some(newlines.trailing_zeros() as usize);
                    break;
                }
            }
            // SAFETY: the instructions and the pointers are the caller's to guarantee.
            unsafe { pass.read(bytes, unusual, at, pass.started || pass.block > first) };
        }
        let blocks = pass.block;
        pass.finish(s, first);
        let newline = found?;
        // SAFETY: the caller's; there is room for one more block.
        unsafe { read_last_block::<V>(s, buffer, base, newline) };
        Some(blocks * BLOCK + newline)
    }

    /// Read the line's last block, blank from its newline on.
    #[inline(always)]
    unsafe fn read_last_block<V: Vector>(s: &mut Structure, buffer: &[u8], base: usize, newline: usize) {
        let first = s.blocks;
        let from = base + first * BLOCK;
        let mut copy = [b' '; LOOK_BACK + BLOCK];
        copy[..LOOK_BACK + newline].copy_from_slice(&buffer[from - LOOK_BACK..from + newline]);
        let mut pass = Pass::start(s);
        // SAFETY: the copy is as long as is read, and `reserve_blocks` made room.
        unsafe {
            let at = copy.as_ptr().add(LOOK_BACK);
            let bytes = V::load(at);
            pass.read(bytes, bytes.below(0x20), at, pass.started);
        }
        pass.string_faults |= pass.carry.in_string | pass.carry.escaped;
        pass.finish(s, first);
    }

    /// Bytes before a block that are looked at with it.
    const LOOK_BACK: usize = 32;

    /// A pass over some blocks: what they leave, in registers and not in the structure.
    struct Pass {
        carry: Carry,
        /// Whether the line began before the first of the blocks.
        started: bool,
        block: usize,
        count: usize,
        utf8_fault: bool,
        string_faults: u64,
        tokens: *mut u32,
        dropped: *mut u64,
        astral: *mut u64,
    }

    impl Pass {
        #[inline(always)]
        fn start(s: &mut Structure) -> Self {
            Self {
                carry: s.carry,
                started: s.carry.started,
                block: s.blocks,
                count: s.count,
                utf8_fault: false,
                string_faults: 0,
                tokens: s.tokens.as_mut_ptr(),
                dropped: s.dropped.as_mut_ptr(),
                astral: s.astral.as_mut_ptr(),
            }
        }

        #[inline(always)]
        fn finish(self, s: &mut Structure, first: usize) {
            (s.carry, s.blocks, s.count) = (self.carry, self.block, self.count);
            s.carry.started |= self.block > first;
            s.faults.utf8 |= self.utf8_fault;
            s.faults.string |= self.string_faults != 0;
        }

        /// Read the next block, whose bytes stand at `at` too; `unusual` are those below 0x20 as signed numbers.
        ///
        /// # Safety
        /// The processor must have the instructions; `LOOK_BACK` bytes before `at` and a block from it must be
        /// readable; and there must be room for a block's bitmaps and for BLOCK + 6 tokens.
        #[inline(always)]
        unsafe fn read<V: Vector>(&mut self, bytes: V, unusual: u64, at: *const u8, started: bool) {
            let carry = &mut self.carry;
            let (mut control, mut dropped, mut astral) = (0u64, 0u64, 0u64);
            // SAFETY: all the caller's.
            unsafe {
                if unusual | carry.multibyte != 0 {
                    let high = bytes.at_least(0x80);
                    control = unusual & !high;
                    if high | carry.multibyte != 0 {
                        self.utf8_fault |= if started { V::breaks_utf8(at) } else { first_breaks_utf8::<V>(at) };
                        // As signed numbers, continuation bytes are those below -64.
                        (dropped, astral) = (bytes.below(-64), bytes.at_least(0xF0));
                        carry.multibyte = high >> 61;
                    }
                }
                let escapes = escapes(bytes.equal(b'\\'), &mut carry.escaped);
                dropped |= escapes.backslashes;
                let rare = escapes.escaped & !bytes.in_table(&FREQUENT_ESCAPES, bytes);
                if rare | carry.unicode_open != 0 {
                    let unicode = bytes.rare_escapes(rare, &mut carry.unicode);
                    dropped |= unicode.dropped;
                    astral |= unicode.astral;
                    self.string_faults |= unicode.faults;
                    carry.unicode_open = carry.unicode.u >> 54;
                    carry.has_unicode |= carry.unicode.u != 0;
                }
                *self.dropped.add(self.block) = dropped;
                *self.astral.add(self.block) = astral;
                let quotes = bytes.equal(b'"') & !escapes.escaped;
                if quotes == 0 && carry.in_string == !0 {
                    self.string_faults |= control;
                } else {
                    let strings = prefix_xor(quotes) ^ carry.in_string;
                    carry.in_string = (strings.cast_signed() >> 63).cast_unsigned();
                    self.string_faults |= control & strings;
                    let found = find_tokens(bytes, quotes, strings, &mut carry.in_scalar);
                    #[allow(clippy::cast_possible_truncation)] // a window is shorter than 4 GiB
                    write_tokens(self.tokens.add(self.count), (self.block * BLOCK) as u32, found);
                    self.count += found.count_ones() as usize;
                }
            }
            self.block += 1;
        }
    }

    /// The same for a line's first block: what stands before it is another line's.
    #[inline(always)]
    unsafe fn first_breaks_utf8<V: Vector>(at: *const u8) -> bool {
        let mut copy = [b' '; LOOK_BACK + BLOCK];
        // SAFETY: the caller's, and the copy is as long.
        unsafe {
            copy[LOOK_BACK..].copy_from_slice(std::slice::from_raw_parts(at, BLOCK));
            V::breaks_utf8(copy.as_ptr().add(LOOK_BACK))
        }
    }

    /// The frequent escaped characters, at their low four bits; b and r share theirs with the quote.
    const FREQUENT_ESCAPES: [u8; 16] = [0x7F, 0, b'"', 0, b't', 0, b'f', 0, 0, 0, 0, 0, b'\\', 0, b'n', b'/'];

    /// The operators at their low four bits; with bit 5 set, `[` and `]` are `{` and `}`.
    const OPERATORS: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, b':', b'{', b',', b'}', 0, 0];

    /// White space at its low four bits.
    const BLANKS: [u8; 16] = [b' ', 0, 0, 0, 0, 0, 0, 0, 0, b'\t', b'\n', 0, 0, b'\r', 0, 0];

    struct Escapes {
        /// backslashes that begin an escape
        backslashes: u64,
        /// the characters behind them
        escaped: u64,
    }

    /// Which characters are escaped: those behind a run of backslashes of odd length (the subtraction carries through
    /// runs).
    #[inline(always)]
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
    #[inline(always)]
    unsafe fn prefix_xor(bits: u64) -> u64 {
        // SAFETY: the caller's.
        unsafe {
            let product = _mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(bits.cast_signed()), _mm_set1_epi8(-1));
            _mm_cvtsi128_si64(product).cast_unsigned()
        }
    }

    /// Operators outside strings, opening quotes, and first bytes of other scalars.
    #[inline(always)]
    unsafe fn find_tokens<V: Vector>(bytes: V, quotes: u64, strings: u64, in_scalar: &mut u64) -> u64 {
        // SAFETY: the caller's.
        let (operators, blanks) =
            // SAFETY: the instructions and the pointers are the caller's to guarantee.
            unsafe { (bytes.with(0x20).in_table(&OPERATORS, bytes), bytes.in_table(&BLANKS, bytes)) };
        let scalars = !(operators | blanks | strings | quotes);
        let starts = scalars & !((scalars << 1) | *in_scalar);
        *in_scalar = scalars >> 63;
        (operators & !strings) | (quotes & strings) | starts
    }

    /// Write the position of each bit, in sixes whether there are as many or not: a branch a token would cost more
    /// than the stores.
    ///
    /// # Safety
    /// BLOCK + 6 positions must be writable at `to`.
    #[inline(always)]
    unsafe fn write_tokens(to: *mut u32, position: u32, mut bits: u64) {
        let mut written = 0;
        loop {
            for i in 0..6 {
                // SAFETY: the caller's; 64 bits are written in at most eleven sixes.
                unsafe { *to.add(written + i) = position + bits.trailing_zeros() };
                bits &= bits.wrapping_sub(1);
            }
            written += 6;
            if bits == 0 {
                return;
            }
        }
    }

    struct Unicode {
        dropped: u64,
        astral: u64,
        faults: u64,
    }

    /// Escapes other than the frequent ones: `\uXXXX`, of which only the second digit counts, nothing for the low
    /// half of a pair.
    #[inline(always)]
    unsafe fn unicode_escapes<V: Vector>(bytes: V, rare: u64, carry: &mut UnicodeCarry) -> Unicode {
        let shifted = |mask: u64, before: u64, by: u32| (mask << by) | (before >> (64 - by));
        // SAFETY: of this and the questions below: the caller's.
        let u = rare & unsafe { bytes.equal(b'u') };
        let others = rare ^ u;
        let mut faults = if others == 0 { 0 } else { others & !unsafe { bytes.equal(b'b') | bytes.equal(b'r') } };
        let (first, second) = (shifted(u, carry.u, 1), shifted(u, carry.u, 2));
        let (third, fourth) = (shifted(u, carry.u, 3), shifted(u, carry.u, 4));
        let small = unsafe { bytes.with(0x20) };
        let between = |bytes: V, low: u8, high: u8| unsafe { bytes.at_least(low) & !bytes.at_least(high + 1) };
        faults |= (first | second | third | fourth) & !(between(bytes, b'0', b'9') | between(small, b'a', b'f'));
        let d = unsafe { small.equal(b'd') };
        let after_d = second & shifted(d, carry.d, 1);
        let high = after_d & (between(bytes, b'8', b'9') | between(small, b'a', b'b'));
        let pair = shifted(high, carry.high, 4) & u;
        let low = shifted(pair, carry.pair, 2) & after_d & between(small, b'c', b'f');
        *carry = UnicodeCarry { u, d, high, pair };
        Unicode { dropped: u | first | third | fourth | low, astral: low, faults }
    }
}
