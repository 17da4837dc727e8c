"""Train, check and use neural machine translation models of your own."""

__version__ = "0.1.0"
