"""The commands of the command line, each a function from parsed arguments to an exit status.

`translator.cli` imports only the module of the command that was typed, and each module imports heavy
libraries inside its functions, so that mistakes in a configuration or an option are told at once.
"""
