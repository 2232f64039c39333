"""Triptych: a program sees and drives what a person sees, through three open wire protocols."""

__version__ = "0.1.0"
