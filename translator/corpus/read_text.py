"""Lines of text files: UTF-8, ended by LF or CR LF only, every fault named with file, line and byte.

Python's text mode and `str.splitlines` also cut at a lone CR, U+0085, U+2028 and others; one such character
on one side shifts every later pair of a line-aligned corpus. So lines are cut here, on bytes.
"""

from collections.abc import Iterator
from itertools import zip_longest

from translator.corpus.packing import Bytes, File, opened
from translator.errors import CorpusError

BLOCK_BYTES = 1 << 20
MAX_LINE_BYTES = 64 << 20
UTF8_BOM = b"\xef\xbb\xbf"
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")  # UTF-32's begin with the same two bytes or with zeros


def read_lines(path: File) -> Iterator[str]:
    """The lines of a text file (packed in any way that `packing` knows, or in an archive) without their ends.

    A lone CR inside a line becomes a space; U+2028, U+0085, VT, FF and the like stay as they are. A UTF-8
    byte order mark at the start is left out. Memory is bounded by a block and the longest line.

    Raises:
        CorpusError: the file cannot be read, is not UTF-8 (with line and byte), holds zero bytes, or its packing
            is damaged.
    """
    with opened(path) as file:
        num_lines = 0
        for block in _whole_lines(file, path):
            lines = _decode(block, path, num_lines)
            yield from lines
            num_lines += len(lines)


def _whole_lines(file: Bytes, path: File) -> Iterator[bytes]:
    """The file in blocks that end with a line (the last one may lack its LF)."""
    pieces: list[bytes] = []
    num_lines = 0
    while block := file.read(BLOCK_BYTES):
        cut = block.rfind(b"\n") + 1
        if cut:
            yield b"".join([*pieces, block[:cut]])
            num_lines += block.count(b"\n")
            pieces = []
        if cut < len(block):
            pieces.append(block[cut:])
        if len(pieces) * BLOCK_BYTES > MAX_LINE_BYTES:  # a few kilobytes of gzip can hold a line of gigabytes
            raise CorpusError(
                f"{path}, line {num_lines + 1}: longer than {MAX_LINE_BYTES >> 20} MB; this is no file of sentences"
            )
    if pieces:
        yield b"".join(pieces)


def _decode(block: bytes, path: File, num_lines: int) -> list[str]:
    """Cut one block of whole lines; `num_lines` lines came before it."""
    if num_lines == 0:
        block = block.removeprefix(UTF8_BOM)
        if block.startswith(UTF16_BOMS):
            raise CorpusError(_not_utf8(path, "it begins with the mark of UTF-16"))
    if b"\0" in block:
        raise CorpusError(_zero_byte(block, path, num_lines))
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:
        line = num_lines + block.count(b"\n", 0, error.start) + 1
        column = error.start - (block.rfind(b"\n", 0, error.start) + 1) + 1
        fault = f"line {line}, byte {column} is 0x{block[error.start]:02X} ({error.reason})"
        raise CorpusError(_not_utf8(path, fault, encoding="LATIN1")) from None
    if "\r" in text:
        text = text.replace("\r\n", "\n").removesuffix("\r").replace("\r", " ")
    lines = text.split("\n")
    if not lines[-1]:  # the block ended with LF, which ends a line and begins none
        lines.pop()
    return lines


def _zero_byte(block: bytes, path: File, num_lines: int) -> str:
    """UTF-16 without a mark has a zero in every second byte of plain text; all else is no text at all."""
    head = block[:4096]
    zeros = head.count(0)
    if zeros > len(head) // 4 and max(head[::2].count(0), head[1::2].count(0)) > 0.9 * zeros:
        return _not_utf8(path, "it looks like UTF-16")
    position = block.index(0)
    line = num_lines + block.count(b"\n", 0, position) + 1
    return f"{path}, line {line}: a zero byte; this is a binary file, not text in UTF-8"


def _not_utf8(path: File, fault: str, encoding: str = "UTF-16") -> str:
    return (
        f"{path} is not UTF-8: {fault}. Save it as UTF-8, for example with "
        f"iconv -f {encoding} -t UTF-8 (put its real encoding for {encoding})"
    )


def read_aligned(source: File, target: File) -> Iterator[tuple[int, str, str]]:
    """Pairs (line number from 1, source, target) of two files whose lines belong together.

    Raises:
        CorpusError: the files have different numbers of lines; both counts are told.
    """
    sources, targets = read_lines(source), read_lines(target)
    for number, (left, right) in enumerate(zip_longest(sources, targets), start=1):
        if left is None or right is None:
            longer = number + sum(1 for _ in (targets if left is None else sources))
            counts = (number - 1, longer) if left is None else (longer, number - 1)
            raise CorpusError(
                f"{source} has {counts[0]} lines and {target} has {counts[1]}: line k of one must be the "
                f"translation of line k of the other; find the extra or missing line"
            )
        yield number, left, right
