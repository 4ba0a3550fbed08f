//! A log's bytes as one stream: a range of a plain file, or the frames of a compressed one.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The first bytes of a zstd frame, and of a frame that a zstd reader skips (its lowest four bits vary).
const FRAME: u32 = 0xFD2F_B528;
const SKIPPABLE: u32 = 0x184D_2A50;

/// Whether these are the first bytes of a compressed log.
#[must_use]
pub fn is_zstd(head: &[u8]) -> bool {
    let Some(magic) = head.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes)) else { return false };
    magic == FRAME || magic & 0xFFFF_FFF0 == SKIPPABLE
}

/// What the readers of a scan share: how far they are, and whether they should stop.
#[derive(Debug, Default)]
pub struct Control {
    bytes: AtomicU64,
    cancelled: AtomicBool,
}

impl Control {
    /// Bytes of the files that were read so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Ask every reader to stop at its next read.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// So many more bytes were read.
    pub(crate) fn count(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn check(&self) -> io::Result<()> {
        if self.is_cancelled() { Err(io::Error::other("cancelled")) } else { Ok(()) }
    }

    /// Whether the readers were asked to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// The bytes `position..end` of a file, which several readers may read at once.
#[derive(Clone, Debug)]
pub struct Range {
    file: Arc<File>,
    control: Arc<Control>,
    position: u64,
    end: u64,
    /// Bytes from here on are another range's, and counted there.
    stop: u64,
}

impl Range {
    /// The bytes from `start` to `end`, of which those before `stop` count as read by it.
    #[must_use]
    pub fn new(file: Arc<File>, control: Arc<Control>, start: u64, stop: u64, end: u64) -> Self {
        Self { file, control, position: start, end, stop }
    }
}

impl Read for Range {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.control.check()?;
        let left = usize::try_from(self.end.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let read = read_at(&self.file, &mut buffer[..wanted], self.position)?;
        let counted = self.stop.saturating_sub(self.position).min(read as u64);
        self.control.count(counted);
        self.position += read as u64;
        Ok(read)
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

/// The text of concatenated zstd frames. Stops when it is asked to: a few bytes may unpack for long.
///
/// # Errors
/// When no decoder can be made.
pub fn decompressed<R: Read>(input: R, control: Arc<Control>) -> io::Result<impl Read> {
    Ok(Stoppable { input: zstd::stream::read::Decoder::new(input)?, control })
}

struct Stoppable<R> {
    input: R,
    control: Arc<Control>,
}

impl<R: Read> Read for Stoppable<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.control.check()?;
        self.input.read(buffer)
    }
}
