"""Sentence pairs: from files of any supported format to checked, memory-mapped tables."""

from translator.corpus.pairs import NUM_EXAMPLES, Pairs
from translator.corpus.prepare import Corpus, prepare
from translator.corpus.read import ReadResult, read_pairs
from translator.corpus.report import CorpusReport, FilterResult, ReportRow

__all__ = [
    "NUM_EXAMPLES",
    "Corpus",
    "CorpusReport",
    "FilterResult",
    "Pairs",
    "ReadResult",
    "ReportRow",
    "prepare",
    "read_pairs",
]
