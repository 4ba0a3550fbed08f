"""How many tokens a request holds.

The rules are in `docs/policies.md`, "Meters".
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from toolprune.errors import MeterError, nearest, suggestion
from toolprune.transcript import Message, Part

if TYPE_CHECKING:
    from tiktoken import Encoding

# What the host adds for each block, for each message, and for a wrapper around a result's blocks.
_BLOCK = _MESSAGE = _WRAPPER = 4

_O200K = (
    "fb374d419588a4632f3f557e76b4b70aebbca790",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
)
_P50K = (
    "ec7223a39ce59f226a68acc30dc1af2788490e15",
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
)
_VOCABULARIES = {
    "o200k_base": _O200K,
    "o200k_harmony": _O200K,
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
    "p50k_base": _P50K,
    "p50k_edit": _P50K,
    "r50k_base": (
        "0ea1e91bbb3a60f729a8dc8f777fd2fc07cd8df4",
        "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
    ),
}
"""The file in which tiktoken keeps each vocabulary, and its SHA-256: where these fit, tiktoken downloads nothing."""


class Meter(Protocol):
    """Counts one message at a time, so that a request costs the messages that are new in it."""

    def tokens(self, message: Message) -> int:
        """The tokens of one message, with what stands around its blocks."""
        ...


class HostMeter:
    """The DeepSeek Harness's own estimate: a quarter of the UTF-16 units, and a little for each thing around them."""

    def tokens(self, message: Message) -> int:
        """The host's estimate for one message."""
        return _tokens(message, _quarter)


class TiktokenMeter:
    """The exact tokens of every text in one of tiktoken's encodings; what stands around them as the host counts it.

    It never downloads a vocabulary. Raises MeterError when tiktoken is not installed, knows no such encoding, or has no
    file for it, with the name of the file that `TIKTOKEN_CACHE_DIR` must hold.
    """

    def __init__(self, encoding: str) -> None:
        self._encoding = _encoding(encoding)

    def tokens(self, message: Message) -> int:
        """The exact tokens of one message's texts, and the host's additions."""
        return _tokens(message, lambda text: len(self._encoding.encode_ordinary(text)))


class UsageMeter:
    """The provider's usage of the last response that has one, and an estimate of what came after it.

    Usage counts only where it is at least the estimate of what it covers: a stub of zeros is not.
    """

    def __init__(self, estimate: Meter) -> None:
        self.estimate = estimate

    def tokens(self, message: Message) -> int:
        """The estimate for one message."""
        return self.estimate.tokens(message)


class Measure:
    """The tokens of a prompt that grows by one message at a time."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._takes_usage = isinstance(meter, UsageMeter)
        self._estimated = 0
        self._unseen = 0

    def add(self, message: Message) -> None:
        """Count the next message."""
        self._estimated += self._meter.tokens(message)
        if self._takes_usage and message.usage is not None:
            self._unseen = message.usage.total - self._estimated

    def total(self, overhead: int) -> int:
        """The tokens of everything so far; `overhead` are those of what is no message: system prompt and tools.

        With usage U of a response and the estimate E of everything through it, overhead included, the total is U where
        it is at least E, else E, and the estimate of what came after: that is, U - E tokens that no message shows.
        """
        return self._estimated + max(overhead, self._unseen)


def meter_named(name: str) -> Meter:
    """The meter that a setting names: `auto`, `host` or `tiktoken:` with the name of an encoding."""
    kind, _, encoding = name.partition(":")
    if kind == "tiktoken":
        return TiktokenMeter(encoding)
    return HostMeter() if kind == "host" else UsageMeter(HostMeter())


def utf16_units(text: str) -> int:
    """The length of a text in UTF-16 units; a lone surrogate is one."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _quarter(text: str) -> int:
    return -(-utf16_units(text) // 4)


def _tokens(message: Message, of_text: Callable[[str], int]) -> int:
    return _MESSAGE + sum(_part_tokens(part, of_text) for part in message.parts)


def _part_tokens(part: Part, of_text: Callable[[str], int]) -> int:
    texts = sum(map(of_text, part.texts))
    if part.kind == "call":
        return texts + _BLOCK
    others = sum(-(-units // 4) + _BLOCK for units in part.others)
    return texts + _BLOCK * len(part.texts) + others + (_WRAPPER if part.wrapped else 0)


def _encoding(name: str) -> "Encoding":
    try:
        import tiktoken
        from tiktoken_ext.openai_public import ENCODING_CONSTRUCTORS as OWN
    except ImportError as error:
        raise MeterError("tiktoken is not installed: pip install 'toolprune[tiktoken]'") from error
    # Of tiktoken's own, those whose files are known: for others it might download.
    known = [each for each in tiktoken.list_encoding_names() if each in _VOCABULARIES or each not in OWN]
    if name not in known:
        raise MeterError(f"tiktoken has no encoding {name}; {suggestion(nearest(name, known), known)}")
    if name in _VOCABULARIES:
        _require(name, *_VOCABULARIES[name])
    return tiktoken.get_encoding(name)


def _require(name: str, file: str, digest: str) -> None:
    """Refuse a vocabulary that tiktoken would have to download, or to delete because it is damaged."""
    import hashlib

    path = _cache() / file
    try:
        data = path.read_bytes()
    except OSError as error:
        raise MeterError(
            f"the vocabulary {name} of tiktoken is not on this machine: let tiktoken.get_encoding({name!r}) fetch it "
            f"where it may, and set TIKTOKEN_CACHE_DIR to the folder that holds it as {file}, now {path.parent}"
        ) from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise MeterError(f"{path} is not the vocabulary {name} of tiktoken: its SHA-256 differs, so fetch it again")


def _cache() -> Path:
    """The folder in which tiktoken looks for vocabularies."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        folder = os.environ.get(variable)
        if folder == "":
            raise MeterError(f"{variable} is empty, so tiktoken keeps no vocabulary: set it to a folder that holds one")
        if folder is not None:
            return Path(folder)
    import tempfile

    return Path(tempfile.gettempdir()) / "data-gym-cache"
