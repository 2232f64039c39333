"""The desktop panel's standard streams, X11 connections and files."""
