"""Doubtful and needless things in rules that parse: one function a code, found by declaration, run by one driver."""
